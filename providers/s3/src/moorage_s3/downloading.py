"""Reading an object: whole or a range, in one request or, when large, in several of one and the same version."""

from __future__ import annotations

import asyncio
import base64
import zlib
from collections import deque
from dataclasses import dataclass
from typing import Final, Self

import aiohttp

from moorage import MoorageError, StorageError, UnavailableError
from moorage.objects import GetOptions, Matches, ObjectBody, ObjectInfo, PreconditionFailed
from moorage_s3.answers import object_info, quoted_version, served_range
from moorage_s3.conditions import error_of, matching
from moorage_s3.dialect import Dialect
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.write_marks import WriteMarks

_AT_ONCE: Final = 1 << 18
"""Bytes up to which a body is read with its headers, so that the connection is free again."""
_RESUMPTIONS: Final = 4
_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open response, and what of the object it serves."""

    info: ObjectInfo
    response: aiohttp.ClientResponse
    start: int
    end: int
    crc32: str


class Downloading:
    """Gets of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, write_marks: WriteMarks) -> None:
        self._sender = sender
        self._dialect = dialect
        self._write_marks = write_marks

    async def get(self, key: str, options: GetOptions) -> ObjectBody:
        """See :meth:`moorage.objects.ObjectClient.get`."""
        for _ in range(_RESUMPTIONS):
            opened = await self._open(key, options)
            if isinstance(opened, ObjectInfo):
                return ObjectBody(opened, b"")
            if opened.end - opened.start > _AT_ONCE:
                return self._streamed(key, opened)
            try:
                return ObjectBody(opened.info, _checked(await _whole(opened), opened))
            except BaseException as error:
                opened.response.close()
                if not _is_broken(error):
                    raise
        raise UnavailableError("the connection to the store breaks each time this is read")

    def _streamed(self, key: str, opened: _Opened) -> ObjectBody:
        if opened.end - opened.start >= self._dialect.parallel_from and quoted_version(opened.info.version):
            parallel = _ParallelDownload(self, key, opened, self._dialect)
            return ObjectBody(opened.info, parallel, parallel.aclose)
        download = _Download(self, key, opened)
        return ObjectBody(opened.info, download, download.aclose)

    async def _open(self, key: str, options: GetOptions) -> _Opened | ObjectInfo:
        """The open response; the object alone where nothing of the range is left.

        Raises:
            StorageError: the store answered with something other than the range.
        """
        for _ in range(_RESUMPTIONS):
            found = await self._ask(key, options)
            if found is not None:
                return found
        raise StorageError("the store denies that a range exists which does")

    async def _ask(self, key: str, options: GetOptions) -> _Opened | ObjectInfo | None:
        """As :meth:`_open`; ``None`` where the object has grown meanwhile, so that the range exists."""
        is_ranged = options.start > 0 or options.end is not None
        headers: dict[str, str] = {}
        if is_ranged:
            headers["range"] = f"bytes={options.start}-{'' if options.end is None else options.end - 1}"
        elif self._dialect.crc32:
            headers["x-amz-checksum-mode"] = "ENABLED"
        if options.version is not None:
            headers["if-match"] = matching(key, options.version)
        answer = await self._sender.send(Request("GET", key, headers=headers, keep_open=True))
        if answer.stream is None:
            return await self._nothing_left(key, options, answer)
        self._write_marks.saw(key, answer.headers)
        try:
            return _opened(key, options, answer.stream, is_ranged=is_ranged)
        except BaseException:
            answer.stream.close()
            raise

    async def _nothing_left(self, key: str, options: GetOptions, answer: Answer) -> ObjectInfo | None:
        if answer.refusal is None or answer.refusal.status != 416:
            condition = None if options.version is None else Matches(options.version)
            refused = answer.refusal
            if refused is not None and refused.status == 404:
                condition = None
            raise error_of(answer, key, condition)
        found = await self._sender.send(Request("HEAD", key))
        if not found.is_success:
            raise found.error()
        info = object_info(key, found.headers)
        if options.version not in (None, info.version):
            raise PreconditionFailed(key)
        return info if options.start >= (info.size or 0) else None

    async def reopen(self, key: str, info: ObjectInfo, start: int, end: int) -> _Opened:
        """The rest of a download, of the version that it began with.

        Raises:
            UnavailableError: there is another version now, or none.
        """
        if quoted_version(info.version) is None:
            raise UnavailableError("the connection to the store broke")
        try:
            opened = await self._open(key, GetOptions(start, end, info.version))
        except PreconditionFailed:
            raise UnavailableError("replaced while it was being read") from None
        if isinstance(opened, ObjectInfo):
            raise StorageError("the store has less than it said")
        return opened

    async def fetch(self, key: str, info: ObjectInfo, start: int, end: int) -> list[bytes]:
        """A range of this version, in memory, in the pieces in which it came: joining them would copy it."""
        for _ in range(_RESUMPTIONS):
            opened = await self.reopen(key, info, start, end)
            try:
                return await _pieces(opened)
            except BaseException as error:
                opened.response.close()
                if not _is_broken(error):
                    raise
        raise UnavailableError("the connection to the store breaks each time this is read")


