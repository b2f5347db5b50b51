"""Worker threads: one hop an operation, one wake-up of the event loop per burst of results.

The threads belong to the process, start at first use, and never keep the interpreter alive. A forked child starts its
own. A job that nobody waits for any more is dropped if it has not started; if it has, it asks :meth:`Job.commit`
before its point of no return, so that a cancelled change either did not happen or had happened when the
cancelled call returned.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, Generic, Protocol, TypeVar

import anyio

from moorage import MoorageError, StoragePath
from moorage_local.failures import mapped

T = TypeVar("T")

_SETTLE_AT_EXIT: Final = 2.0


class Withdrawn(Exception):  # noqa: N818 - no failure: nobody waits for the result
    """The caller was cancelled before the job's point of no return; whatever was prepared is to be undone."""


class _Sink(Protocol):
    def post(self, job: Job[Any]) -> None: ...


class Job(Generic[T]):
    """One piece of blocking work, on its way to a worker and back."""

    __slots__ = (
        "_call",
        "_committed",
        "_fate",
        "_kept",
        "_path",
        "error",
        "result",
        "settled",
        "sink",
        "wake",
        "withdrawn",
    )

    result: T

    def __init__(self, call: Callable[[Job[T]], T], path: StoragePath, sink: _Sink) -> None:
        self._call: Callable[[Job[T]], T] | None = call
        self._path = path
        self.sink = sink
        self._fate = threading.Lock()
        self._committed = False
        self._kept = False
        self.error: BaseException | None = None
        self.settled = False
        self.withdrawn = False
        self.wake: Callable[[], None] | None = None

    def commit(self) -> None:
        """Pass the point of no return; afterwards a cancelled caller waits for the end. Once past it, it stays so.

        Raises:
            Withdrawn: the caller was cancelled first.
        """
        if not self._committed:
            if not self._fate.acquire(blocking=False):
                raise Withdrawn
            self._committed = True

    def keep(self) -> None:
        """Have it run in any case, also when its caller does not wait for the end."""
        self._kept = True

    def withdraw(self) -> bool:
        """Give the job up; False when it passed its point of no return and must be waited for."""
        if self._kept:
            return True
        if self._fate.acquire(blocking=False):
            self.withdrawn = True
        return self.withdrawn

    def run(self) -> None:
        call, self._call = self._call, None
        if call is None or self.withdrawn:
            return
        try:
            self.result = call(self)
        except (OSError, MoorageError) as error:
            self.error = _alone(mapped(error, self._path))
        except BaseException as error:  # raised where the result is awaited
            self.error = error
        del call
        self.sink.post(self)

    def settle(self) -> None:
        """In the event loop's thread: the result is there."""
        self.settled = True
        wake, self.wake = self.wake, None
        if wake is not None:
            wake()

    def outcome(self) -> T:
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self.result


def _alone(error: MoorageError) -> MoorageError:
    """Without the failure that it replaced, which may name host paths."""
    if error.__suppress_context__ or error.__cause__ is not None:
        error.__context__ = None
    return error


