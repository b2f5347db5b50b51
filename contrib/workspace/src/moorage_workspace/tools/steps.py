"""Work in a worker thread, of which the event loop gets the results in order."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final

import anyio

_log: Final = logging.getLogger("moorage.workspace")

Tell = Callable[[], object]
Work = Callable[[], Tell | None]
"""Done in a thread; what it returns is called in the event loop."""


class Steps:
    """Takes work at any time, and does it one piece after the other while :meth:`run` runs.

    Where the event loop ends before the work is done, the rest is done at once, in the event loop.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._waiting = deque[tuple[Work, int]]()
        self._done = deque[tuple[Tell | None, int]]()
        self._working = threading.Lock()
        self._news = anyio.Event()
        self._room = anyio.Event()
        self._closed = False
        self._late = False

    def add(self, work: Work, size: int = 0) -> None:
        self._waiting.append((work, size))
        self._size += size
        self._news.set()
        if self._late:
            self._finish()

    def close(self) -> None:
        """Nothing more is added, so that :meth:`run` comes to an end."""
        self._closed = True
        self._news.set()

    @property
    def room(self) -> Awaitable[object] | None:
        """Until what waits is no more than the limit; ``None`` where that is so."""
        if self._size <= self._limit or self._late:
            return None
        if self._room.is_set():
            self._room = anyio.Event()
        return _Set(self._room)

    async def run(self) -> None:
        try:
            while self._waiting or not self._closed:
                if self._waiting:
                    await anyio.to_thread.run_sync(self._work)
                    self._tell()
                else:
                    self._news = anyio.Event()
                    await self._news.wait()
        finally:
            self._late = True
            self._finish()

    def _finish(self) -> None:
        while self._waiting:
            self._work()
        with self._working:
            pass  # a thread may still be at the last one, when the event loop has cancelled the wait for it
        self._tell()

    def _work(self) -> None:
        with self._working:
            if self._waiting:
                work, size = self._waiting.popleft()
                try:
                    self._done.append((work(), size))
                except Exception:
                    _log.exception("output of a background process could not be passed on")
                    self._done.append((None, size))

    def _tell(self) -> None:
        while self._done:
            tell, size = self._done.popleft()
            self._size -= size
            try:
                if tell is not None:
                    tell()
            except Exception:
                _log.exception("a function of background_processes failed")
        if self._size <= self._limit:
            self._room.set()


class _Set:
    """Awaits an event, and unlike a coroutine need not be awaited."""

    def __init__(self, event: anyio.Event) -> None:
        self._event = event

    def __await__(self) -> Generator[Any, Any, None]:
        return self._event.wait().__await__()
