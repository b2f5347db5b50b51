"""The port: what :class:`moorage.objects.ObjectClient` asks for, over the store, each operation in a worker thread.

A worker that has begun is waited for, also when its caller is cancelled, so that every operation happens or does not.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.to_thread import run_sync

from moorage import Body, UnsupportedError
from moorage.objects import (
    COPY,
    DELETE_KEY,
    GET,
    LIST,
    PUT,
    CopyOptions,
    DeleteFailure,
    GetOptions,
    KeyDeleteOptions,
    ListOptions,
    ObjectBody,
    ObjectClient,
    ObjectFeatures,
    ObjectInfo,
    ObjectPage,
    PutOptions,
)
from moorage_example.store import BLOCK, Snapshot, Store, following

_FEATURES: Final = ObjectFeatures(copy_reports_size=True, native_move=True, mtime_resolution=1e-6)


class ExampleClient(ObjectClient):
    scheme = "example"

    def __init__(self, file: Path) -> None:
        self._store = Store(file)
        self.identity = str(file.absolute())

    @property
    def features(self) -> ObjectFeatures:
        return _FEATURES

    async def probe(self) -> ObjectFeatures:
        return _FEATURES

    async def start(self) -> None:
        await run_sync(self._store.open)

    async def aclose(self) -> None:
        self._store.close()

    async def head(self, key: str) -> ObjectInfo:
        return await run_sync(self._store.head, key)

    async def get(self, key: str, options: GetOptions = GET) -> ObjectBody:
        snapshot = await run_sync(self._store.snapshot, key, options.version)
        end = snapshot.size if options.end is None else min(options.end, snapshot.size)
        if end - options.start <= BLOCK:
            try:
                return ObjectBody(snapshot.info, await run_sync(snapshot.read, options.start, end))
            finally:
                snapshot.close()

        stream = _stream(snapshot, options.start, end)

        async def aclose() -> None:
            try:
                await stream.aclose()
            finally:
                snapshot.close()

        return ObjectBody(snapshot.info, stream, aclose)

    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        if isinstance(body, bytes):
            return await run_sync(self._store.put, key, body, options)
        version = await run_sync(self._store.begin)
        try:
            async for block in _blocks(body):
                await run_sync(self._store.add, version, block)
            return await run_sync(self._store.finish, version, key, options)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await run_sync(self._store.abandon, version)
            raise

    async def append(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        raise UnsupportedError("this store cannot append")

    async def delete(self, key: str, options: KeyDeleteOptions = DELETE_KEY) -> None:
        await run_sync(self._store.delete, key, options.condition)

    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        await run_sync(self._store.delete_many, keys)
        return ()

    async def copy(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        return await run_sync(self._store.copy, src, dst, options)

    async def move(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        return await run_sync(self._store.move, src, dst, options)

    async def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        cursor = "" if options.start_after is None else following(options.start_after)
        left = options.limit
        while True:
            size = _FEATURES.page_size if left is None else min(left, _FEATURES.page_size)
            page, cursor = await run_sync(self._store.page, prefix, options.delimiter, cursor, size)
            yield page
            if left is not None:
                left -= len(page.objects) + len(page.prefixes)
            if not page.more or (left is not None and left <= 0):
                return


async def _stream(snapshot: Snapshot, start: int, end: int) -> AsyncGenerator[bytes, None]:
    while start < end:
        chunk = await run_sync(snapshot.read, start, min(start + BLOCK, end))
        start += len(chunk)
        yield chunk


async def _blocks(body: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in blocks of one size, but for the last."""
    held = bytearray()
    async for chunk in body:
        held += chunk
        while len(held) >= BLOCK:
            yield bytes(held[:BLOCK])
            del held[:BLOCK]
    if held:
        yield bytes(held)
