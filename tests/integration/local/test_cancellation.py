"""Cancelled at any moment, a change happened or did not, and nothing is left of it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from moorage import OperationTimeoutError, Provider, StoragePath
from moorage_local import LocalFilesystem, LocalProvider

pytestmark = pytest.mark.anyio

BOUND = 0.05
"""Seconds within which a cancelled waiter returns."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_waiter_for_a_lock_leaves_at_once_and_holds_up_no_read(root: Path, fs: LocalFilesystem) -> None:
    await fs.write_bytes("/file", b"old")
    lock = os.open(root, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiters = 64
    delays: list[float] = []
    cancelled = 0.0
    try:
        async with anyio.create_task_group() as tasks:
            for _ in range(waiters):
                tasks.start_soon(fs.write_bytes, "/file", b"new")
            await anyio.sleep(0.1)
            for _ in range(50):
                started = time.perf_counter()
                assert await fs.read_bytes("/file") == b"old"
                assert (await fs.provider.stat(StoragePath("/file"))).size == 3
                assert await fs.list_dir("/") != []
                delays.append(time.perf_counter() - started)
            cancelled = time.perf_counter()
            tasks.cancel_scope.cancel()
        took = time.perf_counter() - cancelled
    finally:
        os.close(lock)
    assert took < BOUND * 10  # for all 64, on a machine that does other things
    assert sorted(delays)[len(delays) // 2] < BOUND
    assert await fs.read_bytes("/file") == b"old"
    assert os.listdir(root) == ["file"]


async def test_a_lock_that_stays_taken_times_out(root: Path) -> None:
    lock = os.open(root, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        async with LocalFilesystem(root, lock_timeout=0.05) as fs:
            for call in (fs.write_bytes("/file", b""), fs.delete("/file"), fs.append_bytes("/file", b"x")):
                with pytest.raises(OperationTimeoutError) as caught:
                    await call
                assert caught.value.retryable
    finally:
        os.close(lock)
    assert os.listdir(root) == []


async def body(blocks: int) -> AsyncGenerator[bytes]:
    for _ in range(blocks):
        await anyio.lowlevel.checkpoint()
        yield b"n" * 300_000


SOURCE, TARGET = StoragePath("/source"), StoragePath("/target")
CALLS: dict[str, Callable[[Provider, AsyncIterator[bytes]], Awaitable[object]]] = {
    "write": lambda provider, chunks: provider.write(TARGET, b"n" * 3_000_000),
    "stream": lambda provider, chunks: provider.write(TARGET, chunks),
    "append": lambda provider, chunks: provider.append(TARGET, b"n" * 3_000_000),
    "append_stream": lambda provider, chunks: provider.append(TARGET, chunks),
    "copy": lambda provider, chunks: provider.copy(SOURCE, TARGET),
    "move": lambda provider, chunks: provider.move(SOURCE, TARGET),
}


@pytest.mark.parametrize("operation", sorted(CALLS))
async def test_cancelled_anywhere_nothing_is_left(root: Path, fs: LocalFilesystem, operation: str) -> None:
    provider = fs.provider
    before = None
    for round_ in range(25):
        (root / "target").write_bytes(b"old")
        (root / "source").write_bytes(b"n" * 3_000_000)
        chunks = body(10)
        with anyio.move_on_after(random.uniform(0, 0.006)):
            await CALLS[operation](provider, chunks)
        await chunks.aclose()
        new = b"old" + b"n" * 3_000_000 if "append" in operation else b"n" * 3_000_000
        assert (root / "target").read_bytes() in (b"old", new)
        await eventually(lambda: set(os.listdir(root)) <= {"source", "target"})
        before = before or (handles() if round_ == 3 else None)
    assert before is not None
    limit = before
    await eventually(lambda: handles() <= limit)


async def eventually(holds: Callable[[], bool]) -> None:
    """What was cancelled is cleaned up beside the call; a busy machine takes its time."""
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 (the disk sends no event)
            await anyio.sleep(0.005)


async def test_what_is_cancelled_does_not_happen_later(root: Path, fs: LocalFilesystem) -> None:
    """After a cancelled call has returned, its change is made or never will be."""
    for _ in range(100):
        await fs.write_bytes("/file", b"old")
        with anyio.move_on_after(random.uniform(0, 0.0006)):
            await fs.write_bytes("/file", b"cancelled")
        seen = await fs.read_bytes("/file")
        await fs.write_bytes("/file", b"after", expected_version=(await fs.stat("/file")).version or "")
        await anyio.sleep(0.0005)
        assert seen in (b"old", b"cancelled")
        assert await fs.read_bytes("/file") == b"after"


async def test_a_reader_left_half_way_closes_its_file(root: Path, fs: LocalFilesystem) -> None:
    (root / "large").write_bytes(b"x" * 5_000_000)
    provider = fs.provider
    before = handles()
    for _ in range(5):
        async with await provider.read(StoragePath("/large")) as reader:
            async for chunk in reader:
                assert set(chunk) == {ord("x")}
                break
        reader = await provider.read(StoragePath("/large"))
        await anext(reader)
        del reader
    await anyio.sleep(0.1)
    assert handles() == before


async def test_a_cancelled_chunk_is_served_the_next_time(root: Path, fs: LocalFilesystem) -> None:
    content = os.urandom(6_000_000)
    (root / "large").write_bytes(content)
    async with await fs.provider.read(StoragePath("/large")) as reader:
        served = b""
        while True:
            chunk = None
            with anyio.move_on_after(random.uniform(0, 0.001)):
                chunk = await anext(reader, b"")
            if chunk is not None:
                served += chunk
                if not chunk:
                    break
    assert served == content


def test_two_event_loops_share_a_provider(root: Path) -> None:
    provider = LocalProvider(root)

    async def work(name: str) -> bytes:
        path = StoragePath(f"/{name}")
        for number in range(30):
            await provider.write(path, str(number).encode())
            async with await provider.read(path) as reader:
                assert await reader.read() == str(number).encode()
        return (await provider.read(path)).data or b""

    async def main(name: str) -> bytes:
        await provider.start()
        return await work(name)

    async def both() -> list[bytes]:
        return list(
            await asyncio.gather(
                asyncio.to_thread(lambda: anyio.run(main, "one")),
                asyncio.to_thread(lambda: anyio.run(main, "two", backend="trio")),
                main("three"),
            )
        )

    assert asyncio.run(both()) == [b"29"] * 3
    asyncio.run(provider.aclose())


def test_a_forked_child_has_workers_of_its_own(root: Path) -> None:
    provider = LocalProvider(root)

    async def use(name: str) -> None:
        await provider.start()
        await provider.write(StoragePath(name), b"x")

    anyio.run(use, "/parent")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            anyio.run(use, "/child")
            status = 0
        finally:
            os._exit(status)
    assert exit_code(child, within=30.0) == 0
    assert sorted(path.name for path in root.iterdir()) == ["child", "parent"]
    anyio.run(provider.aclose)


def exit_code(child: int, within: float) -> int:
    end = time.monotonic() + within
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


async def test_a_write_that_waited_is_later_than_what_came_meanwhile(root: Path, fs: LocalFilesystem) -> None:
    """Also within one second, and where the file changed in place."""
    (root / "file").write_bytes(b"old")
    second = 4 * 10**18
    os.utime(root / "file", ns=(second, second + 100_000_000))
    lock = os.open(root, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fs.write_bytes, "/file", b"new")
        await anyio.sleep(0.1)
        assert len(os.listdir(root)) == 2
        os.utime(root / "file", ns=(second, second + 500_000_000))
        os.close(lock)
    assert (root / "file").read_bytes() == b"new"
    assert (root / "file").stat().st_mtime_ns > second + 500_000_000
