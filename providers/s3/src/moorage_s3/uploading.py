"""Storing a body: in one request, or in parts; under a condition, with a lost answer recognised."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass

from moorage import Body, LimitExceededError
from moorage.objects import ABSENT, ObjectInfo, PutOptions
from moorage_s3.answers import object_info, written_info
from moorage_s3.conditions import condition_headers, is_unmet, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.multipart import Multipart
from moorage_s3.sending import LargeBody, Request, Sender
from moorage_s3.settling import Settling, Write
from moorage_s3.spooling import spooled
from moorage_s3.write_marks import HEADER as WRITES
from moorage_s3.write_marks import WriteMarks


@dataclass(slots=True)
class Enforcement:
    """What is known of the store's conditions on puts.

    Attributes:
        multipart: the completion of an upload judges them; else conditional bodies of any size go in one request.
    """

    multipart: bool = True


@dataclass(frozen=True, slots=True)
class _Put(Write):
    """One object to make of a body, and the headers that say how and when."""

    headers: dict[str, str]


class Uploading:
    """Puts of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, enforcement: Enforcement, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self._settling = Settling(sender)
        self._sender = sender
        self._dialect = dialect
        self._enforcement = enforcement
        self._multipart = Multipart(sender, dialect)

    @property
    def judges_parts(self) -> bool:
        """Whether the store judges conditions when an upload in parts is completed."""
        return self._enforcement.multipart

    async def put(self, key: str, body: Body, options: PutOptions) -> ObjectInfo:
        """See :meth:`moorage.objects.ObjectClient.put`."""
        conditions = condition_headers(key, options.condition)
        headers = {**self._dialect.new_object, **media_headers(options.media_type)}
        descent = self._write_marks.descent(key, options.condition)
        put = _Put(key, options.condition, options.media_type, descent, {**headers, **conditions})
        info = await (self._put_bytes(put, body) if isinstance(body, bytes) else self._put_chunks(put, body))
        self._write_marks.wrote(key, info.version, descent)
        return info

    async def _put_bytes(self, put: _Put, body: bytes) -> ObjectInfo:
        if len(body) <= self._dialect.part_size or self._must_be_one(put, len(body)):
            return await self._whole(put, body, len(body))
        return await self._parts(put, _sliced(body, self._part_size(len(body))))

    async def _put_chunks(self, put: _Put, chunks: AsyncIterable[bytes]) -> ObjectInfo:
        if put.condition is not None and not self._enforcement.multipart:
            async with spooled(chunks, self._dialect.part_size, self._dialect.largest_put) as body:
                return await self._whole(put, body, body.length if isinstance(body, LargeBody) else len(body))
        parts = _gathered(chunks, self._dialect.part_size)
        try:
            first = await anext(parts)
            try:
                second = await anext(parts)
            except StopAsyncIteration:
                return await self._whole(put, first, len(first))
            return await self._parts(put, _chained(first, second, parts))
        finally:
            await parts.aclose()

    def _must_be_one(self, put: _Put, length: int) -> bool:
        if put.condition is None or self._enforcement.multipart:
            return False
        if length > self._dialect.largest_put:
            raise LimitExceededError("larger than this store takes under a condition")
        return True

    def _part_size(self, length: int) -> int:
        return max(self._dialect.part_size, -(-length // 10_000))

    async def _whole(self, put: _Put, body: bytes | LargeBody, length: int) -> ObjectInfo:
        checksum = self._dialect.body_headers(body) if isinstance(body, bytes) else {}
        headers = {**put.headers, **checksum, WRITES: put.descent.header}
        watch = self._settling.watch(put)
        answer = await self._sender.send(Request("PUT", put.key, headers=headers, body=body, is_settled=watch))
        if answer.is_success and answer.headers.get("ETag"):
            return written_info(put.key, answer.headers, length, put.media_type)
        return await (
            self._settling.stored(put, length) if answer.is_success else self._settling.own(put, answer, length)
        )

    async def _parts(self, put: _Put, parts: AsyncGenerator[bytes, None]) -> ObjectInfo:
        creation = {name: value for name, value in put.headers.items() if name not in ("if-match", "if-none-match")}
        conditions = condition_headers(put.key, put.condition)
        headers = {**creation, WRITES: put.descent.header}
        try:
            done = await self._multipart.upload(put.key, headers, conditions, parts, self._settling.watch(put))
        finally:
            await parts.aclose()
        return await self._settling.outcome(put, done.answer, done.version, done.size)

    async def repeat_is_refused(self, key: str, body: bytes, options: PutOptions, version: str) -> bool | None:
        """Whether the store refuses a create-only put of a key that holds just these bytes; ``None``: not known.

        Changes nothing either way: an honest store refuses, another one stores what is there already.
        """
        headers = {**self._dialect.new_object, **media_headers(options.media_type), **condition_headers(key, ABSENT)}
        found = await self._sender.send(Request("HEAD", key))
        if not found.is_success or object_info(key, found.headers).version != version:
            return None
        if WRITES in found.headers:
            headers[WRITES] = found.headers[WRITES]
        request = Request("PUT", key, headers=headers, body=body)
        answer = await self._sender.send(request)
        if answer.is_success and is_unmet(await self._sender.send(request), ABSENT):
            # Somebody had just deleted it: the store is honest, and the object does not come back.
            await self._sender.send(Request("DELETE", key, headers={"if-match": matching(key, version)}))
            return True
        if answer.is_success:
            return False
        return True if is_unmet(answer, ABSENT) else None


async def _sliced(body: bytes, size: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def _gathered(chunks: AsyncIterable[bytes], part_size: int) -> AsyncGenerator[bytes, None]:
    """Parts of the part size, the last one smaller; one empty part for nothing.

    S3 takes 10,000 parts, so parts double in size each 1,000: 5 TiB fit at 8 MiB, and below 8 GiB all are equal.
    """
    size, number = part_size, 0
    gathered = bytearray()
    async for chunk in chunks:
        gathered += chunk
        while len(gathered) > size:
            with memoryview(gathered) as view:
                part = bytes(view[:size])
            del gathered[:size]
            number += 1
            size = part_size << (number // 1000)
            yield part
    if gathered or not number:
        last = bytes(gathered)
        gathered.clear()
        yield last


async def _chained(first: bytes, second: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield first
    yield second
    async for part in rest:
        yield part
