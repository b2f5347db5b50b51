"""A large download over several connections: its beginning from the open response, the rest in parts fetched ahead."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Self

import anyio

from moorage import StorageError
from moorage_gcs import sdk

Fetch = Callable[[int, int], Coroutine[Any, Any, bytes]]
"""Gets the half-open range of one generation, whole."""


class ParallelDownload:
    """The chunks in order. What is fetched ahead is bounded: ``ahead`` parts of ``part`` bytes."""

    def __init__(
        self,
        first: AsyncIterator[bytes],
        close_first: Callable[[], Awaitable[None]],
        fetch: Fetch,
        span: tuple[int, int],
        *,
        part: int,
        ahead: int,
        expected: str | None,
    ) -> None:
        self._first = first
        self._close_first = close_first
        self._fetch = fetch
        self._next, self._end = span[0] + part, span[1]
        self._left_of_first = part
        self._part = part
        self._ahead = ahead
        self._expected = expected
        self._crc32c = 0
        self._tasks: deque[asyncio.Task[bytes]] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._fetch_ahead()
        if self._left_of_first:
            chunk = (await anext(self._first))[: self._left_of_first]
            self._left_of_first -= len(chunk)
            if not self._left_of_first:
                await self._close_first()
        elif self._tasks:
            chunk = await asyncio.shield(self._tasks[0])
            self._tasks.popleft()
        else:
            if self._expected is not None and sdk.encoded_crc32c(self._crc32c) != self._expected:
                raise StorageError("the bytes are not those that were stored: their checksum differs")
            raise StopAsyncIteration
        if self._expected is not None:
            self._crc32c = sdk.crc32c(chunk, self._crc32c)
        return chunk

    def _fetch_ahead(self) -> None:
        while len(self._tasks) < self._ahead and self._next < self._end:
            start, end = self._next, min(self._next + self._part, self._end)
            self._tasks.append(asyncio.create_task(self._fetch(start, end)))
            self._next = end

    async def aclose(self) -> None:
        """Give up what is under way."""
        tasks, self._next = list(self._tasks), self._end
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await self._close_first()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)
