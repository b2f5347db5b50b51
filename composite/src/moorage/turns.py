"""Who may open or close something: one task at a time, in one event loop."""

from __future__ import annotations

import threading

import anyio

from moorage.errors import InvalidArgumentError


class Turn:
    """A lock that belongs to the event loop in which it is first used, until :meth:`reset`."""

    __slots__ = ("_lock", "_thread")

    def __init__(self) -> None:
        self._lock: anyio.Lock | None = None
        self._thread = 0

    def lock(self) -> anyio.Lock:
        """The lock, for ``async with``.

        Raises:
            InvalidArgumentError: another thread's event loop holds it: waiting for it here would never end.
        """
        if self._lock is None:
            self._lock = anyio.Lock()
            self._thread = threading.get_ident()
        elif self._thread != threading.get_ident() and self._lock.locked():
            raise InvalidArgumentError("opened or closed by two threads' event loops at once; give each its own")
        return self._lock

    def reset(self) -> None:
        """Forget the event loop, so that another one may use what this guards."""
        self._lock = None
