"""What must not be cut off half-way: cancellation is kept until it is done, and then delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """What came of it, and the cancellation that came meanwhile and is still to be raised."""

    task: asyncio.Task[T]
    cancelled: asyncio.CancelledError | None

    def result(self) -> T:
        """What it returned or raised."""
        return self.task.result()


async def finish(call: Callable[[], Awaitable[T]]) -> Finished[T]:
    """Run to the end, whether the caller is cancelled by a scope of anyio's or by its task."""
    task = asyncio.ensure_future(_run(call))
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
    return Finished(task, cancelled)


async def _run(call: Callable[[], Awaitable[T]]) -> T:
    return await call()
