"""Uploads: a small body in one request, a larger one in chunks, nothing of it left when it is cut short."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from moorage import Body, UnavailableError
from moorage.objects import Condition, ObjectInfo, PreconditionFailed
from moorage_gcs import sdk
from moorage_gcs.beginning import Beginning
from moorage_gcs.objects import Bucket, Resource, check_new_name, condition_query, info_of
from moorage_gcs.placing import Placing
from moorage_gcs.resumable import ResumableUpload, start
from moorage_gcs.sending import Answer, Request, Sender
from moorage_gcs.settling import Change, Settler, may_hold, still, stored
from moorage_gcs.uninterrupted import cleared, finished
from moorage_gcs.write_marks import Mark

_LINE: Final = "\r\n"
_BEGINNINGS: Final = 3
"""How often a body at hand is uploaded in chunks at most."""


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


class _EndedError(Exception):
    """The store knows nothing of an upload any more, and made nothing of it.

    Attributes:
        found: what is stored in its place.
    """

    def __init__(self, found: Resource | None) -> None:
        super().__init__("the store ended the upload")
        self.found = found


class Uploads:
    """Puts objects into one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, placing: Placing, settler: Settler, chunk_size: int) -> None:
        self._sender = sender
        self._bucket = bucket
        self._placing = placing
        self._settler = settler
        self._chunk_size = chunk_size

    async def put(self, target: Target, body: Body) -> ObjectInfo:
        """Store the whole body or nothing of it."""
        check_new_name(target.key)
        if isinstance(body, bytes):
            if len(body) <= self._chunk_size:
                return await self._put_small(target, body)
            return await self._put_large(target, body)
        chunks = _gathered(body, self._chunk_size)
        first = await anext(chunks, b"")
        second = await anext(chunks, None)
        if second is None:
            return await self._put_small(target, bytes(first))
        try:
            return await self._put_chunks(target, _chained(first, second, chunks), None)
        except _EndedError:
            raise _ended() from None

    async def _put_small(self, target: Target, body: bytes) -> ObjectInfo:
        mark = self._settler.marks.new(target.key, target.condition)
        metadata = self._metadata(target, mark)
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
                    repeats=False,
                )
            )

        made = {**metadata, "size": len(body)}
        return info_of(await self._settler.settle(Change(target.condition, mark, attempt, made)))

    async def _put_large(self, target: Target, body: bytes) -> ObjectInfo:
        """In chunks, from the beginning again where the store forgets about them.

        Without a condition, the second beginning has one: that nothing was written since.
        """
        again = target
        for _ in range(_BEGINNINGS):
            try:
                return await self._put_chunks(again, _views(body, self._chunk_size), len(body))
            except _EndedError as ended:
                if target.condition is None:
                    again = replace(target, condition=still(ended.found))
            except PreconditionFailed as failed:
                if target.condition is not None or failed.retried:
                    raise
                break
        raise _ended()

    async def _put_chunks(
        self, target: Target, chunks: AsyncIterator[bytes | memoryview], size: int | None
    ) -> ObjectInfo:
        mark = self._settler.marks.new(target.key, target.condition)
        begun = self._settler.beginning(target.key)
        metadata = self._metadata(target, mark)
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
            if upload.last.is_unmet:  # an upload that made its object says so whenever it is asked
                raise PreconditionFailed(target.key)
            return info_of(await self._find(target, mark, begun, {**metadata, "size": upload.size}))
        return info_of(self._settler.known(resource, mark))

    async def _send_chunks(self, upload: ResumableUpload, chunks: AsyncIterator[bytes | memoryview]) -> Resource | None:
        """What was made; ``None`` where the store knows nothing of this upload any more, which may have ended it."""
        held = await anext(chunks)
        async for chunk in chunks:
            if not await upload.send(held):
                return None
            held = chunk
        return await upload.finish(held)

    async def _find(self, target: Target, mark: Mark, begun: Beginning, made: Resource) -> Resource:
        """What came of an upload that the store ended without saying what it made.

        Raises:
            PreconditionFailed: another write came first; or, as the signal says, it cannot be told.
        """
        found = await stored(self._sender, self._bucket, target.key)
        if found is not None and mark.made(found):
            return self._settler.known(found, mark)
        if target.condition is None:
            under = await self._settler.covered(mark, found, made, begun, mark.made)
            if under is not None:
                return under
        if target.condition is None or may_hold(target.condition, found):
            raise _EndedError(found)
        return await self._settler.recovered(mark, target.condition, found, made)

    def _metadata(self, target: Target, mark: Mark) -> dict[str, object]:
        return {**self._placing.resource(mark, target.media_type, target.kept), "name": target.key}

    def _query(self, key: str, condition: Condition | None) -> dict[str, str]:
        return {**condition_query(key, condition), **self._placing.query()}


def _ended() -> UnavailableError:
    return UnavailableError("the store ended the upload")


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
