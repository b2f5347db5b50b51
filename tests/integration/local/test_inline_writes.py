"""In memory, a small write needs no worker; what is unusual goes to one, and nothing waits in the event loop."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.integration.local.memory import directory_in_memory

from moorage import NoSpaceError, PathIsDirectoryError, PathNotFoundError, StaleFileError, Stat
from moorage_local import LocalFilesystem, sources
from moorage_local.handles import Handle
from moorage_local.inline import Inline
from moorage_local.kernel import OPEN_DIR
from moorage_local.locks import DirectoryLock
from moorage_local.temporaries import Sweeper
from moorage_local.workers import Workers

pytestmark = pytest.mark.anyio

PATIENCE = 10.0
SMALL = 1 << 16


@pytest.fixture
def root() -> Iterator[Path]:
    with directory_in_memory() as directory:
        yield directory


@pytest.fixture
async def fs(root: Path) -> AsyncIterator[LocalFilesystem]:
    """Open, with a file in it."""
    async with LocalFilesystem(root) as fs:
        await fs.write_bytes("/file", b"old")
        yield fs


@pytest.fixture
def jobs(fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of what workers were given."""
    given: list[str] = []
    submit = Workers.submit

    def submitted(lane: Workers, call: Callable[[Any], Any], path: Any) -> Any:
        given.append(str(path))
        return submit(lane, call, path)

    monkeypatch.setattr(Workers, "submit", submitted)
    return given


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory is to be swept: what goes to a worker does so for another reason."""

    def never(sweeper: Sweeper, st: os.stat_result) -> bool:
        return False

    monkeypatch.setattr(Sweeper, "is_due", never)


def names(root: Path) -> set[str]:
    return {path.name for path in root.rglob("*")}


@pytest.mark.usefixtures("swept")
async def test_small_writes_need_no_worker(root: Path, fs: LocalFilesystem, jobs: list[str]) -> None:
    (root / "a").mkdir()
    for path in ("/file", "/new", "/a/new", "/a/new"):
        seen = await fs.write_bytes(path, b"x" * SMALL)
        assert seen == await fs.stat(path)
        assert await fs.read_bytes(path) == b"x" * SMALL
    with pytest.raises(StaleFileError):
        await fs.write_bytes("/new", b"y", expected_version="another")
    assert jobs == []
    assert names(root) == {"file", "new", "a"}


UNUSUAL: dict[str, tuple[str, int, Callable[[Path], object]]] = {
    "a missing parent": ("/a/b/new", 1, lambda root: None),
    "a link in its place": ("/link", 1, lambda root: (root / "link").symlink_to("file")),
    "a link on the way": ("/d/new", 1, lambda root: (root / "d").symlink_to(".")),
    "a large body": ("/new", SMALL + 1, lambda root: None),
    "a large file to replace": ("/big", 1, lambda root: (root / "big").write_bytes(bytes(1 << 21))),
}


@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize("what", sorted(UNUSUAL))
async def test_what_is_unusual_goes_to_a_worker(root: Path, fs: LocalFilesystem, jobs: list[str], what: str) -> None:
    path, size, prepare = UNUSUAL[what]
    prepare(root)
    await fs.write_bytes(path, b"x" * size)
    assert jobs != []
    assert await fs.read_bytes(path) == b"x" * size
    assert not any(name.startswith(".") for name in names(root))


@pytest.mark.usefixtures("swept")
async def test_what_is_to_be_durable_goes_to_a_worker(root: Path, jobs: list[str]) -> None:
    async with LocalFilesystem(root, durable=True) as fs:
        await fs.write_bytes("/durable", b"x")
    assert "/durable" in jobs


@pytest.mark.usefixtures("swept")
async def test_refusals_are_those_of_a_worker(root: Path, fs: LocalFilesystem) -> None:
    (root / "a").mkdir()
    with pytest.raises(PathIsDirectoryError):
        await fs.write_bytes("/a", b"x")
    with pytest.raises(PathNotFoundError) as caught:
        await fs.write_bytes("/b/new", b"x", create_parents=False)
    assert caught.value.path == "/b"


@pytest.mark.usefixtures("swept")
async def test_a_full_disk_is_told_and_leaves_nothing(
    root: Path, fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "full", str(root))

    monkeypatch.setattr(sources, "write_all", full)
    with pytest.raises(NoSpaceError) as caught:
        await fs.write_bytes("/file", b"new")
    assert str(root) not in repr(caught.value.__cause__)
    assert names(root) == {"file"}
    assert (root / "file").read_bytes() == b"old"


async def test_a_directory_to_be_swept_is_swept_by_a_worker(root: Path, fs: LocalFilesystem, jobs: list[str]) -> None:
    leftover = root / "a" / ".moorage-tmp-0123456789abcdef"
    leftover.parent.mkdir()
    leftover.touch()
    os.utime(leftover, (1, 1))
    await fs.write_bytes("/a/new", b"x")
    assert jobs == ["/a/new"]
    assert names(root) == {"file", "a", "new"}


@contextmanager
def locked_by_a_process(root: Path) -> Generator[None]:
    """As another process does it: without this one's locks between threads."""
    with Handle(os.open(root, OPEN_DIR)) as handle:
        fcntl.flock(handle.fd, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_by_a_thread(root: Path) -> Generator[None]:
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with Handle(os.open(root, OPEN_DIR)) as handle, DirectoryLock(handle.fd):
            held.set()
            free.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(PATIENCE)
    try:
        yield
    finally:
        free.set()
        thread.join(PATIENCE)


@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize("locked", [locked_by_a_process, locked_by_a_thread])
async def test_a_held_lock_is_waited_for_outside_of_the_loop(
    root: Path,
    fs: LocalFilesystem,
    monkeypatch: pytest.MonkeyPatch,
    locked: Callable[[Path], AbstractContextManager[None]],
) -> None:
    attempts: list[tuple[float, Stat | None]] = []
    write = Inline.write

    def timed(self: Inline, change: Any, size: int) -> Stat | None:
        started = time.thread_time(), time.perf_counter()
        written = write(self, change, size)
        attempts.append((time.perf_counter() - started[1] - (time.thread_time() - started[0]), written))
        return written

    monkeypatch.setattr(Inline, "write", timed)
    async with anyio.create_task_group() as tasks:
        with locked(root):
            for number in range(8):
                tasks.start_soon(fs.write_bytes, f"/{number}", b"new")
            await anyio.sleep(0.05)
            assert not (root / "0").exists()
    assert [written for _, written in attempts] == [None] * 8
    assert sorted(waited for waited, _ in attempts)[4] < 0.002
    assert names(root) == {"file", *map(str, range(8))}


@pytest.mark.usefixtures("swept")
async def test_many_tasks_leave_the_loop_its_turns(fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many write at once, a turn of the loop makes a bounded number of writes itself."""
    turns = [0]
    write = Inline.write

    def counted(self: Inline, change: Any, size: int) -> Stat | None:
        written = write(self, change, size)
        turns[-1] += written is not None
        return written

    monkeypatch.setattr(Inline, "write", counted)
    async with anyio.create_task_group() as beat:

        async def beats() -> None:
            while True:
                turns.append(0)
                await anyio.lowlevel.checkpoint()

        beat.start_soon(beats)
        async with anyio.create_task_group() as tasks:
            for number in range(300):
                tasks.start_soon(fs.write_bytes, f"/{number}", b"x")
        beat.cancel_scope.cancel()
    assert sum(turns) > 20
    assert max(turns) <= 41
