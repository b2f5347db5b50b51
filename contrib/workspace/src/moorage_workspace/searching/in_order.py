"""Work on many things, a bounded number at once, and the results in the order of the things."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")
R = TypeVar("R")


async def in_order(
    things: AsyncIterator[T], work: Callable[[T], Awaitable[R]], use: Callable[[R], bool], *, width: int
) -> None:
    """Call ``use`` with each result, until it returns ``False``; what is under way then is cancelled.

    Raises:
        Exception: what ``things`` or ``work`` raised, as it is.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        pending: deque[_Slot[T, R]] = deque()
        try:
            async for thing in things:
                if len(pending) == width and not use(await pending.popleft().result()):
                    tasks.cancel_scope.cancel()
                    return
                pending.append(slot := _Slot[T, R]())
                tasks.start_soon(slot.run, work, thing)
            while pending and use(await pending.popleft().result()):
                pass
        except Exception as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


class _Slot(Generic[T, R]):
    def __init__(self) -> None:
        self._done = anyio.Event()
        self._results: list[R] = []
        self._error: Exception | None = None

    async def run(self, work: Callable[[T], Awaitable[R]], thing: T) -> None:
        try:
            self._results.append(await work(thing))
        except Exception as error:
            self._error = error
        self._done.set()

    async def result(self) -> R:
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]
