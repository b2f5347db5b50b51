"""Requests that are under way at the same time: a fixed few, or a bounded number of many."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import anyio

A = TypeVar("A")
B = TypeVar("B")


async def both(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Both results; when both fail, the first's error."""
    found = await every(
        (cast("Callable[[], Awaitable[object]]", first), cast("Callable[[], Awaitable[object]]", second))
    )
    return cast("tuple[A, B]", found)


async def unless(
    first: Callable[[], Awaitable[A | None]], second: Callable[[], Awaitable[B]], patience: float
) -> tuple[A | None, B | None]:
    """The first result and, unless that is something, the second one.

    The second call starts once the first came to nothing, or did not end within ``patience`` seconds; it is cancelled
    when it turns out not to be needed.
    """
    found: A | None = None
    result: list[B] = []
    errors: list[Exception] = []
    nothing = anyio.Event()

    async def run_second() -> None:
        with anyio.move_on_after(patience):
            await nothing.wait()
        try:
            result.append(await second())
        except Exception as error:
            errors.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(run_second)
        try:
            found = await first()
        except Exception as error:
            errors.append(error)
        if errors or found is not None:
            group.cancel_scope.cancel()
        else:
            nothing.set()
    if found is not None:
        return found, None
    if errors:
        raise errors[0]
    return None, result[0]


async def every(calls: Iterable[Callable[[], Awaitable[A]]]) -> tuple[A, ...]:
    """All results in order. All calls are waited for; then the error of the first that failed is raised as it is."""
    waiting = tuple(calls)
    if len(waiting) == 1:
        return (await waiting[0](),)
    results: dict[int, A] = {}
    errors: dict[int, Exception] = {}

    async def run(index: int, call: Callable[[], Awaitable[A]]) -> None:
        try:
            results[index] = await call()
        except Exception as error:
            errors[index] = error

    async with anyio.create_task_group() as group:
        for index, call in enumerate(waiting):
            group.start_soon(run, index, call)
    if errors:
        raise errors[min(errors)]
    return tuple(results[index] for index in range(len(waiting)))


class KeyLocks:
    """One lock for each key that is in use within this process; nothing stays of a key that is not."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[anyio.Lock, int]] = {}

    @property
    def in_use(self) -> int:
        """How many keys are held or waited for."""
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, *keys: str) -> AsyncGenerator[None, None]:
        """Hold the locks of all keys, taken in one order whoever asks."""
        wanted = sorted(set(keys))
        held: list[str] = []
        for key in wanted:
            lock, users = self._locks.get(key, (anyio.Lock(), 0))
            self._locks[key] = (lock, users + 1)
        try:
            for key in wanted:
                await self._locks[key][0].acquire()
                held.append(key)
            yield
        finally:
            for key in reversed(wanted):
                lock, users = self._locks.pop(key)
                if key in held:
                    lock.release()
                if users > 1:
                    self._locks[key] = (lock, users - 1)
