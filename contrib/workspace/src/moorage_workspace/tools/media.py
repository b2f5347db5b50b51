"""Which contents are media, and which of them a model gets as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from mimetypes import MimeTypes
from typing import Final, cast

from moorage import ConfigError
from moorage_workspace.text.encodings import is_utf8

MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "application/pdf")

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_RECOGNISED: Final = frozenset({*(media_type for _, media_type in _SIGNATURES), "image/webp"})
_READABLE: Final = re.compile(rb"[\t\n\r -~]{6,}+")
"""Text among other bytes, of which one may part a name from what is before it."""
_AS_DIGITS: Final = bytes(range(0x80)) + b"0" * 0x80
"""Bytes that are no ASCII become what a secret may begin with, and the name of a function may not."""
_BY_NAME: Final = MimeTypes()
"""The table of the standard library alone, so that no machine differs."""


def recognised(head: bytes) -> str | None:
    """The media type that the first bytes show."""
    for signature, media_type in _SIGNATURES:
        if head.startswith(signature):
            return media_type
    return "image/webp" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def claimed(name: str) -> str | None:
    """The media type that a name claims; ``None`` for one that the content would have shown."""
    media_type, _ = _BY_NAME.guess_type(name)
    return None if media_type in _RECOGNISED else media_type


def check_media_types(wanted: object) -> None:
    """Accept a list of types, with ``image/*`` for all of a kind; a function of the type; or ``False``.

    Raises:
        ConfigError: it is none of these.
    """
    if wanted is False or wanted is None or callable(wanted):
        return
    listed = isinstance(wanted, Collection) and not isinstance(wanted, str | bytes)
    if not listed or not all(isinstance(one, str) for one in cast("Collection[object]", wanted)):
        raise ConfigError("media_types must be a list of types, a function of a type, or False")


def holds_secret(data: bytes, redact: Callable[[str], str]) -> bool:
    """Whether a gate would hide something of the text in these bytes, also of ASCII text in UTF-16.

    What a compressed part of them holds is not seen.
    """
    return any(_hides(part, redact) for part in ((data, data.replace(b"\0", b"")) if b"\0" in data else (data,)))


def _hides(data: bytes, redact: Callable[[str], str]) -> bool:
    among_others = b"\n".join(_READABLE.findall(data)).decode()
    whole = data.decode() if is_utf8(data) else data.translate(_AS_DIGITS).decode()
    return any(redact(text) != text for text in (among_others, whole))


def is_wanted(media_type: str, wanted: object) -> bool:
    """Whether the option ``media_types``, once :func:`check_media_types` took it, has this type."""
    if wanted is False or wanted is None:
        return False
    if callable(wanted):
        return bool(cast("Callable[[str], object]", wanted)(media_type))
    kinds = [str(one) for one in cast("Iterable[object]", wanted)]
    return media_type in kinds or f"{media_type.partition('/')[0]}/*" in kinds


def named(wanted: object) -> str:
    """The option in words, for a description; empty where no media come."""
    if wanted is False or wanted is None or callable(wanted):
        return "some media" if callable(wanted) else ""
    return ", ".join(str(one) for one in cast("Iterable[object]", wanted))