def _opened(key: str, options: GetOptions, response: aiohttp.ClientResponse, *, is_ranged: bool) -> _Opened:
    headers = response.headers
    crc32 = headers.get("x-amz-checksum-crc32", "")
    if response.status not in (200, 206):
        raise StorageError(f"the store answered {response.status} to a read")
    if response.status == 200:
        info = object_info(key, headers)
        size = info.size or 0
        if is_ranged and (options.start > 0 or (options.end is not None and options.end < size)):
            raise StorageError("the store answered a range with the whole")
        return _Opened(info, response, 0, size, "" if is_ranged or "-" in crc32 else crc32)
    served = served_range(headers)
    if served is None or not is_ranged:
        raise StorageError("the store answered with a range that it does not tell")
    first, last, size = served
    end = size if options.end is None else min(options.end, size)
    if first != options.start or last + 1 != end:
        raise StorageError("the store answered with another range")
    return _Opened(object_info(key, headers, size=size), response, first, end, "")


def _is_broken(error: BaseException) -> bool:
    """Whether the connection broke; some of Moorage's errors are such errors by their type, and say what they say."""
    return isinstance(error, _ERRORS) and not isinstance(error, MoorageError)


async def _whole(opened: _Opened) -> bytes:
    """The body, of which no more is read than it may have."""
    if opened.response.content_length == opened.end - opened.start:
        return await opened.response.read()
    return b"".join(await _pieces(opened))


def _checked(data: bytes, opened: _Opened) -> bytes:
    if len(data) != opened.end - opened.start:
        raise aiohttp.ClientPayloadError("the body is cut")
    if opened.crc32 and _crc32_text(zlib.crc32(data)) != opened.crc32:
        raise StorageError("the content does not match its checksum")
    return data


async def _pieces(opened: _Opened) -> list[bytes]:
    content, pieces, left = opened.response.content, list[bytes](), opened.end - opened.start
    while piece := await content.readany():
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise StorageError("the store sent more than it said")
    if left:
        raise aiohttp.ClientPayloadError("the body is cut")
    return pieces


def _crc32_text(crc32: int) -> str:
    return base64.b64encode(crc32.to_bytes(4, "big")).decode()


class _Download:
    """One response, resumed where it breaks."""

    def __init__(self, downloading: Downloading, key: str, opened: _Opened) -> None:
        self._downloading = downloading
        self._key = key
        self._opened = opened
        self._at = opened.start
        self._left = _RESUMPTIONS
        self._crc32 = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._at >= self._opened.end:
            self._finish()
            raise StopAsyncIteration
        chunk = b""
        while not chunk:
            try:
                chunk = await self._opened.response.content.readany()
                if not chunk:
                    raise aiohttp.ClientPayloadError("the body is cut")
            except _ERRORS as error:
                await self._resume(error)
        self._at += len(chunk)
        if self._at > self._opened.end:
            raise StorageError("the store sent more than it said")
        if self._opened.crc32:
            self._crc32 = zlib.crc32(chunk, self._crc32)
        return chunk

    async def _resume(self, error: Exception) -> None:
        self._opened.response.close()
        if not self._left:
            raise UnavailableError(f"the connection to the store broke: {type(error).__name__}") from None
        self._left -= 1
        before = self._opened
        opened = await self._downloading.reopen(self._key, before.info, self._at, before.end)
        self._opened = _Opened(before.info, opened.response, before.start, before.end, before.crc32)

    def _finish(self) -> None:
        self._opened.response.release()
        if self._opened.crc32 and _crc32_text(self._crc32) != self._opened.crc32:
            raise StorageError("the content does not match its checksum")

    async def aclose(self) -> None:
        if self._at < self._opened.end:
            self._opened.response.close()
        else:
            self._opened.response.release()


class _ParallelDownload:
    """A large range: its beginning from the open response, the rest in parts fetched ahead."""

    def __init__(self, downloading: Downloading, key: str, opened: _Opened, dialect: Dialect) -> None:
        self._downloading = downloading
        self._key = key
        self._info = opened.info
        self._part = dialect.part_size
        self._ahead = max(1, dialect.concurrency - 1)
        split = opened.start + self._part
        self._first = _Download(downloading, key, _Opened(opened.info, opened.response, opened.start, opened.end, ""))
        self._left_of_first = self._part
        self._next = split
        self._end = opened.end
        self._tasks: deque[asyncio.Task[list[bytes]]] = deque()
        self._pieces: deque[bytes] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._fetch_ahead()
        if self._left_of_first:
            chunk = await anext(self._first)
            if len(chunk) >= self._left_of_first:
                chunk = chunk[: self._left_of_first]
                await self._first.aclose()
            self._left_of_first -= len(chunk)
            return chunk
        if not self._pieces:
            if not self._tasks:
                raise StopAsyncIteration
            self._pieces.extend(await asyncio.shield(self._tasks[0]))
            self._tasks.popleft()
        return self._pieces.popleft()

    def _fetch_ahead(self) -> None:
        while len(self._tasks) < self._ahead and self._next < self._end:
            start, end = self._next, min(self._next + self._part, self._end)
            self._tasks.append(asyncio.ensure_future(self._downloading.fetch(self._key, self._info, start, end)))
            self._next = end

    async def aclose(self) -> None:
        tasks, self._next = list(self._tasks), self._end
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await self._first.aclose()
        if tasks:
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.exception()
