"""A provider that answers late, over any other."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio

from moorage import (
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    MakeDirOptions,
    Provider,
    Reader,
    Stat,
    StoragePath,
    WriteOptions,
)
from moorage.testing.iterating import closing


class LatencyProvider(Provider):
    """Waits before and after every call, so that concurrent calls interleave in ways that a fast store hides.

    Every wait is drawn evenly from ``least`` to ``most`` seconds; the same ``seed`` draws the same waits.
    """

    def __init__(self, inner: Provider, *, least: float = 0.0, most: float = 0.002, seed: int = 0) -> None:
        self.inner = inner
        self.scheme = inner.scheme
        self._least = least
        self._most = most
        self._random = random.Random(seed)

    async def start(self) -> None:
        await self.inner.start()

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return replace(await self.inner.capabilities(path), native_path=None)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(path)

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(prefix)
        return None if inner is None else LatencyProvider(inner, least=self._least, most=self._most)

    async def stat(self, path: StoragePath) -> Stat:
        await self._wait()
        stat = await self.inner.stat(path)
        await self._wait()
        return stat

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        await self._wait()
        async with closing(self.inner.list(path, recursive=recursive)) as entries:
            async for entry in entries:
                yield entry
        await self._wait()

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        await self._wait()
        return await self.inner.read(path, start=start, end=end)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WriteOptions()) -> Stat:
        await self._wait()
        stat = await self.inner.write(path, body, options)
        await self._wait()
        return stat

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WriteOptions()) -> Stat:
        await self._wait()
        stat = await self.inner.append(path, body, options)
        await self._wait()
        return stat

    async def delete(self, path: StoragePath, options: DeleteOptions = DeleteOptions()) -> None:
        await self._wait()
        await self.inner.delete(path, options)
        await self._wait()

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WriteOptions()) -> Stat:
        await self._wait()
        stat = await self.inner.copy(src, dst, options)
        await self._wait()
        return stat

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WriteOptions()) -> Stat:
        await self._wait()
        stat = await self.inner.move(src, dst, options)
        await self._wait()
        return stat

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MakeDirOptions()) -> None:
        await self._wait()
        await self.inner.make_dir(path, options)
        await self._wait()

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        await self._wait()
        await self.inner.remove_dir(path, recursive=recursive)
        await self._wait()

    async def sweep_leftovers(self, older_than: float) -> int:
        await self._wait()
        return await self.inner.sweep_leftovers(older_than)

    async def _wait(self) -> None:
        await anyio.sleep(self._random.uniform(self._least, self._most))
