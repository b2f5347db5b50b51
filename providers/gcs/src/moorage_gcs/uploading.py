"""Uploads: a small body in one request, a larger one in chunks, nothing of it left when it is cut short."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from moorage import Body, UnavailableError
from moorage.objects import ABSENT, Condition, Matches, ObjectInfo, PreconditionFailed
from moorage_gcs import sdk
from moorage_gcs.objects import Bucket, Resource, check_new_name, condition_query, document, info_of
from moorage_gcs.placing import Placing
from moorage_gcs.resumable import ResumableUpload, start
from moorage_gcs.sending import Answer, Request, Sender
from moorage_gcs.settling import Mark, settled, stored
from moorage_gcs.uninterrupted import cleared, finished

_LINE: Final = "\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """What an upload makes.

    Attributes:
        kept: metadata taken over from another object.
    """

    key: str
    condition: Condition | None = None
    media_type: str | None = None
    kept: Mapping[str, object] | None = None


class Uploads:
    """Puts objects into one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, placing: Placing, chunk_size: int) -> None:
        self._sender = sender
        self._bucket = bucket
        self._placing = placing
        self._chunk_size = chunk_size

    async def put(self, target: Target, body: Body) -> ObjectInfo:
        """Store the whole body or nothing of it."""
        check_new_name(target.key)
        if isinstance(body, bytes):
            if len(body) <= self._chunk_size:
                return await self._put_small(target, body)
            return await self._put_chunks(target, _views(body, self._chunk_size), len(body))
        chunks = _gathered(body, self._chunk_size)
        first = await anext(chunks, b"")
        second = await anext(chunks, None)
        if second is None:
            return await self._put_small(target, bytes(first))
        return await self._put_chunks(target, _chained(first, second, chunks), None)

    async def _put_small(self, target: Target, body: bytes) -> ObjectInfo:
        mark = Mark.new(target.condition)
        metadata = {**self._placing.resource(mark, target.media_type, target.kept), "name": target.key}
        checksum = sdk.encoded_crc32c(sdk.crc32c(body))
        parts = _multipart({**metadata, "crc32c": checksum}, body)

        async def attempt(condition: Condition | None) -> Answer:
            return await self._sender.send(
                Request(
                    "POST",
                    self._bucket.upload,
                    {"uploadType": "multipart", **self._query(target.key, condition)},
                    {"content-type": parts[0]},
                    parts[1],
                    repeats=condition is not None,
                )
            )

        look = partial(stored, self._sender, self._bucket, target.key)
        found = await settled(target.key, target.condition, attempt, look, _is(mark), _replaces(target.condition))
        return info_of(document(found) if isinstance(found, Answer) else found)

    async def _put_chunks(
        self, target: Target, chunks: AsyncIterator[bytes | memoryview], size: int | None
    ) -> ObjectInfo:
        mark = Mark.new(target.condition)
        metadata = {**self._placing.resource(mark, target.media_type, target.kept), "name": target.key}
        request = Request(
            "POST",
            self._bucket.upload,
            {"uploadType": "resumable", **self._query(target.key, target.condition)},
            {"content-type": "application/json; charset=UTF-8", **_announced(size)},
            (json.dumps(metadata).encode(),),
        )
        upload = await finished(partial(start, self._sender, target.key, request, size), ResumableUpload.abort)
        try:
            resource = await self._send_chunks(upload, chunks)
        except BaseException:
            await cleared(upload.abort)
            raise
        if resource is None:
            resource = await self._find(target, mark, upload)
        return info_of(resource)

    async def _send_chunks(self, upload: ResumableUpload, chunks: AsyncIterator[bytes | memoryview]) -> Resource | None:
        """What was made; ``None`` where the store knows nothing of this upload any more, which may have ended it."""
        held = await anext(chunks)
        async for chunk in chunks:
            if not await upload.send(held):
                return None
            held = chunk
        return await upload.finish(held)

    async def _find(self, target: Target, mark: Mark, upload: ResumableUpload) -> Resource:
        """What came of an upload that the store ended without saying what it made."""
        if upload.last.is_unmet and not upload.last.lost:
            raise PreconditionFailed(target.key)
        found = await stored(self._sender, self._bucket, target.key)
        if found is not None and Mark.of(found).word == mark.word:
            return found
        if upload.last.is_unmet or not _may_hold(target.condition, found):
            is_other = found is not None and _has_replaced(_version(target.condition), found)
            raise PreconditionFailed(target.key, retried=not is_other)
        raise UnavailableError("the store ended the upload")

    def _query(self, key: str, condition: Condition | None) -> dict[str, str]:
        return {**condition_query(key, condition), **self._placing.query()}


def _is(mark: Mark) -> Callable[[Resource], bool]:
    return partial(_has_word, mark.word)


def _has_word(word: str, resource: Resource) -> bool:
    return Mark.of(resource).word == word


def _replaces(condition: Condition | None) -> Callable[[Resource], bool]:
    return partial(_has_replaced, _version(condition))


def _version(condition: Condition | None) -> str | None:
    return condition.version if isinstance(condition, Matches) else None


def _may_hold(condition: Condition | None, found: Resource | None) -> bool:
    if isinstance(condition, Matches):
        return found is not None and str(found.get("generation", "")) == condition.version
    return condition is None or (found is None) is (condition is ABSENT)


def _has_replaced(version: str | None, resource: Resource) -> bool:
    """Whether another write replaced just the version that this one was to replace."""
    return version is not None and Mark.of(resource).replaces == version


def _announced(size: int | None) -> dict[str, str]:
    return {} if size is None else {"x-upload-content-length": str(size)}


def _multipart(metadata: Mapping[str, object], body: bytes) -> tuple[str, tuple[bytes, ...]]:
    """The content type, and the body in pieces: lines end in CRLF, and the boundary is nowhere in the content."""
    boundary = secrets.token_hex(16)
    while boundary.encode() in body:
        boundary = secrets.token_hex(16)
    described = json.dumps(metadata).encode()
    head = _LINE.join((f"--{boundary}", "Content-Type: application/json; charset=UTF-8", "", "")).encode()
    between = _LINE.join(("", f"--{boundary}", "Content-Type: application/octet-stream", "", "")).encode()
    end = f"{_LINE}--{boundary}--{_LINE}".encode()
    return f"multipart/related; boundary={boundary}", (head, described, between, body, end)


async def _views(body: bytes, size: int) -> AsyncGenerator[memoryview, None]:
    view = memoryview(body)
    for start_ in range(0, len(body), size):
        yield view[start_ : start_ + size]


async def _gathered(body: AsyncIterable[bytes], size: int) -> AsyncGenerator[bytes, None]:
    """The same bytes in chunks of ``size``; the last one is smaller, and there is one for an empty body, too."""
    held = bytearray()
    sent = False
    async for chunk in body:
        held += chunk
        while len(held) > size:
            yield bytes(memoryview(held)[:size])
            del held[:size]
            sent = True
    if held or not sent:
        yield bytes(held)


async def _chained(first: bytes, second: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes | memoryview, None]:
    yield first
    yield second
    async for chunk in rest:
        yield chunk
