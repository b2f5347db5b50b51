"""Cancel an operation at each of its awaits, one after the other, and see what it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

T = TypeVar("T")


class SwallowedCancellationError(AssertionError):
    """The operation was cancelled and then ended in another way than by cancellation."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How an operation that was to be cancelled ended.

    Attributes:
        awaits: how often it was suspended.
        cancelled: it ended by cancellation; otherwise it ended before the cancellation reached it.
        result: what it returned, unless cancelled.
    """

    awaits: int
    cancelled: bool
    result: T | None


class _Stepper(Generic[T]):
    """Runs a coroutine within the current task and counts its suspensions; cancels at the chosen one."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], at: int | None, cancel: Callable[[], object]) -> None:
        self._coroutine = coroutine
        self._at = at
        self._cancel = cancel
        self._cancelled = anyio.get_cancelled_exc_class()
        self.awaits = 0
        self.delivered = False

    def __await__(self) -> Generator[Any, Any, T]:
        resume: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            try:
                yielded = resume()
            except StopIteration as stop:
                result: T = stop.value
                return result
            self.awaits += 1
            if self.awaits == self._at:
                self._cancel()
            try:
                value = yield yielded
            except BaseException as error:
                self._note(error)
                resume = partial(self._coroutine.throw, error)
            else:
                self._note(getattr(value, "error", None))  # trio sends what other loops throw
                resume = partial(self._coroutine.send, value)

    def _note(self, error: BaseException | None) -> None:
        """Remember that the coroutine was told of the cancellation that was asked for here."""
        if self._at is not None and self.awaits >= self._at and isinstance(error, self._cancelled):
            self.delivered = True


def on_asyncio() -> bool:
    """Whether the running event loop is asyncio's."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


async def count_awaits(operation: Callable[[], Coroutine[Any, Any, T]]) -> Outcome[T]:
    """Run the operation to its end and count how often it is suspended."""
    stepper = _Stepper(operation(), None, lambda: None)
    result = await stepper
    return Outcome(stepper.awaits, cancelled=False, result=result)


async def cancel_at(
    number: int, operation: Callable[[], Coroutine[Any, Any, T]], *, native: bool = False
) -> Outcome[T]:
    """Run the operation and cancel it when it is suspended for the ``number``-th time, counted from 1.

    ``native`` cancels the asyncio task, once, as code that knows nothing of anyio does; otherwise an anyio cancel
    scope does it, on asyncio and trio.

    Raises:
        SwallowedCancellationError: the operation was told of the cancellation and returned, or raised something else.
    """
    scope = anyio.CancelScope()
    task = asyncio.current_task() if native else None
    stepper = _Stepper(operation(), number, task.cancel if task else scope.cancel)
    with scope:
        try:
            result = await stepper
        except anyio.get_cancelled_exc_class():
            if task is None or not task.cancelling():
                raise
            task.uncancel()
            return Outcome(stepper.awaits, cancelled=True, result=None)
        except BaseException as error:
            if stepper.delivered:
                raise SwallowedCancellationError(f"cancelled at await {number}, but raised {error!r}") from error
            raise
        if stepper.delivered:
            raise SwallowedCancellationError(f"cancelled at await {number}, but returned {result!r}")
        if task is not None and task.cancelling():
            task.uncancel()
        return Outcome(stepper.awaits, cancelled=False, result=result)
    return Outcome(stepper.awaits, cancelled=True, result=None)


async def cancel_everywhere(
    prepare: Callable[[], Awaitable[object]],
    operation: Callable[[], Coroutine[Any, Any, T]],
    check: Callable[[Outcome[T]], Awaitable[object]],
    *,
    limit: int | None = None,
    native: bool = False,
) -> int:
    """Run the operation once whole, then once per await, cancelled there; prepared before and checked after each.

    ``limit`` bounds the number of runs: awaits are then chosen evenly, the first and the last among them.
    Returns the number of awaits that the whole run had.
    """
    await prepare()
    whole = await count_awaits(operation)
    await check(whole)
    for number in _spread(whole.awaits, limit):
        await prepare()
        await check(await cancel_at(number, operation, native=native))
    return whole.awaits


def _spread(count: int, limit: int | None) -> list[int]:
    if limit is None or count <= limit:
        return list(range(1, count + 1))
    return sorted({1 + round(index * (count - 1) / max(limit - 1, 1)) for index in range(limit)})
