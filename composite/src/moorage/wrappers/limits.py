"""Bounds on what a filesystem may be asked to do."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio

from moorage.errors import InvalidArgumentError, LimitExceededError, PathNotFoundError
from moorage.models import Body, Capabilities, DeleteOptions, Entry, MakeDirOptions, Reader, Stat, WriteOptions
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
from moorage.streams import closing


class Limits(Provider):
    """Refuses what goes over a limit with :class:`moorage.LimitExceededError`, before any byte lands.

    Args:
        max_file_size: bytes of one file. A streamed body is counted as it flows, and stopped before it is published.
        max_in_flight: primitives under way at once.
        rate: primitives a second, with a burst of as many as one second allows.
        max_wait: seconds that a call waits for its turn before it is refused.

    Appends through one instance to one file take turns, so that together they stay within ``max_file_size``. A listing
    counts as one primitive, whatever its length. ``native_path`` is withheld when a limit on size would not hold
    through it.
    """

    def __init__(
        self,
        inner: Provider,
        *,
        max_file_size: int | None = None,
        max_in_flight: int | None = None,
        rate: float | None = None,
        max_wait: float = 30.0,
    ) -> None:
        for name, value in (("max_file_size", max_file_size), ("max_in_flight", max_in_flight), ("rate", rate)):
            if value is not None and not 0 < value < float("inf"):
                raise InvalidArgumentError(f"{name} must be above 0, not {value}")
        if not max_wait >= 0:
            raise InvalidArgumentError(f"max_wait must not be below 0, not {max_wait}")
        self.inner = inner
        self.scheme = inner.scheme
        self._max_file_size = max_file_size
        self._turnstile = _Turnstile(max_in_flight, rate, max_wait)
        self._appending: WeakValueDictionary[StoragePath, anyio.Lock] = WeakValueDictionary()

    async def start(self) -> None:
        await self.inner.start()

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        found = await self.inner.capabilities(path)
        if self._max_file_size is None:
            return found
        sizes = [size for size in (found.max_object_size, self._max_file_size) if size is not None]
        return replace(found, max_object_size=min(sizes), native_path=None)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(path)

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(prefix)
        if inner is None:
            return None
        limited = Limits(inner, max_file_size=self._max_file_size)
        limited._turnstile = self._turnstile
        return limited

    async def stat(self, path: StoragePath) -> Stat:
        async with self._turnstile.turn(path):
            return await self.inner.stat(path)

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        entries = self.inner.list(path, recursive=recursive)
        async with closing(entries):
            async with self._turnstile.turn(path):
                first = await anext(entries, None)
            if first is None:
                return
            yield first
            async for entry in entries:
                yield entry

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        async with self._turnstile.turn(path):
            return await self.inner.read(path, start=start, end=end)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        async with self._turnstile.turn(path):
            return await self.inner.write(path, self._bounded(path, body, 0), options)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        async with self._turnstile.turn(path):
            if self._max_file_size is None:
                return await self.inner.append(path, body, options)
            async with self._appending.setdefault(path, anyio.Lock()):
                return await self.inner.append(path, self._bounded(path, body, await self._size(path)), options)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        async with self._turnstile.turn(path):
            await self.inner.delete(path, options)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        async with self._turnstile.turn(dst):
            if self._max_file_size is not None:
                self._check(dst, await self._size(src))
            return await self.inner.copy(src, dst, options)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        async with self._turnstile.turn(src):
            return await self.inner.move(src, dst, options)

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        async with self._turnstile.turn(path):
            await self.inner.make_dir(path, options)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        async with self._turnstile.turn(path):
            await self.inner.remove_dir(path, recursive=recursive)

    async def sweep_leftovers(self, older_than: float) -> int:
        return await self.inner.sweep_leftovers(older_than)

    async def _size(self, path: StoragePath) -> int:
        try:
            return (await self.inner.stat(path)).size
        except PathNotFoundError:
            return 0

    def _bounded(self, path: StoragePath, body: Body, present: int) -> Body:
        if self._max_file_size is None:
            return body
        if isinstance(body, bytes):
            self._check(path, present + len(body))
            return body
        return self._counted(path, body, present)

    async def _counted(self, path: StoragePath, body: AsyncIterable[bytes], size: int) -> AsyncIterator[bytes]:
        async for chunk in body:
            size += len(chunk)
            self._check(path, size)
            yield chunk

    def _check(self, path: StoragePath, size: int) -> None:
        if self._max_file_size is not None and size > self._max_file_size:
            raise LimitExceededError(f"larger than the limit of {self._max_file_size} bytes a file", path=str(path))


class _Turnstile:
    """Lets calls in, at most so many at once and so many a second."""

    def __init__(self, max_in_flight: int | None, rate: float | None, max_wait: float) -> None:
        self._slots = None if max_in_flight is None else anyio.Semaphore(max_in_flight)
        self._max_in_flight = max_in_flight
        self._rate = rate
        self._max_wait = max_wait
        self._next = 0.0

    @asynccontextmanager
    async def turn(self, path: StoragePath) -> AsyncGenerator[None]:
        await self._wait_for_rate(path)
        if self._slots is None:
            yield
            return
        with anyio.move_on_after(self._max_wait) as waiting:
            await self._slots.acquire()
        if waiting.cancelled_caught:
            raise LimitExceededError(
                f"{self._max_in_flight} operations are under way and none ended within {self._max_wait:g} s",
                path=str(path),
                retryable=True,
            )
        try:
            yield
        finally:
            self._slots.release()

    async def _wait_for_rate(self, path: StoragePath) -> None:
        if self._rate is None:
            return
        now = time.monotonic()
        due = max(self._next, now - 1.0)
        wait = due - now
        if wait > self._max_wait:
            raise LimitExceededError(
                f"more than {self._rate:g} operations a second; the next turn is {wait:.1f} s away",
                path=str(path),
                retryable=True,
            )
        self._next = due + 1.0 / self._rate
        if wait > 0:
            await anyio.sleep(wait)
