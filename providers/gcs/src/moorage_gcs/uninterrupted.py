"""A step that must not be left half-way: what it made in the store is only known once its answer has come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

import anyio

T = TypeVar("T")

_GRACE: Final = 5.0
"""Seconds that a cancelled caller waits at most for the answer, and then for the clearing up."""


async def finished(step: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[T], Awaitable[object]]) -> T:
    """The result of ``step``. When this task is cancelled meanwhile, it is awaited a little longer and then undone."""
    task = asyncio.create_task(step())
    try:
        await asyncio.wait([task])
    except BaseException:
        with anyio.move_on_after(_GRACE, shield=True):
            await asyncio.wait([task])
        if not task.done():
            task.cancel()
        elif not task.cancelled() and task.exception() is None:
            await cleared(lambda: undo(task.result()))
        raise
    return task.result()


async def cleared(clear: Callable[[], Awaitable[object]]) -> None:
    """Clear up for a bounded time, cancelled or not; a failure of it hides nothing."""
    with anyio.move_on_after(_GRACE, shield=True):
        with suppress(Exception):  # the error that led here is the one to report
            await clear()
