"""The one synchronous façade: any filesystem, used from ordinary code.

::

    with BlockingFilesystem(tree) as call:
        call(tree.write_text, "/notes/plan.md", "one")
        for entry in call.iterate(tree.scan_dir("/notes")):
            print(entry.name)
        with call.using(tree.open_read("/notes/plan.md")) as reader:
            data = call(reader.read)

There are no twin methods: what is called is the asynchronous method itself, with its own signature and types.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Generic, ParamSpec, Self, TypeVar

import anyio
from anyio.from_thread import BlockingPortal
from anyio.lowlevel import current_token

from moorage.errors import ClosedError, InvalidArgumentError
from moorage.streams import closing

if TYPE_CHECKING:
    from moorage.filesystem import Filesystem

P = ParamSpec("P")
T = TypeVar("T")


class BlockingFilesystem:
    """Runs a filesystem in an event loop of its own, on a thread of its own, for as long as the ``with`` block lasts.

    Entering opens the filesystem, leaving closes it. Any thread may call, many at once. Ctrl-C in a call cancels the
    operation, waits until it has let go, and raises ``KeyboardInterrupt``.

    A fork does not copy the thread. The child needs a filesystem and a façade of its own; leaving the parent's block
    there closes nothing.

    Raises (every call):
        InvalidArgumentError: called from code that itself runs in an event loop, which it would block; there, await.
        ClosedError: called outside the ``with`` block, or in a process that was forked within it.
    """

    def __init__(self, filesystem: Filesystem) -> None:
        self.filesystem = filesystem
        self._portal: BlockingPortal | None = None
        self._process = os.getpid()
        self._exit = ExitStack()
        self._iterators: set[AsyncIterator[object]] = set()

    def __enter__(self) -> Self:
        _refuse_event_loop()
        if self._portal is not None:
            self._refuse_other_process()
            raise InvalidArgumentError("this BlockingFilesystem is open already")
        with ExitStack() as stack:
            self._portal, self._process = stack.enter_context(_PortalThread()), os.getpid()
            stack.callback(self._forget_portal)
            self(self.filesystem.init)
            stack.callback(self, self.filesystem.aclose)
            stack.callback(self._close_iterators)
            self._exit = stack.pop_all()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process == os.getpid():
            self._exit.__exit__(exc_type, exc, traceback)

    def __call__(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call an asynchronous function and wait for its result."""
        portal = self._open_portal()
        finished = threading.Event()

        async def run() -> T:
            try:
                return await function(*args, **kwargs)
            finally:
                finished.set()

        future = portal.start_task_soon(run)
        try:
            return future.result()
        except CancelledError:
            raise ClosedError("closed while the operation was under way") from None
        except BaseException:
            if future.cancel():
                while self._portal is not None and not finished.wait(0.1):
                    pass  # the task is letting go; a portal that closes may never have started it
            raise

    def iterate(self, iterator: AsyncIterator[T]) -> Iterator[T]:
        """The items of an asynchronous iterator, fetched one by one; closed also when the loop is left early."""
        self._open_portal()
        return self._items(iterator)

    def using(self, context: AbstractAsyncContextManager[T]) -> AbstractContextManager[T]:
        """An asynchronous context manager, for ``with``."""
        return _OneProcess(self._open_portal().wrap_async_context_manager(context), self._open_portal)

    def _items(self, iterator: AsyncIterator[T]) -> Iterator[T]:
        async def step() -> tuple[T, ...]:
            try:
                return (await anext(iterator),)
            except StopAsyncIteration:
                return ()

        self._iterators.add(iterator)
        try:
            while fetched := self(step):
                yield fetched[0]
        finally:
            self._iterators.discard(iterator)
            if self._portal is not None and self._process == os.getpid() and not _in_event_loop():
                self(_aclose, iterator)

    def _open_portal(self) -> BlockingPortal:
        _refuse_event_loop()
        if self._portal is None:
            raise ClosedError("not open: use it as `with BlockingFilesystem(filesystem) as call:`")
        self._refuse_other_process()
        return self._portal

    def _refuse_other_process(self) -> None:
        if self._process != os.getpid():
            raise ClosedError("opened before a fork: make a filesystem and a BlockingFilesystem in this process")

    def _forget_portal(self) -> None:
        self._portal = None

    def _close_iterators(self) -> None:
        for iterator in tuple(self._iterators):
            self(_aclose, iterator)


class _PortalThread:
    """A thread with an event loop, and the portal into it. Forgetting one does nothing: a forked child may."""

    def __enter__(self) -> BlockingPortal:
        started: Future[BlockingPortal] = Future()
        self._thread = threading.Thread(target=_serve, args=(started,), daemon=True, name="moorage")
        self._thread.start()
        self._portal = started.result()
        return self._portal

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._portal.call(self._portal.stop, exc is not None)
        self._thread.join()


def _serve(started: Future[BlockingPortal]) -> None:
    async def until_stopped() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    try:
        anyio.run(until_stopped)
    except BaseException as error:
        if not started.done():
            started.set_exception(error)


class _OneProcess(AbstractContextManager[T], Generic[T]):
    """A context manager that refuses to be entered after a fork, and that a forked child leaves without a trace."""

    def __init__(self, context: AbstractContextManager[T], check: Callable[[], object]) -> None:
        self._context = context
        self._check = check
        self._process = os.getpid()

    def __enter__(self) -> T:
        self._check()
        return self._context.__enter__()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._context.__exit__(exc_type, exc, traceback) if self._process == os.getpid() else None


async def _aclose(iterator: AsyncIterator[object]) -> None:
    async with closing(iterator):
        pass


def _refuse_event_loop() -> None:
    if _in_event_loop():
        raise InvalidArgumentError("called from inside an event loop, which it would block; await the method instead")


def _in_event_loop() -> bool:
    try:
        current_token()
    except RuntimeError:
        return False
    return True
