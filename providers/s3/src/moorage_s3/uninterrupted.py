"""What must not be cut off half-way: cancellation is kept until it is done, and then delivered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import anyio

T = TypeVar("T")

PATIENCE: Final = 30.0
"""Seconds that a cancelled caller waits at most."""


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """What came of it, and the cancellation that came meanwhile and is still to be raised."""

    task: asyncio.Task[T]
    cancelled: asyncio.CancelledError | None

    def result(self) -> T:
        """What it returned or raised."""
        return self.task.result()


async def finish(call: Callable[[], Awaitable[T]]) -> Finished[T]:
    """Run to the end, whether the caller is cancelled by a scope of anyio's or by its task.

    A caller that is cancelled waits for a limited time only; what is still not done then is cancelled, too.
    """
    task = asyncio.ensure_future(_run(call))
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError as error:
        return Finished(task, await _outlast(task, error))
    return Finished(task, None)


async def _outlast(task: asyncio.Task[T], cancelled: asyncio.CancelledError) -> asyncio.CancelledError:
    """Wait in spite of the cancellation; the latest one."""
    clock = asyncio.get_running_loop().time
    until = clock() + PATIENCE
    with anyio.CancelScope(shield=True):
        while not task.done() and (left := until - clock()) > 0:
            try:
                await asyncio.wait({task}, timeout=left)
            except asyncio.CancelledError as error:
                cancelled = error
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    return cancelled


async def _run(call: Callable[[], Awaitable[T]]) -> T:
    return await call()
