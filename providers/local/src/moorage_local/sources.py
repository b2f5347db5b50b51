"""Content on its way into a file: bytes, or a range of another file. Both can be poured again."""

from __future__ import annotations

import errno
import os
from typing import Any, Final, Protocol

from moorage_local.handles import Handle
from moorage_local.temporaries import write_all
from moorage_local.workers import Job, Withdrawn

_PIECE: Final = 8 << 20
_BUFFER: Final = 1 << 20
_NO_OFFLOAD: Final = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ETXTBSY, errno.EBADF, errno.EIO}
)


class Source(Protocol):
    def pour(self, fd: int, job: Job[Any]) -> None:
        """Write all of it at the position of ``fd``; stop with ``Withdrawn`` when nobody waits any more."""


class BytesSource:
    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def pour(self, fd: int, job: Job[Any]) -> None:
        if len(self._data) <= _PIECE:
            write_all(fd, self._data)
            return
        view = memoryview(self._data)
        for start in range(0, len(view), _PIECE):
            _go_on(job)
            write_all(fd, view[start : start + _PIECE])


class FileSource:
    """The first ``size`` bytes of an open file. ``offload`` lets the kernel copy, where it can."""

    __slots__ = ("_handle", "_offload", "_size")

    def __init__(self, handle: Handle, size: int, *, offload: bool) -> None:
        self._handle = handle
        self._size = size
        self._offload = offload and hasattr(os, "copy_file_range")

    def pour(self, fd: int, job: Job[Any]) -> None:
        done = self._offloaded(fd, job) if self._offload else 0
        while done < self._size:
            _go_on(job)
            data = os.pread(self._handle.fd, min(_BUFFER, self._size - done), done)
            if not data:
                return
            write_all(fd, data)
            done += len(data)

    def _offloaded(self, fd: int, job: Job[Any]) -> int:
        """Let the kernel copy; how much it did."""
        done = 0
        while done < self._size:
            _go_on(job)
            try:
                copied = os.copy_file_range(self._handle.fd, fd, min(_PIECE, self._size - done), done)
            except OSError as error:
                if error.errno not in _NO_OFFLOAD:
                    raise
                return done
            if copied == 0:
                return done
            done += copied
        return done


def _go_on(job: Job[Any]) -> None:
    if job.withdrawn:
        raise Withdrawn
