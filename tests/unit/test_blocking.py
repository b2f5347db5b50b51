"""The synchronous façade: the asynchronous methods themselves, from ordinary code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from moorage import (
    BlockingFilesystem,
    ClosedError,
    CompositeFilesystem,
    InvalidArgumentError,
    MemoryFilesystem,
    PathNotFoundError,
    ProviderStatus,
    StaleFileError,
)


def test_methods_are_called_with_their_own_arguments() -> None:
    fs = MemoryFilesystem()
    with BlockingFilesystem(fs) as call:
        stat = call(fs.write_text, "/a/b", "one", media_type="text/plain")
        assert stat.media_type == "text/plain"
        assert call(fs.read_text, "/a/b") == "one"
        with pytest.raises(StaleFileError):
            call(fs.write_text, "/a/b", "two", expected_version="other")


def test_the_block_opens_and_closes_the_filesystem() -> None:
    fs = MemoryFilesystem()
    blocking = BlockingFilesystem(fs)
    for _ in range(2):
        with blocking:
            assert fs.info().status is ProviderStatus.READY
        assert fs.info().status is ProviderStatus.DESTROYED


def test_iterators_and_context_managers() -> None:
    fs = MemoryFilesystem()
    with BlockingFilesystem(fs) as call:
        for name in "abc":
            call(fs.write_text, f"/{name}", name)
        assert sorted(entry.name for entry in call.iterate(fs.scan_dir("/"))) == ["a", "b", "c"]
        with call.using(fs.open_read("/a")) as reader:
            assert call(reader.read) == b"a"
        with pytest.raises(PathNotFoundError):
            list(call.iterate(fs.scan_dir("/missing")))


def test_a_request_tree_can_be_used() -> None:
    tree = CompositeFilesystem({"/me": lambda context: MemoryFilesystem(display_name=str(context["tenant"]))})
    with BlockingFilesystem(tree) as call, call.using(tree.resolve({"tenant": "acme"})) as fs:
        call(fs.write_text, "/me/x", "one")
        assert call(fs.read_text, "/me/x") == "one"


class Counted:
    """An iterator that notes when it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def items(self) -> AsyncIterator[int]:
        try:
            for number in range(1_000):
                await anyio.lowlevel.checkpoint()
                yield number
        finally:
            self.closed += 1


def test_an_iterator_that_is_left_early_is_closed() -> None:
    counted = Counted()
    with BlockingFilesystem(MemoryFilesystem()) as call:
        for number in call.iterate(counted.items()):
            if number == 3:
                break
        assert counted.closed == 1


def test_an_iterator_that_is_still_held_is_closed_with_the_block() -> None:
    counted = Counted()
    with BlockingFilesystem(MemoryFilesystem()) as call:
        held = call.iterate(counted.items())
        assert next(held) == 0
    assert counted.closed == 1
    with pytest.raises(ClosedError):
        next(held)


def test_many_threads_may_call_at_once() -> None:
    fs = MemoryFilesystem()
    with BlockingFilesystem(fs) as call, ThreadPoolExecutor(8) as threads:
        call(fs.write_text, "/log", "")
        list(threads.map(lambda number: call(fs.append_text, "/log", f"{number}\n"), range(200)))
        assert sorted(map(int, call(fs.read_text, "/log").split())) == list(range(200))


def test_outside_the_block_it_says_so() -> None:
    fs = MemoryFilesystem()
    call = BlockingFilesystem(fs)
    with pytest.raises(ClosedError, match="not open: use it as"):
        call(fs.read_text, "/a")
    with call:
        pass
    with pytest.raises(ClosedError):
        call(fs.read_text, "/a")
    with pytest.raises(ClosedError):
        call.using(fs.open_read("/a"))


def test_it_cannot_be_entered_twice() -> None:
    call = BlockingFilesystem(MemoryFilesystem())
    with call, pytest.raises(InvalidArgumentError, match="open already"):
        call.__enter__()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_inside_an_event_loop_it_refuses_instead_of_blocking_it() -> None:
    with pytest.raises(InvalidArgumentError, match="inside an event loop"), BlockingFilesystem(MemoryFilesystem()):
        pass


def test_inside_its_own_event_loop_it_refuses_instead_of_waiting_for_itself() -> None:
    fs = MemoryFilesystem()
    with BlockingFilesystem(fs) as call:

        async def inside() -> str:
            return call(fs.read_text, "/a")

        with pytest.raises(InvalidArgumentError, match="inside an event loop"):
            call(inside)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_cancels_the_call_and_waits_until_it_has_let_go() -> None:
    ended: list[str] = []

    async def endless() -> None:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
            ended.append("let go")

    fs = MemoryFilesystem()
    with BlockingFilesystem(fs) as call:
        with pytest.raises(KeyboardInterrupt):
            call(endless)
        assert ended == ["let go"]
        call(fs.write_text, "/a", "still usable")


def test_an_error_in_the_block_closes_too() -> None:
    fs = MemoryFilesystem()
    with pytest.raises(ZeroDivisionError), BlockingFilesystem(fs):
        raise ZeroDivisionError
    assert fs.info().status is ProviderStatus.DESTROYED


FORKED = """
import os, sys
from moorage import BlockingFilesystem, ClosedError, MemoryFilesystem

def refused(attempt):
    try:
        attempt()
    except ClosedError as error:
        return "fork" in str(error)

fs = MemoryFilesystem()
with BlockingFilesystem(fs) as call:
    call(fs.write_text, "/a", "one")
    call(fs.write_text, "/b", "two")
    names = call.iterate(fs.scan_dir("/"))
    next(names)
    waiting = call.using(fs.open_read("/a"))
    with call.using(fs.open_read("/a")) as reader:
        child = os.fork()
        if child == 0:
            attempts = (
                lambda: call(fs.read_text, "/a"),
                lambda: call(reader.read),
                lambda: next(names),
                lambda: call.iterate(fs.scan_dir("/")),
                lambda: call.using(fs.open_read("/a")),
                lambda: waiting.__enter__(),
                lambda: call.__enter__(),
            )
            every = [refused(attempt) for attempt in attempts]
            del names
        else:
            assert os.waitpid(child, 0) == (child, 0)
            assert call(reader.read) == b"one"
if child == 0:
    own = MemoryFilesystem()
    with BlockingFilesystem(own) as call:
        call(own.write_text, "/a", "one")
    sys.exit(0 if every == [True] * len(attempts) else 1)
"""


def test_a_forked_child_is_refused_instead_of_hanging() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
