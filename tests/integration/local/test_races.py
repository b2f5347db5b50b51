"""A stale write is refused whoever the others are: tasks, threads or processes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from tests.integration.local import competitors
from tests.integration.local.competitors import PATIENCE
from tests.integration.local.memory import directory_in_memory

from moorage import ConflictError, DirectoryNotEmptyError, PathNotFoundError, StaleFileError
from moorage_local import LocalFilesystem

ROUNDS = 50
WRITERS = 20


@pytest.fixture(params=["disk", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """In memory, small writes are made in the event loops, beside those of workers."""
    if request.param == "disk":
        yield tmp_path
    else:
        with directory_in_memory() as directory:
            yield directory


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_of_twenty_tasks_one_wins(root: Path) -> None:
    async with LocalFilesystem(root) as fs:
        seen = await fs.write_bytes("/file", b"old")
        for _ in range(ROUNDS):
            outcomes: list[str] = []

            async def write(number: int, version: str, outcomes: list[str]) -> None:
                try:
                    await fs.write_bytes("/file", str(number).encode(), expected_version=version)
                    outcomes.append("won")
                except StaleFileError as error:
                    outcomes.append("stale" if error.expected == version != error.actual else "wrong")

            async with anyio.create_task_group() as tasks:
                for number in range(WRITERS):
                    tasks.start_soon(write, number, seen.version or "", outcomes)
            assert Counter(outcomes) == {"won": 1, "stale": WRITERS - 1}
            seen = await fs.stat("/file")


def test_of_twenty_threads_one_wins_with_times_too(root: Path) -> None:
    """Each thread has an event loop and a filesystem of its own; the expectation is a time."""
    (root / "file").write_bytes(b"old")
    barrier = threading.Barrier(WRITERS)
    outcomes: list[list[str]] = []

    def run() -> None:
        outcomes.append(anyio.run(race))

    async def race() -> list[str]:
        mine: list[str] = []
        async with LocalFilesystem(root) as fs:
            for _ in range(ROUNDS):
                barrier.wait(PATIENCE)
                seen = await fs.stat("/file")
                assert seen.modified_at is not None
                barrier.wait(PATIENCE)
                try:
                    await fs.write_bytes("/file", b"new", expected_mtime=seen.modified_at)
                    mine.append("won")
                except StaleFileError:
                    mine.append("stale")
        return mine

    threads = [threading.Thread(target=run) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert_one_winner_each_round(outcomes)


def test_of_twenty_processes_one_wins(root: Path) -> None:
    (root / "file").write_bytes(b"old")
    context = competitors.processes()
    barrier, results = context.Barrier(WRITERS), context.Queue()
    children = [
        context.Process(target=competitors.race, args=(str(root), ROUNDS, barrier, results)) for _ in range(WRITERS)
    ]
    for child in children:
        child.start()
    outcomes = [results.get(timeout=PATIENCE) for _ in children]
    for child in children:
        child.join(PATIENCE)
        assert child.exitcode == 0
    assert_one_winner_each_round(outcomes)


@pytest.mark.parametrize("times", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_a_counter_of_eight_processes_is_exact(root: Path, times: int) -> None:
    (root / "counter").write_text("0")
    context = competitors.processes()
    children = [context.Process(target=competitors.count, args=(str(root), times)) for _ in range(8)]
    for child in children:
        child.start()
    for child in children:
        child.join(PATIENCE * 2)
        assert child.exitcode == 0
    assert (root / "counter").read_text() == str(8 * times)
    assert [path.name for path in root.iterdir()] == ["counter"]


def assert_one_winner_each_round(outcomes: list[list[str]]) -> None:
    assert len(outcomes) == WRITERS
    for round_ in zip(*outcomes, strict=True):
        assert Counter(round_) == {"won": 1, "stale": WRITERS - 1}


CALLS: dict[str, Callable[[LocalFilesystem], Awaitable[object]]] = {
    "write": lambda fs: fs.write_bytes("/a/b/file", b"x"),
    "append": lambda fs: fs.append_bytes("/a/b/file", b"x"),
    "move": lambda fs: fs.move("/source", "/a/b/file"),
    "copy": lambda fs: fs.copy("/source", "/a/b/file"),
    "make_dir": lambda fs: fs.make_dir("/a/b/directory"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("operation", sorted(CALLS))
async def test_a_change_in_a_directory_that_is_being_removed_is_made_or_refused(root: Path, operation: str) -> None:
    """Its parents are made again as often as they go; what is refused is refused in words that tell why."""
    async with LocalFilesystem(root, lock_timeout=5.0) as fs:

        async def change() -> None:
            with suppress(ConflictError):
                await CALLS[operation](fs)

        for _ in range(300):
            (root / "source").write_bytes(b"x")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(change)
                with suppress(PathNotFoundError, DirectoryNotEmptyError):
                    await fs.remove_dir("/a", recursive=True)
