"""Tasks that outlive the call that started them, and end with the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any, Final

_tasks: Final[set[asyncio.Task[Any]]] = set()


def start_detached(function: Callable[[], Awaitable[None]]) -> None:
    """Run it in this event loop. It gets a copy of the caller's context, may raise nothing, and is cancelled when the
    loop ends.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        trio.lowlevel.spawn_system_task(function, context=contextvars.copy_context())
        return

    async def run() -> None:
        await function()

    task = loop.create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
