"""Storing a body: in one request, or in parts; under a condition, with a lost answer recognised."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from moorage import Body, ConflictError, LimitExceededError
from moorage.objects import ABSENT, Condition, Matches, ObjectInfo, PreconditionFailed, PutOptions
from moorage_s3.answers import object_info, plain_version, written_info
from moorage_s3.conditions import condition_headers, is_unmet, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.multipart import Multipart
from moorage_s3.sending import Answer, LargeBody, Request, Sender
from moorage_s3.spooling import spooled
from moorage_s3.write_marks import HEADER as WRITES
from moorage_s3.write_marks import Descent, WriteMarks


@dataclass(slots=True)
class Enforcement:
    """What is known of the store's conditions on puts.

    Attributes:
        multipart: the completion of an upload judges them; else conditional bodies of any size go in one request.
    """

    multipart: bool = True


@dataclass(frozen=True, slots=True)
class _Put:
    """One object to make."""

    key: str
    condition: Condition | None
    media_type: str | None
    headers: dict[str, str]
    descent: Descent


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is stored where a put's answer was lost or refused.

    Attributes:
        stored: the object, if it is what the put made.
        took_effect: see :meth:`Descent.took_effect`.
        still_holds: the version that the put expects is still there.
    """

    stored: ObjectInfo | None = None
    took_effect: bool | None = None
    still_holds: bool = False


_UNSEEN: Final = _Seen()


class Uploading:
    """Puts of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, enforcement: Enforcement, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
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
        put = _Put(key, options.condition, options.media_type, {**headers, **conditions}, descent)
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
        settled = partial(self._is_settled, put)
        answer = await self._sender.send(Request("PUT", put.key, headers=headers, body=body, is_settled=settled))
        if answer.is_success and answer.headers.get("ETag"):
            return written_info(put.key, answer.headers, length, put.media_type)
        return await (self._stored(put, length) if answer.is_success else self._own(put, answer, length))

    async def _parts(self, put: _Put, parts: AsyncGenerator[bytes, None]) -> ObjectInfo:
        creation = {name: value for name, value in put.headers.items() if name not in ("if-match", "if-none-match")}
        conditions = condition_headers(put.key, put.condition)
        headers = {**creation, WRITES: put.descent.header}
        try:
            done = await self._multipart.upload(put.key, headers, conditions, parts, partial(self._is_settled, put))
        finally:
            await parts.aclose()
        if done.answer.is_success:
            if not done.version:
                return await self._stored(put, done.size)
            return ObjectInfo(put.key, done.size, done.version, media_type=put.media_type)
        return await self._own(put, done.answer, done.size)

    async def _own(self, put: _Put, answer: Answer, size: int) -> ObjectInfo:
        """The object that this write made, if it took effect in spite of the answer.

        Looked at whenever the condition failed, not after a repetition alone: between client and store others may
        have repeated the request. Of a write that took effect and was then replaced the version is not known: the one
        that is given matches nothing, as the right one would.

        Raises:
            PreconditionFailed, MoorageError: it did not, or that cannot be told.
        """
        is_refused = is_unmet(answer, put.condition)
        seen = await self._look(put, answer) if answer.lost or answer.settled or is_refused else _UNSEEN
        if seen.stored is not None:
            return seen.stored
        if seen.took_effect:
            return _replaced(put, size)
        is_unclear = answer.lost and seen.took_effect is None and not seen.still_holds
        error = answer.error()
        is_overtaken = put.condition is not None and not seen.still_holds and (answer.lost or answer.settled)
        is_certain = isinstance(error, ConflictError) or seen.took_effect is False or not answer.lost
        if is_refused or (is_overtaken and is_certain):
            raise PreconditionFailed(put.key, retried=is_unclear)
        raise error

    async def _is_settled(self, put: _Put, answer: Answer) -> bool:
        """Whether a put took effect although its answer was lost, or cannot take effect any more."""
        if not answer.lost and not isinstance(put.condition, Matches):
            return False
        seen = await self._look(put, answer)
        if not answer.lost:
            return seen is not _UNSEEN and not seen.still_holds
        return seen.stored is not None or (seen.took_effect is not None and not seen.still_holds)

    async def _look(self, put: _Put, answer: Answer) -> _Seen:
        found = await self._sender.send(Request("HEAD", put.key))
        if not found.is_success:
            return _UNSEEN
        if put.descent.is_stored(found.headers, put.key):
            return _Seen(object_info(put.key, found.headers), took_effect=True)
        version = plain_version(found.headers.get("ETag", ""))
        passed = time.monotonic() - answer.lost_since if answer.lost else 0.0
        took_effect = put.descent.took_effect(found.headers, put.key, passed)
        return _Seen(None, took_effect, still_holds=put.condition == Matches(version))

    async def _stored(self, put: _Put, size: int) -> ObjectInfo:
        """What a put made that succeeded without being told its version; what is stored now may be another's."""
        found = await self._sender.send(Request("HEAD", put.key))
        if found.is_success and put.descent.is_stored(found.headers, put.key):
            return object_info(put.key, found.headers)
        return _replaced(put, size)

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


def _replaced(put: _Put, size: int) -> ObjectInfo:
    """An object that was made and has been replaced since: its version matches nothing."""
    return ObjectInfo(put.key, size, f"replaced-{put.descent.mark}", media_type=put.media_type)


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
