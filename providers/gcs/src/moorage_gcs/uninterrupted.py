"""A step that must not be left half-way: what it made in the store is only known once its answer has come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

import anyio

T = TypeVar("T")

_UNDOING: Final[set[asyncio.Task[None]]] = set()
_GRACE: Final = 5.0
"""Seconds that a cancelled caller waits at most for the answer, and then for the clearing up."""


async def finished(step: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[T], Awaitable[object]]) -> T:
    """The result of ``step``. When this task is cancelled meanwhile, it is awaited a little longer and then undone.

    A caller that is cancelled once more goes at once; the undoing goes on without it.
    """
    task = asyncio.create_task(step())
    try:
        await asyncio.wait([task])
    except BaseException:
        undoing = asyncio.create_task(_undone(task, undo))
        _UNDOING.add(undoing)
        undoing.add_done_callback(_UNDOING.discard)
        with anyio.CancelScope(shield=True):
            await asyncio.wait([undoing])
        raise
    return task.result()


async def _undone(task: asyncio.Task[T], undo: Callable[[T], Awaitable[object]]) -> None:
    await asyncio.wait([task], timeout=_GRACE)
    if not task.done():
        task.cancel()
    elif not task.cancelled() and task.exception() is None:
        await cleared(lambda: undo(task.result()))


async def cleared(clear: Callable[[], Awaitable[object]]) -> None:
    """Clear up for a bounded time, cancelled or not; a failure of it hides nothing."""
    with anyio.move_on_after(_GRACE, shield=True):
        with suppress(Exception):  # the error that led here is the one to report
            await clear()
