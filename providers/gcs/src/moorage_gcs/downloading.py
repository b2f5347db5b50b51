"""Downloads: the bytes as they are stored, of one generation, whole or an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

import aiohttp
import anyio
from multidict import CIMultiDictProxy

from moorage import ConflictError, StorageError, UnavailableError
from moorage.objects import GetOptions, ObjectBody, ObjectInfo, PreconditionFailed
from moorage_gcs import sdk
from moorage_gcs.objects import WITH_MARK, Bucket, KnownTimes, document, downloaded_info, generation, hashes, info_of
from moorage_gcs.parallel import ParallelDownload
from moorage_gcs.sending import BROKEN, Answer, Request, Sender, pause
from moorage_gcs.write_marks import WriteMarks

_WHOLE: Final = 1 << 18
"""Bytes up to which a body is read at once, so that its connection is free before the caller looks at it."""
_PARALLEL_FROM: Final = 64 << 20
"""Bytes from which a download uses several connections."""
_TRIES: Final = 3
"""How often a store may say that there is nothing where there is something, which may have come in between."""
_RANGE: Final = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


class Downloads:
    """Gets objects of one bucket."""

    def __init__(
        self, sender: Sender, bucket: Bucket, known: KnownTimes, marks: WriteMarks, *, part: int, concurrency: int
    ) -> None:
        self._sender = sender
        self._bucket = bucket
        self._known = known
        self._marks = marks
        self._part = part
        self._concurrency = concurrency

    async def head(self, key: str) -> ObjectInfo:
        answer = await self._sender.send(Request("GET", self._bucket.object(key), {"fields": WITH_MARK}))
        if not answer.is_success:
            raise answer.error()
        found = document(answer)
        self._marks.saw(found)
        return self._known.remember(info_of(found))

    async def get(self, key: str, options: GetOptions) -> ObjectBody:
        query = {} if options.version is None else {"ifGenerationMatch": generation(key, options.version)}
        for _ in range(_TRIES):
            answer = await self.open(key, query, options.start, options.end)
            if answer.is_unmet:
                raise PreconditionFailed(key)
            if answer.refusal is None or answer.refusal.status != 416:
                return await self._opened(key, answer, options)
            info = await self._beyond(key, options)
            if info is not None:
                return ObjectBody(info, b"")
        raise StorageError("the store has bytes where it says that there are none")

    async def _opened(self, key: str, answer: Answer, options: GetOptions) -> ObjectBody:
        if not answer.is_success or answer.stream is None:
            raise answer.error()
        try:
            headers = answer.stream.headers
            span = _span(headers, options.start, options.end)
            info = downloaded_info(key, headers, span.size, self._known)
        except BaseException:
            answer.stream.close()
            raise
        expected = _expected(headers, span)
        if span.end - span.start >= _PARALLEL_FROM and self._concurrency > 1:
            return self._parallel(info, span, answer.stream, expected)
        body = _Body(self, info, span, answer.stream, expected)
        if span.end - span.start <= _WHOLE:
            return ObjectBody(info, await body.whole())
        return ObjectBody(info, body, body.aclose)

    def _parallel(
        self, info: ObjectInfo, span: _Span, response: aiohttp.ClientResponse, expected: str | None
    ) -> ObjectBody:
        first = _Body(self, info, span, response, None)
        body = ParallelDownload(
            first,
            first.aclose,
            partial(self._fetch, info),
            (span.start, span.end),
            part=self._part,
            ahead=self._concurrency - 1,
            expected=expected,
        )
        return ObjectBody(info, body, body.aclose)

    async def _fetch(self, info: ObjectInfo, start: int, end: int) -> bytes:
        response = await self.rest(info, start, end)
        return await _Body(self, info, _Span(start, end, info.size or 0), response, None).whole()

    async def open(self, key: str, query: Mapping[str, str], start: int, end: int | None) -> Answer:
        """Ask for the content; the answer's body is still to be read.

        ``gzip`` is accepted, or the store would decompress what is stored so, and ignore ranges.
        """
        headers = {"accept-encoding": "gzip"}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        return await self._sender.send(
            Request("GET", self._bucket.object(key), {"alt": "media", **query}, headers, keep_open=True)
        )

    async def rest(self, info: ObjectInfo, start: int, end: int) -> aiohttp.ClientResponse:
        """Ask for more of a generation that was begun with.

        Raises:
            ConflictError: it is gone.
        """
        answer = await self.open(info.key, {"generation": info.version}, start, end)
        if answer.is_missing:
            raise ConflictError("replaced while it was read")
        if not answer.is_success or answer.stream is None:
            raise answer.error()
        again = _span(answer.headers, start, end)
        if answer.headers.get("X-Goog-Generation") != info.version or again.size != info.size:
            answer.stream.close()
            raise ConflictError("replaced while it was read")
        return answer.stream

    @property
    def retries(self) -> int:
        return self._sender.retries

    async def _beyond(self, key: str, options: GetOptions) -> ObjectInfo | None:
        """The object, where it ends before the range begins."""
        info = await self.head(key)
        if options.version is not None and info.version != options.version:
            raise PreconditionFailed(key)
        return info if options.start >= (info.size or 0) else None


@dataclass(frozen=True, slots=True)
class _Span:
    """The half-open range that is served, and the size of the whole."""

    start: int
    end: int
    size: int


def _span(headers: Mapping[str, str], start: int, end: int | None) -> _Span:
    sent, stored = headers.get("Content-Encoding"), headers.get("X-Goog-Stored-Content-Encoding")
    if None not in (sent, stored) and sent != stored:  # compressed on the way
        raise StorageError("the store serves other bytes than are stored")
    found = _RANGE.fullmatch(headers.get("Content-Range", ""))
    if found is not None:
        span = _Span(int(found[1]), int(found[2]) + 1, int(found[3]))
        if span.start == start and span.end == (span.size if end is None else min(end, span.size)):
            return span
    else:
        size = _size(headers)
        if start == 0 and (end is None or end >= size):
            return _Span(0, size, size)
    raise StorageError("the store served another range than was asked for")


def _size(headers: Mapping[str, str]) -> int:
    """What is stored and what is sent must be the same: not decompressed on the way."""
    sent = headers.get("Content-Length")
    try:
        stored = int(headers.get("X-Goog-Stored-Content-Length", sent or ""))
    except ValueError:
        stored = -1
    if stored < 0:
        raise StorageError("the store's answer has no length")
    if sent is not None and sent != str(stored):
        raise StorageError("the store serves other bytes than are stored")
    return stored


def _expected(headers: CIMultiDictProxy[str], span: _Span) -> str | None:
    """The checksum of what is served, where it is the whole."""
    return hashes(headers).get("crc32c") if (span.start, span.end) == (0, span.size) else None


@dataclass(slots=True)
class _Body:
    """The bytes of one generation; where the connection breaks, it is opened again for the rest."""

    downloads: Downloads
    info: ObjectInfo
    span: _Span
    response: aiohttp.ClientResponse
    expected: str | None
    position: int = field(init=False)
    crc: int = field(init=False, default=0)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.position = self.span.start
        self.left = self.downloads.retries

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while self.position < self.span.end:
            try:
                chunk = await self.response.content.readany()
                failure = None
            except BROKEN as error:
                chunk, failure = b"", error
            if chunk:
                self._take(chunk)
                return chunk
            await self._resume(failure)
        self._check()
        raise StopAsyncIteration

    async def whole(self) -> bytes:
        """All of it."""
        try:
            try:
                data = await self.response.read() if self._is_announced else b""
            except BROKEN as error:
                await self._resume(error)
                data = b""
            if data:
                self._take(data)
            return data + b"".join([chunk async for chunk in self])
        finally:
            await self.aclose()

    @property
    def _is_announced(self) -> bool:
        """Whether the connection brings no more than this span, and may be read to its end."""
        return 0 < self.span.end - self.span.start == self.response.content_length

    async def aclose(self) -> None:
        """Free the connection: for others once all was read, else for nobody."""
        if self.response.content.at_eof():
            self.response.release()
        else:
            self.response.close()

    def _take(self, chunk: bytes) -> None:
        self.position += len(chunk)
        if self.position > self.span.end:
            raise StorageError("the store sent more than it announced")
        if self.expected is not None:
            self.crc = sdk.crc32c(chunk, self.crc)

    async def _resume(self, failure: Exception | None) -> None:
        self.response.close()
        if self.left <= 0:
            said = type(failure).__name__ if failure is not None else "it ended early"
            raise UnavailableError(f"the connection to the store broke: {said}")
        self.left -= 1
        await anyio.sleep(pause(self.downloads.retries - self.left, Answer()))
        self.response = await self.downloads.rest(self.info, self.position, self.span.end)

    def _check(self) -> None:
        if self.expected is not None and sdk.encoded_crc32c(self.crc) != self.expected:
            self.expected = None
            raise StorageError("the bytes are not those that were stored: their checksum differs")
