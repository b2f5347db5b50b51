"""From the operating system's stat to ours."""

from __future__ import annotations

import os
import stat as posix
from datetime import UTC, datetime, timedelta
from typing import Final

from moorage import UNSET, DeleteOptions, Kind, StaleFileError, Stat, StoragePath, WriteOptions

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_MICROSECOND: Final = 1_000
_PERMISSIONS: Final = 0o7777
_REGULAR: Final = posix.S_IFREG
_FILE: Final = Kind.FILE


def version_of(st: os.stat_result) -> str:
    """Changes whenever the content changes. ``chmod`` and ``touch`` change it, too: they change the ctime."""
    return f"{st.st_mtime_ns:x}-{st.st_size:x}-{st.st_ino:x}-{st.st_ctime_ns:x}"


def time_of(nanoseconds: int) -> datetime | None:
    """Floored to microseconds, in integers; ``None`` for a time that no ``datetime`` can hold."""
    try:
        return _EPOCH + timedelta(0, 0, nanoseconds // _MICROSECOND)
    except OverflowError:
        return None


def later_than(nanoseconds: int) -> int:
    """The first instant whose floored microsecond is later, in nanoseconds."""
    return (nanoseconds // _MICROSECOND + 1) * _MICROSECOND


def stat_from(st: os.stat_result, link_target: str | None = None) -> Stat:
    kind = st.st_mode & 0o170000
    if kind == _REGULAR:
        return Stat(
            _FILE,
            st.st_size,
            version_of(st),
            time_of(st.st_mtime_ns),
            _born(st),
            None,
            None,
            st.st_mode & _PERMISSIONS,
        )
    if kind == posix.S_IFDIR:
        return Stat(
            Kind.DIRECTORY,
            modified_at=time_of(st.st_mtime_ns),
            created_at=_born(st),
            mode=st.st_mode & _PERMISSIONS,
        )
    return Stat(
        Kind.LINK if kind == posix.S_IFLNK else Kind.OTHER,
        size=st.st_size,
        version=version_of(st),
        modified_at=time_of(st.st_mtime_ns),
        created_at=_born(st),
        mode=st.st_mode & _PERMISSIONS,
        link_target=link_target,
    )


def _born_unknown(st: os.stat_result) -> datetime | None:
    return None


def _born_at(st: os.stat_result) -> datetime | None:
    seconds: float = getattr(st, "st_birthtime", 0.0)
    return time_of(int(seconds * 1_000_000) * _MICROSECOND)


_born: Final = _born_at if hasattr(os.stat_result, "st_birthtime") else _born_unknown


def check_expectation(
    path: StoragePath, options: WriteOptions | DeleteOptions, *present: os.stat_result | None
) -> None:
    """Refuse a stale change. ``present`` is what is there; of a link, the link and what it leads to.

    Raises:
        StaleFileError: none of ``present`` is what the caller expected.
    """
    if options.expected_version is not UNSET:
        versions = [version_of(st) for st in present if st is not None]
        if options.expected_version not in versions:
            raise _stale(path, options.expected_version, versions[-1] if versions else None)
    elif options.expected_mtime is not UNSET:
        times = [time_of(st.st_mtime_ns) for st in present if st is not None]
        if options.expected_mtime not in times:
            raise _stale(path, options.expected_mtime, times[-1] if times else None)


def _stale(path: StoragePath, expected: str | datetime, actual: str | datetime | None) -> StaleFileError:
    message = "gone since it was seen" if actual is None else "changed since it was seen"
    return StaleFileError(message, path=str(path), expected=expected, actual=actual)
