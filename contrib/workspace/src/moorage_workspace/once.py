"""Making something at most once, and one of it for each request."""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Generic, TypeVar

import anyio

from moorage import RequestContext

T = TypeVar("T")


class Once(Generic[T]):
    """A value that one task makes while the others wait. A failure is not kept: whoever waits next tries again."""

    def __init__(self) -> None:
        self._made: list[T] = []
        self._lock: anyio.Lock | None = None

    async def get(self, make: Callable[[], Awaitable[T]]) -> T:
        if not self._made:
            self._lock = self._lock or anyio.Lock()
            async with self._lock:
                if not self._made:
                    self._made.append(await make())
        return self._made[0]

    @property
    def made(self) -> T | None:
        """The value, once it is there."""
        return self._made[0] if self._made else None

    def reset(self) -> None:
        """Forget the value, and the event loop in which it was made."""
        self._made.clear()
        self._lock = None


class ByContext(Generic[T]):
    """One value for each context object, forgotten when the context is. Values must not hold their context.

    Args:
        make: called with the context at its first use.
        forgotten: is given each value whose context is gone. It may be called anywhere, so it must only take note.
    """

    def __init__(self, make: Callable[[RequestContext], T], forgotten: Callable[[T], None] | None = None) -> None:
        self._make = make
        self._forgotten = forgotten
        self._entries: dict[int, tuple[weakref.ref[RequestContext], T]] = {}

    def get(self, context: RequestContext) -> T:
        key = id(context)  # a context is a mapping, so it has no hash
        entry = self._entries.get(key)
        if entry is None or entry[0]() is not context:
            entry = (weakref.ref(context, partial(self._drop, key)), self._make(context))
            self._entries[key] = entry
        return entry[1]

    def clear(self) -> None:
        self._entries.clear()

    def __iter__(self) -> Iterator[T]:
        return iter([value for _, value in self._entries.values()])

    def _drop(self, key: int, reference: weakref.ref[RequestContext]) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry[0] is reference:
            del self._entries[key]
            if self._forgotten is not None:
                self._forgotten(entry[1])
