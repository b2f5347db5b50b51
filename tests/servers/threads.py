"""An event loop of its own in a thread, so that a server answers whatever loop a test runs under, or blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers.processes import ServerError


@contextmanager
def in_thread(name: str, serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> Iterator[None]:
    """Run ``serve`` in a thread; the event that it gets tells it to end."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=_run, args=(loop, serve, stop), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
    if thread.is_alive():
        raise ServerError(f"the thread of {name} does not end")


def _run(
    loop: asyncio.AbstractEventLoop, serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]], stop: asyncio.Event
) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(serve(stop))
