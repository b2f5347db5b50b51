"""The start of a supervisor in a worker thread, of which nothing stays when nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio

from moorage_workspace.sandbox.supervisors import Ends, Order, discard, start_supervisor


async def start_in_thread(order: Callable[[], Order], *, piped: bool) -> Ends:
    """As :func:`start_supervisor`, with an order that is made in the thread.

    An event loop's own cancelling leaves a worker thread to itself; what that starts is then ended and closed.
    """
    start = _Start()
    try:
        await anyio.to_thread.run_sync(lambda: start.hand_over(start_supervisor(order(), piped=piped)))
    except BaseException:
        start.abandon()
        raise
    return start.ends()


class _Start:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: Ends | None = None
        self._abandoned = False

    def hand_over(self, ends: Ends) -> None:
        with self._lock:
            self._ends = ends
            abandoned = self._abandoned
        if abandoned:
            discard(ends)

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            ends = self._ends
        if ends is not None:
            threading.Thread(target=discard, args=(ends,)).start()

    def ends(self) -> Ends:
        assert self._ends is not None  # noqa: S101 (handed over before the thread's call returned)
        return self._ends
