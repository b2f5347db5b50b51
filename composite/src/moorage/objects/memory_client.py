"""A flat object store in memory that enforces what the real ones enforce, counts requests, and fails on demand."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Self

import anyio
import anyio.lowlevel

from moorage.errors import LimitExceededError, MoorageError, PathNotFoundError, UnsupportedError
from moorage.models import Body
from moorage.objects.client import (
    ABSENT,
    COPY,
    DELETE_KEY,
    GET,
    LIST,
    PUT,
    Condition,
    CopyOptions,
    DeleteFailure,
    GetOptions,
    KeyDeleteOptions,
    ListOptions,
    Matches,
    ObjectBody,
    ObjectClient,
    ObjectFeatures,
    ObjectInfo,
    ObjectPage,
    PreconditionFailed,
    PutOptions,
)

S3_FEATURES: Final = ObjectFeatures()
GCS_FEATURES: Final = ObjectFeatures(
    copy_reports_size=True, native_move=True, native_append_from=None, delete_batch=100, mtime_resolution=1e-3
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CHUNK: Final = 64 * 1024

Hook = Callable[[str, str], Awaitable[None]]
"""Called with the kind of request (``"head"``, ``"put"``, …) and the key; may wait, and may raise a MoorageError."""


@dataclass(slots=True)
class _Stored:
    data: bytes
    info: ObjectInfo


class MemoryObjectClient(ObjectClient):
    """One bucket in this process.

    With ``style="s3"`` a version is an ETag (equal content, equal version), times are whole seconds, and the answer
    to a put has no time; with ``"gcs"`` a version is a generation, which never repeats. Both judge every condition in
    the same step as the change, unless ``features`` say that it is ignored: then it is ignored silently.

    Attributes:
        requests: how many of each kind were made. A body larger than ``part_size`` is ``start_upload``, an
            ``upload_part`` for each part and ``finish_upload``, where the condition is judged.
        before, after: hooks around each request: before it does anything, and when it is done but its answer is not
            yet given.
        pending_uploads: keys of uploads that were started and neither finished nor aborted.
    """

    scheme = "objects"

    def __init__(
        self,
        *,
        style: Literal["s3", "gcs"] = "s3",
        features: ObjectFeatures | None = None,
        part_size: int = 8 * 1024 * 1024,
    ) -> None:
        self._style = style
        self._features = features or (S3_FEATURES if style == "s3" else GCS_FEATURES)
        self._part_size = part_size
        self._objects: dict[str, _Stored] = {}
        self._sorted: list[str] | None = []
        self._generation = 0
        self.identity = f"memory-{id(self):x}"
        self.requests: Counter[str] = Counter()
        self.before: Hook | None = None
        self.after: Hook | None = None
        self.pending_uploads: list[str] = []

    @property
    def features(self) -> ObjectFeatures:
        return self._features

    async def probe(self) -> ObjectFeatures:
        return self._features

    async def start(self) -> None:
        """Nothing to connect."""

    async def aclose(self) -> None:
        """Nothing to give back; the content stays."""

    def peek(self, key: str) -> bytes | None:
        """What is stored, past all counting and hooks."""
        stored = self._objects.get(key)
        return None if stored is None else stored.data

    def poke(self, key: str, data: bytes | None, media_type: str | None = None) -> None:
        """Store, or with ``None`` remove, past all counting and hooks, as another client would."""
        if data is None:
            self._remove(key)
        else:
            self._store(key, data, media_type)

    def all_keys(self) -> tuple[str, ...]:
        """All keys in order of their bytes, past all counting and hooks."""
        return tuple(self._in_order())

    async def head(self, key: str) -> ObjectInfo:
        await self._begin("head", key)
        info = self._get(key).info
        await self._end("head", key)
        return info

    async def get(self, key: str, options: GetOptions = GET) -> ObjectBody:
        await self._begin("get", key)
        stored = self._get(key)
        if options.version is not None and stored.info.version != options.version:
            raise PreconditionFailed(key)
        await self._end("get", key)
        return ObjectBody(stored.info, _Chunks(stored.data[options.start : options.end]))

    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        if isinstance(body, bytes) and len(body) <= self._part_size:
            return await self._put_whole(key, body, options)
        return await self._put_stream(key, _Chunks(body) if isinstance(body, bytes) else body, options)

    async def _put_whole(self, key: str, data: bytes, options: PutOptions) -> ObjectInfo:
        await self._begin("put", key)
        self._judge(key, options.condition, enforced=self._features.conditional_put)
        info = self._store(key, data, options.media_type)
        await self._end("put", key)
        return self._put_answer(info)

    async def _put_stream(self, key: str, chunks: AsyncIterable[bytes], options: PutOptions) -> ObjectInfo:
        received = bytearray()
        parts = 0
        try:
            async for chunk in chunks:
                received += chunk
                self._check_size(len(received))
                while len(received) > (parts + 1) * self._part_size:
                    parts = await self._upload_part(key, parts)
            if not parts:
                return await self._put_whole(key, bytes(received), options)
            await self._upload_part(key, parts)
            await self._begin("finish_upload", key)
            self._judge(key, options.condition, enforced=self._features.conditional_put)
            info = self._store(key, bytes(received), options.media_type)
        finally:
            if parts:
                self.pending_uploads.remove(key)
        await self._end("finish_upload", key)
        return self._put_answer(info)

    async def _upload_part(self, key: str, parts: int) -> int:
        if not parts:
            await self._begin("start_upload", key)
            self.pending_uploads.append(key)
            try:
                await self._begin("upload_part", key)
            except BaseException:
                self.pending_uploads.remove(key)
                raise
            return 1
        await self._begin("upload_part", key)
        return parts + 1

    async def append(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        if self._features.native_append_from is None:
            raise UnsupportedError("this store has no append")
        added = body if isinstance(body, bytes) else b"".join([chunk async for chunk in body])
        await self._begin("append", key)
        self._judge(key, options.condition, enforced=self._features.conditional_put)
        present = self._objects.get(key)
        media_type = options.media_type or (present.info.media_type if present else None)
        info = self._store(key, (present.data if present else b"") + added, media_type)
        await self._end("append", key)
        return self._put_answer(info)

    async def delete(self, key: str, options: KeyDeleteOptions = DELETE_KEY) -> None:
        await self._begin("delete", key)
        if isinstance(options.condition, Matches):
            self._judge(key, options.condition, enforced=self._features.conditional_delete)
        elif options.condition is not None and self._features.delete_reports_missing:
            self._get(key)
        self._remove(key)
        await self._end("delete", key)

    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        if len(keys) > self._features.delete_batch:
            raise LimitExceededError(f"more than {self._features.delete_batch} keys in one batch")
        await self._begin("delete_many", keys[0] if keys else "")
        failures: list[DeleteFailure] = []
        for key in keys:
            try:
                if self.before is not None:
                    await self.before("delete_one", key)
            except MoorageError as error:
                failures.append(DeleteFailure(key, error))
            else:
                self._remove(key)
        await self._end("delete_many", keys[0] if keys else "")
        return tuple(failures)

    async def copy(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        await self._begin("copy", dst)
        source = self._check_source(src, options)
        self._judge(dst, options.condition, enforced=self._features.conditional_copy)
        info = self._store(dst, source.data, options.media_type or source.info.media_type)
        await self._end("copy", dst)
        return self._copy_answer(info)

    async def move(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        if not self._features.native_move:
            raise UnsupportedError("this store has no move")
        await self._begin("move", dst)
        source = self._check_source(src, options)
        self._judge(dst, options.condition, enforced=self._features.conditional_copy)
        info = self._store(dst, source.data, options.media_type or source.info.media_type)
        self._remove(src)
        await self._end("move", dst)
        return self._copy_answer(info)

    async def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        after = options.start_after or ""
        left = options.limit
        while True:
            await self._begin("list", prefix)
            page, after = self._page(prefix, options.delimiter, after, min(self._features.page_size, left or 1 << 62))
            await self._end("list", prefix)
            yield page
            if left is not None:
                left -= len(page.objects) + len(page.prefixes)
            if not page.more or (left is not None and left <= 0):
                return

    # What follows awaits nothing, so that each check and its change are one step; the two hooks apart.

    def _page(self, prefix: str, delimiter: str | None, after: str, size: int) -> tuple[ObjectPage, str]:
        ordered = self._in_order()
        index = bisect_left(ordered, prefix.encode("utf-8", "surrogatepass"), key=_bytes)
        if after:
            index = max(index, bisect_right(ordered, _bytes(after), key=_bytes))
        objects: list[ObjectInfo] = []
        prefixes: list[str] = []
        while index < len(ordered) and ordered[index].startswith(prefix):
            if len(objects) + len(prefixes) == size:
                return ObjectPage(tuple(objects), tuple(prefixes), more=True), after
            key = ordered[index]
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if found:
                after = prefix + head + found
                prefixes.append(after)
                while index < len(ordered) and ordered[index].startswith(after):
                    index += 1
                after = ordered[index - 1]
            else:
                objects.append(self._list_answer(self._objects[key].info))
                after, index = key, index + 1
        return ObjectPage(tuple(objects), tuple(prefixes)), after

    def _in_order(self) -> Sequence[str]:
        if self._sorted is None:
            self._sorted = sorted(self._objects, key=_bytes)
        return self._sorted

    def _get(self, key: str) -> _Stored:
        if key not in self._objects:
            raise PathNotFoundError("no such key")
        return self._objects[key]

    def _check_source(self, src: str, options: CopyOptions) -> _Stored:
        source = self._get(src)
        version = options.source_version
        if version is not None and self._features.conditional_source and source.info.version != version:
            raise PreconditionFailed(src)
        return source

    def _judge(self, key: str, condition: Condition | None, *, enforced: bool) -> None:
        present = self._objects.get(key)
        if condition is None or not enforced:
            return
        if isinstance(condition, Matches):
            holds = present is not None and present.info.version == condition.version
        else:
            holds = (present is None) is (condition is ABSENT)
        if not holds:
            raise PreconditionFailed(key)

    def _check_size(self, size: int) -> None:
        limit = self._features.max_object_size
        if limit is not None and size > limit:
            raise LimitExceededError(f"larger than {limit} bytes")

    def _store(self, key: str, data: bytes, media_type: str | None) -> ObjectInfo:
        self._check_size(len(data))
        self._generation += 1
        digest = hashlib.sha256(data).hexdigest()
        now = self._next_time(self._objects.get(key))
        info = ObjectInfo(
            key,
            len(data),
            version=digest[:32] if self._style == "s3" else str(self._generation),
            modified_at=now,
            created_at=None if self._style == "s3" else now,
            checksum=f"sha256:{digest}",
            media_type=media_type,
        )
        if key not in self._objects:
            self._sorted = None
        self._objects[key] = _Stored(data, info)
        return info

    def _remove(self, key: str) -> None:
        if self._objects.pop(key, None) is not None:
            self._sorted = None

    def _next_time(self, replaced: _Stored | None) -> datetime:
        """Now, in whole units; where versions never repeat, times of one key do not either."""
        unit = timedelta(microseconds=max(1, round(self._features.mtime_resolution * 1_000_000)))
        now = _EPOCH + (datetime.now(UTC) - _EPOCH) // unit * unit
        before = replaced.info.modified_at if replaced is not None else None
        return now if before is None or self._style == "s3" else max(now, before + unit)

    def _put_answer(self, info: ObjectInfo) -> ObjectInfo:
        return replace(info, modified_at=None) if self._style == "s3" else info

    def _copy_answer(self, info: ObjectInfo) -> ObjectInfo:
        return info if self._features.copy_reports_size else replace(info, size=None, media_type=None)

    def _list_answer(self, info: ObjectInfo) -> ObjectInfo:
        return replace(info, media_type=None, checksum=None) if self._style == "s3" else info

    async def _begin(self, kind: str, key: str) -> None:
        self.requests[kind] += 1
        await anyio.lowlevel.checkpoint()
        if self.before is not None:
            await self.before(kind, key)

    async def _end(self, kind: str, key: str) -> None:
        if self.after is not None:
            await self.after(kind, key)


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


class _Chunks:
    """Bytes, piece by piece."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._sent = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        chunk = self._data[self._sent : self._sent + _CHUNK]
        if not chunk:
            raise StopAsyncIteration
        self._sent += len(chunk)
        return chunk
