"""What runs in processes of its own: writers that race, count, and are killed."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import anyio

from moorage import StaleFileError
from moorage_local import LocalFilesystem

PATIENCE = 60.0
BLOCK = 1 << 18


def processes() -> ForkServerContext:
    """Children of a clean server process, which has this module loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def race(root: str, rounds: int, barrier: Barrier, results: Queue[list[str]]) -> None:
    """Read, wait for all, write with what was read; the names of what came of it."""

    async def main() -> list[str]:
        outcomes: list[str] = []
        async with LocalFilesystem(root) as fs:
            for _ in range(rounds):
                barrier.wait(PATIENCE)
                seen = await fs.stat("/file")
                barrier.wait(PATIENCE)
                try:
                    await fs.write_bytes("/file", b"new", expected_version=seen.version or "")
                    outcomes.append("won")
                except StaleFileError:
                    outcomes.append("stale")
        return outcomes

    results.put(anyio.run(main))


def count(root: str, times: int) -> None:
    """Add one, so many times, by reading and writing with the version that was read."""

    async def main() -> None:
        async with LocalFilesystem(root) as fs:
            for _ in range(times):
                await _add_one(fs)

    anyio.run(main)


async def _add_one(fs: LocalFilesystem) -> None:
    while True:
        async with fs.open_read("/counter") as reader:
            value = int(await reader.read())
        with contextlib.suppress(StaleFileError):
            await fs.write_text("/counter", str(value + 1), expected_version=reader.stat.version or "")
            return


def write_for_ever(root: str, ready: Callable[[], None]) -> None:
    """Replace one file again and again, each time with a block of another byte."""

    async def main() -> None:
        async with LocalFilesystem(root) as fs:
            for number in itertools.count():
                await fs.write_bytes("/file", bytes([number % 251]) * BLOCK)
                if number == 0:
                    ready()

    anyio.run(main)
