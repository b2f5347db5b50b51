"""What is stored with an object besides its content, where a request that makes it anew must repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moorage_s3.write_marks import HEADER as WRITES

_KEPT: Final = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Type",
    "Expires",
    "x-amz-website-redirect-location",
)
_META: Final = "x-amz-meta-"
_LARGEST: Final = 2048
"""Bytes of names and values that S3 takes."""


def kept_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """What a replacing request must repeat of its source, by an answer to HEAD, other than this client's mark."""
    kept = {name.lower(): headers[name] for name in _KEPT if name in headers}
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(_META) and lower != WRITES:
            kept[lower] = value
    return kept


def is_repeatable(headers: Mapping[str, str], kept: Mapping[str, str]) -> bool:
    """Whether the metadata can be sent just as they are stored."""
    return "x-amz-missing-meta" not in headers and all(v.isascii() and v.isprintable() for v in kept.values())


def room_for_marks(kept: Mapping[str, str]) -> int:
    """Bytes that the value of the mark may have beside these metadata."""
    taken = sum(len(name) - len(_META) + len(value) for name, value in kept.items() if name.startswith(_META))
    return _LARGEST - taken - (len(WRITES) - len(_META))
