"""A lock for what one client does once, whatever event loop it is used on."""

from __future__ import annotations

import asyncio


class LoopLock:
    """One lock for each event loop in turn; tasks of two loops in two threads never wait for each other."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def here(self) -> asyncio.Lock:
        """The lock of the running loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock
