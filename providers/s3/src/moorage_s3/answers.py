"""What the headers of an answer say of an object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from moorage import StorageError
from moorage.objects import ObjectInfo

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_RANGE: Final = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})", re.ASCII)
_VERSION: Final = re.compile(r"(?:W/)?[\x21\x23-\x2b\x2d-\x7e]+")


def http_time(value: str) -> datetime | None:
    """``Mon, 30 Nov 2026 18:16:34 GMT`` as an aware time."""
    if not value.endswith(" GMT"):
        return _other_time(value)
    try:
        return datetime(
            int(value[12:16]),
            _MONTHS[value[8:11]],
            int(value[5:7]),
            int(value[17:19]),
            int(value[20:22]),
            int(value[23:25]),
            tzinfo=UTC,
        )
    except (KeyError, ValueError):
        return _other_time(value)


def _other_time(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def listed_time(value: str) -> datetime | None:
    """``2026-11-30T18:16:34.123Z`` floored to a second, as headers tell it."""
    try:
        return datetime.fromisoformat(value[:19]).replace(tzinfo=UTC)
    except ValueError:
        return None


def plain_version(etag: str) -> str:
    """An ETag without its quotes."""
    return etag.removesuffix('"').replace('"', "", 1) if etag.endswith('"') else etag


def quoted_version(version: str) -> str | None:
    """The ETag of a version; ``None`` where it can be none, and so can match nothing."""
    if version == "*" or _VERSION.fullmatch(version) is None:
        return None
    return f'W/"{version[2:]}"' if version.startswith("W/") else f'"{version}"'


def served_range(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    """First and last byte served, and the size of the whole; ``None`` where the answer is not a range."""
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def object_info(key: str, headers: Mapping[str, str], *, size: int | None = None) -> ObjectInfo:
    """The object that an answer to HEAD or GET describes; ``size`` of the whole, where the answer is a range.

    Raises:
        StorageError: it does not say how large the object is.
    """
    if size is None:
        try:
            size = int(headers["Content-Length"])
        except (KeyError, ValueError):
            raise StorageError("the store's answer has no length") from None
    modified = headers.get("Last-Modified")
    return ObjectInfo(
        key,
        size,
        plain_version(headers.get("ETag", "")),
        modified_at=http_time(modified) if modified else None,
        media_type=headers.get("Content-Type"),
    )


def written_info(key: str, headers: Mapping[str, str], size: int, media_type: str | None) -> ObjectInfo:
    """The object that a put made; its answer has no time.

    Raises:
        StorageError: the answer has no ETag.
    """
    etag = headers.get("ETag")
    if not etag:
        raise StorageError("the store's answer to a write has no ETag")
    return ObjectInfo(key, size, plain_version(etag), media_type=media_type)
