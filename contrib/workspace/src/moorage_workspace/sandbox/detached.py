"""Tasks that outlive the call that started them, and end with the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any, Final

Loop = asyncio.AbstractEventLoop | None
"""``None`` is one that ends all its tasks before it is closed, without fail."""
_tasks: Final[set[asyncio.Task[Any]]] = set()


def current_loop() -> Loop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def closed(loop: Loop) -> bool:
    return loop is not None and loop.is_closed()


def start_detached(function: Callable[[], Awaitable[None]]) -> None:
    """Run it in this event loop. It gets a copy of the caller's context, may raise nothing, and is cancelled when the
    loop ends.
    """
    loop = current_loop()
    if loop is None:
        import trio

        trio.lowlevel.spawn_system_task(function, context=contextvars.copy_context())
        return

    async def run() -> None:
        await function()

    task = loop.create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
