"""Reads: small ones whole in one step, large ones in chunks with one chunk read ahead."""

from __future__ import annotations

import os
from typing import Any, Final, Self

from moorage import ConflictError, Reader, Stat, StoragePath
from moorage_local.containment import Root
from moorage_local.handles import Handle
from moorage_local.opening import open_regular
from moorage_local.stats import stat_from
from moorage_local.workers import LONG, Job, wait

SMALL: Final = 256 << 10
_CHUNK: Final = 1 << 20
_PIECE: Final = 64 << 20


def read_range(root: Root, path: StoragePath, start: int, end: int | None) -> Reader:
    handle, st = open_regular(root, path)
    try:
        stop = st.st_size if end is None else min(end, st.st_size)
        if stop - start > SMALL:
            return FileReader(path, stat_from(st), handle, start, stop)
        data = _pread(handle.fd, start, stop, path)
    except BaseException:
        handle.close()
        raise
    handle.close()
    return Reader(stat_from(st), data)


def _pread(fd: int, start: int, stop: int, path: StoragePath) -> bytes:
    if stop <= start:
        return b""
    data = os.pread(fd, min(stop - start, _PIECE), start)
    if len(data) == stop - start:
        return data
    pieces = [data]
    start += len(data)
    while start < stop:
        data = os.pread(fd, min(stop - start, _PIECE), start)
        if not data:
            raise ConflictError("cut short while it was read", path=str(path))
        pieces.append(data)
        start += len(data)
    return b"".join(pieces)


class FileReader(Reader):
    """A range of an open file. The handle pins one version: a replacement is another file."""

    __slots__ = ("_ahead", "_at", "_from", "_handle", "_path", "_stop")

    def __init__(self, path: StoragePath, stat: Stat, handle: Handle, start: int, stop: int) -> None:
        super().__init__(stat, b"")
        self._path = path
        self._handle: Handle | None = handle
        self._from = self._at = start
        self._stop = stop
        self._ahead: Job[bytes] | None = None

    @property
    def data(self) -> None:
        """It streams."""
        return

    async def read(self) -> bytes:
        data = [await self._served(job)] if (job := self._ahead or self._submit(self._stop)) else []
        if job := self._submit(self._stop):
            data.append(await self._served(job))
        return data[0] if len(data) == 1 else b"".join(data)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        job = self._ahead or self._submit(self._at + _CHUNK)
        if job is None:
            raise StopAsyncIteration
        data = await self._served(job)
        self._ahead = self._submit(self._at + _CHUNK)
        return data

    async def _served(self, job: Job[bytes]) -> bytes:
        """The bytes of a job; when it is cancelled, they are read again the next time."""
        self._ahead = job
        try:
            data = await wait(job)
        except BaseException:
            self._at = self._from
            raise
        finally:
            self._ahead = None
        self._from = self._at
        return data

    def _submit(self, stop: int) -> Job[bytes] | None:
        """Have the bytes up to ``stop`` read; ``None`` at the end or when closed."""
        handle, start, path = self._handle, self._at, self._path
        stop = min(stop, self._stop)
        if handle is None or start >= stop:
            return None
        self._at = stop

        def read(_: Job[Any]) -> bytes:
            return _pread(handle.fd, start, stop, path)

        return LONG.submit(read, path)

    async def aclose(self) -> None:
        """A chunk that is being read keeps the file open until it is there."""
        handle, self._handle = self._handle, None
        ahead, self._ahead = self._ahead, None
        if ahead is not None and not ahead.settled:
            ahead.withdraw()
        elif handle is not None:
            handle.close()
