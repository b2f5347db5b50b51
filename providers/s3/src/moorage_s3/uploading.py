"""Storing a body: in one request, or in parts; under a condition, with a lost answer recognised."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from dataclasses import dataclass, field, replace

from moorage import Body, ConflictError, LimitExceededError, UnsupportedError
from moorage.objects import ABSENT, Condition, ObjectInfo, PreconditionFailed, PutOptions
from moorage_s3.answers import object_info, written_info
from moorage_s3.conditions import condition_headers, is_unmet, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.enforcement import Enforcement
from moorage_s3.metadata import room_for_marks
from moorage_s3.multipart import Multipart
from moorage_s3.sending import LargeBody, Request, Sender
from moorage_s3.settling import Settling, Write
from moorage_s3.spooling import spooled
from moorage_s3.write_marks import HEADER as WRITES
from moorage_s3.write_marks import WriteMarks


@dataclass(frozen=True, slots=True)
class _Put(Write):
    """One object to make of a body.

    Attributes:
        headers: what it is to have, with its mark where there is room for one.
        kept: those of them that were another object's metadata.
    """

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    kept: Mapping[str, str] = field(default_factory=dict[str, str])


class Uploading:
    """Puts of one client.

    Attributes:
        settling: finds out what came of this client's writes.
        enforcement: what is known of the store's conditions.
    """

    def __init__(self, sender: Sender, dialect: Dialect, enforcement: Enforcement, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self.settling = Settling(sender, write_marks, enforcement)
        self._sender = sender
        self._dialect = dialect
        self.enforcement = enforcement
        self._multipart = Multipart(sender, dialect)

    @property
    def judges_parts(self) -> bool:
        """Whether the store judges conditions when an upload in parts is completed."""
        return self.enforcement.multipart

    async def put(self, key: str, body: Body, options: PutOptions, kept: Mapping[str, str] | None = None) -> ObjectInfo:
        """See :meth:`moorage.objects.ObjectClient.put`; ``kept`` are metadata of another object that it is to have."""
        condition_headers(key, options.condition)
        media_headers(options.media_type)
        put = self._put(key, options.condition, options.media_type, kept or {})
        return await (self._put_bytes(put, body) if isinstance(body, bytes) else self._put_chunks(put, body))

    def _put(
        self, key: str, condition: Condition | None, media_type: str | None, kept: Mapping[str, str], lost: str = ""
    ) -> _Put:
        """``lost`` is the mark of an attempt whose answer was lost, for another one."""
        descent = self._write_marks.descent(key, condition, lost)
        marked = descent.within(room_for_marks(kept))
        marks = {} if marked is None else {WRITES: marked.header}
        headers = {**self._dialect.new_object, **kept, **media_headers(media_type), **marks}
        return _Put(key, condition, media_type, marked or descent, condition is None, bool(lost), headers, kept)

    async def _put_bytes(self, put: _Put, body: bytes) -> ObjectInfo:
        if len(body) <= self._dialect.part_size or self._must_be_one(put, len(body)):
            return await self._whole(put, body, len(body))
        return await self._parts(put, _sliced(body, self._part_size(len(body))))

    async def _put_chunks(self, put: _Put, chunks: AsyncIterable[bytes]) -> ObjectInfo:
        if put.condition is not None and not self.enforcement.multipart:
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
        if put.condition is None or self.enforcement.multipart:
            return False
        if length > self._dialect.largest_put:
            raise LimitExceededError("larger than this store takes under a condition")
        return True

    def _part_size(self, length: int) -> int:
        return max(self._dialect.part_size, -(-length // 10_000))

    async def _whole(self, put: _Put, body: bytes | LargeBody, length: int) -> ObjectInfo:
        checksum = self._dialect.body_headers(body) if isinstance(body, bytes) else {}
        headers = {**put.headers, **condition_headers(put.key, put.condition), **checksum}
        watch = self.settling.watch(put)
        request = Request("PUT", put.key, headers=headers, body=body, is_settled=watch.is_settled)
        answer = await self._sender.send(request)
        if watch.base is not None:
            return await self._again(put, body, length, watch.base)
        if answer.is_success and answer.headers.get("ETag"):
            return self._made(put, written_info(put.key, answer.headers, length, put.media_type))
        return self._made(put, await watch.outcome(answer, "", length))

    async def _again(self, put: _Put, body: bytes | LargeBody, length: int, base: Condition) -> ObjectInfo:
        """A put without a condition that had no effect yet, on just what was found: it undoes nobody's change."""
        again = self._put(put.key, base, put.media_type, put.kept, put.descent.mark)
        try:
            return await self._whole(again, body, length)
        except PreconditionFailed as failed:
            if failed.retried:
                raise
            raise ConflictError("another write came first, while this one was repeated") from None
        except UnsupportedError:
            self.enforcement.puts = False
            return await self._whole(put, body, length)

    def _made(self, put: _Put, info: ObjectInfo) -> ObjectInfo:
        if WRITES in put.headers:
            self._write_marks.wrote(put.key, info.version, put.descent)
        return info

    async def _parts(self, put: _Put, parts: AsyncGenerator[bytes, None]) -> ObjectInfo:
        conditions = condition_headers(put.key, put.condition)
        watch = self.settling.watch(replace(put, doubles=False))
        try:
            done = await self._multipart.upload(put.key, {**put.headers}, conditions, parts, watch.is_settled)
        finally:
            await parts.aclose()
        return self._made(put, await watch.outcome(done.answer, done.version, done.size))

    async def repeat_is_refused(
        self, key: str, body: bytes, options: PutOptions, version: str, kept: Mapping[str, str] | None = None
    ) -> bool | None:
        """Whether the store refuses a create-only put of a key that holds just these bytes; ``None``: not known.

        Changes nothing either way: an honest store refuses, another one stores what is there already.
        """
        headers = {**self._dialect.new_object, **(kept or {}), **media_headers(options.media_type)}
        headers |= condition_headers(key, ABSENT)
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
