"""Reads, stats and writes that need no thread, because nothing in them can wait for a disk.

``RESOLVE_CACHED`` makes the kernel refuse what is not in its caches, ``RWF_NOWAIT`` what is not in memory. Whatever is
refused, unusual or an error goes to a worker, which decides anew. Network and user-space file systems are left out:
their caches may ask a server. Writes are for file systems in memory only.
"""

from __future__ import annotations

import errno
import os
import stat as posix
from typing import Final

from moorage import PathNotFoundError, Reader, Stat, StoragePath
from moorage_local.containment import Place
from moorage_local.handles import Handle
from moorage_local.kernel import (
    BENEATH,
    BENEATH_CACHED,
    IN_MEMORY,
    O_PATH,
    OPEN_DIR,
    REMOTE,
    RESOLVE_NO_XDEV,
    SIZE_OF_HOW,
    file_system,
    how,
    last_error,
    openat2_inline,
    openat2_works,
)
from moorage_local.stats import stat_from
from moorage_local.writing import Replace

_LIMIT: Final = 64 << 10
_REPLACED_LIMIT: Final = 1 << 20
"""How large a file may be whose memory is given back at once when it is replaced."""
_LOOK: Final = how(O_PATH | os.O_CLOEXEC, BENEATH_CACHED)
_READ: Final = how(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, BENEATH_CACHED)
_HERE: Final = how(OPEN_DIR & ~os.O_NOFOLLOW, BENEATH | RESOLVE_NO_XDEV)
_THERE: Final = how(O_PATH | os.O_CLOEXEC, BENEATH | RESOLVE_NO_XDEV)
_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)


class Inline:
    """The attempts of one provider; each answers ``None`` when a worker has to do it."""

    def __init__(self, root: Handle) -> None:
        self._root = root
        kind = file_system(root.fd)
        works = kind not in REMOTE and kind != 0 and openat2_works(openat2_inline, root.fd, BENEATH_CACHED)
        self._in_memory = kind in IN_MEMORY
        self._open = openat2_inline if works else None

    def stat(self, path: StoragePath) -> Stat | None:
        """The stat of what is no link.

        Raises:
            PathNotFoundError: nothing is there, for sure.
        """
        if self._open is None:
            return None
        fd = self._open(self._root.fd, path.relative.encode() or b".", _LOOK, SIZE_OF_HOW)
        if fd < 0:
            _refuse_missing(path)
            return None
        st = os.fstat(fd)
        os.close(fd)
        return stat_from(st)

    def read(self, path: StoragePath, start: int, end: int | None) -> Reader | None:
        """A small range of a regular file, all of it in memory. Looked at first: what is not regular is not opened.

        Raises:
            PathNotFoundError: nothing is there, for sure.
        """
        if self._open is None:
            return None
        name = path.relative.encode() or b"."
        fd = self._open(self._root.fd, name, _LOOK, SIZE_OF_HOW)
        if fd < 0:
            _refuse_missing(path)
            return None
        seen = os.fstat(fd)
        os.close(fd)
        if not posix.S_ISREG(seen.st_mode):
            return None
        fd = self._open(self._root.fd, name, _READ, SIZE_OF_HOW)
        if fd < 0:
            _refuse_missing(path)
            return None
        try:
            st = os.fstat(fd)
            size = (st.st_size if end is None else min(end, st.st_size)) - start
            data = self._read(fd, start, size) if st.st_ino == seen.st_ino and size <= _LIMIT else None
        except OSError:
            return None
        finally:
            os.close(fd)
        return None if data is None else Reader(stat_from(st), data)

    def write(self, change: Replace, size: int) -> Stat | None:
        """Write little in memory, unless a lock is held, the directory is to be swept, or anything is unusual.

        Raises:
            MoorageError: the write is refused, as by a worker.
        """
        if not self._in_memory or size > _LIMIT or change.disk.root.durable:
            return None
        place = self._place(change.path)
        if place is None:
            return None
        if place.seen is not None and place.seen.st_size > _REPLACED_LIMIT:
            place.close()
            return None
        return change.write_at(place)

    def _place(self, path: StoragePath) -> Place | None:
        """Where a write goes, no link on the way or there, and all in the file system of the root."""
        parent, _, name = path.relative.encode().rpartition(b"/")
        if self._open is None or not name:
            return None
        fd = self._open(self._root.fd, parent or b".", _HERE, SIZE_OF_HOW)
        if fd < 0:
            return None
        place = Place(Handle(fd), name)
        fd = self._open(fd, name, _THERE, SIZE_OF_HOW)
        if fd >= 0:
            place.seen = os.fstat(fd)
            os.close(fd)
        elif last_error() != errno.ENOENT:
            place.close()
            return None
        return place

    def _read(self, fd: int, start: int, size: int) -> bytes | None:
        """The bytes, if all of them are in memory."""
        if size <= 0:
            return b""
        if self._in_memory:
            data = os.pread(fd, size, start)
            return data if len(data) == size else None
        buffer = bytearray(size)
        return bytes(buffer) if os.preadv(fd, (buffer,), start, _NOWAIT) == size else None


def _refuse_missing(path: StoragePath) -> None:
    """Raise if the kernel just said, from its caches, that nothing is there."""
    if last_error() == errno.ENOENT:
        raise PathNotFoundError("no such file or directory", path=str(path))