class _AsyncioSink:
    """Results for one asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._done: deque[Job[Any]] = deque()
        self._woken = False

    def post(self, job: Job[Any]) -> None:
        self._done.append(job)
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop is closed: nobody waits
                self._done.clear()

    def _drain(self) -> None:
        self._woken = False
        while self._done:
            self._done.popleft().settle()


class _TrioSink:
    """Results for one trio run."""

    def __init__(self, token: Any) -> None:
        self._token = token

    def post(self, job: Job[Any]) -> None:
        import trio

        try:
            self._token.run_sync_soon(job.settle)
        except trio.RunFinishedError:
            return


class Workers:
    """A lane of worker threads. Quick work and long work have a lane each, so that neither waits for the other."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._limit = threads
        self._sinks = threading.local()
        self.reset()

    def reset(self) -> None:
        """Start anew, as a forked child must: its parent's threads did not come along."""
        self._queue: SimpleQueue[Job[Any]] = SimpleQueue()
        self._threads = 0
        self._running: set[int] = set()
        self._starting = threading.Lock()

    def submit(self, call: Callable[[Job[T]], T], path: StoragePath) -> Job[T]:
        job: Job[T] = Job(call, path, self._sink())
        self._queue.put(job)
        if self._threads < self._limit:
            self._start_thread()
        return job

    async def run(self, call: Callable[[Job[T]], T], path: StoragePath) -> T:
        """Run ``call`` on a worker; ``OSError`` comes back as Moorage's error at ``path``."""
        return await wait(self.submit(call, path))

    def _sink(self) -> _Sink:
        loop = asyncio._get_running_loop()  # documented for framework authors
        if loop is None:
            return _trio_sink()
        sink: _AsyncioSink | None = getattr(self._sinks, "asyncio", None)
        if sink is None or sink.loop is not loop:
            sink = self._sinks.asyncio = _AsyncioSink(loop)
        return sink

    def _start_thread(self) -> None:
        with self._starting:
            if self._threads >= self._limit:
                return
            self._threads += 1
            name = f"{self._name}-{self._threads}"
        threading.Thread(target=self._serve, args=(self._queue, self._running), name=name, daemon=True).start()

    @staticmethod
    def _serve(queue: SimpleQueue[Job[Any]], running: set[int]) -> None:
        me = threading.get_ident()
        while True:
            job = queue.get()
            running.add(me)
            job.run()
            del job
            running.discard(me)

    def settle(self, limit: float) -> None:
        """Wait until the lane is idle, but no longer than ``limit`` seconds."""
        end = time.monotonic() + limit
        while (self._running or not self._queue.empty()) and time.monotonic() < end:
            time.sleep(0.001)


def _trio_sink() -> _TrioSink:
    import trio

    return _TrioSink(trio.lowlevel.current_trio_token())


async def wait(job: Job[T]) -> T:
    """The result of a job. Cancelled: the job is withdrawn at once, or seen through when it cannot be any more."""
    sink = job.sink
    if not isinstance(sink, _AsyncioSink):
        await _wait_trio(job)
        return job.outcome()
    try:
        await (asyncio.sleep(0) if job.settled else _wake(job, sink.loop))
    except asyncio.CancelledError:
        if not job.settled and not job.withdraw():
            await _see_through(job, sink.loop)
        raise
    return job.outcome()


def _wake(job: Job[Any], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
    """A future that ends when the job settles."""
    future: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    job.wake = wake
    return future


async def _see_through(job: Job[Any], loop: asyncio.AbstractEventLoop) -> None:
    """Wait for a change that cannot be taken back; the caller raises the cancellation afterwards."""
    with anyio.CancelScope(shield=True):
        while not job.settled:
            try:
                await _wake(job, loop)
            except asyncio.CancelledError:
                continue


async def _wait_trio(job: Job[Any]) -> None:
    import trio

    if job.settled:
        await trio.lowlevel.checkpoint()
        return
    task = trio.lowlevel.current_task()
    job.wake = lambda: trio.lowlevel.reschedule(task)

    def abort(_: Any) -> trio.lowlevel.Abort:
        if job.withdraw():
            job.wake = None
            return trio.lowlevel.Abort.SUCCEEDED
        return trio.lowlevel.Abort.FAILED

    await trio.lowlevel.wait_task_rescheduled(abort)


QUICK: Final = Workers("moorage-local", 4)
"""Work of one file."""

LONG: Final = Workers("moorage-local-long", 4)
"""Steps of listings, removals, copies and streams."""


class _NoSink:
    def post(self, job: Job[Any]) -> None:
        """Nobody waits."""


def _decided() -> Job[Any]:
    job: Job[Any] = Job(lambda _: None, StoragePath("/"), _NoSink())
    job.commit()
    return job


DECIDED: Final = _decided()
"""What a change is given that no worker makes and no cancellation reaches: it is past its point of no return."""


def _at_exit() -> None:
    end = time.monotonic() + _SETTLE_AT_EXIT
    for lane in (QUICK, LONG):
        lane.settle(max(0.0, end - time.monotonic()))


def _in_child() -> None:
    for lane in (QUICK, LONG):
        lane.reset()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
