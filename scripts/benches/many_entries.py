"""A directory of very many entries."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final

import anyio.lowlevel
from scripts.benches.memory import peak
from scripts.benches.rows import Aim, Row, Sample, Setting, medians

from moorage import Filesystem
from moorage_local import LocalFilesystem

_BREATH: Final = 1_000
_FLAT: Final = 8.0
"""MiB that ten times the entries may take more."""


async def measure(setting: Setting) -> None:
    count = setting.size(200_000, 2_000)
    many, tenth = setting.directory / "many", setting.directory / "tenth"
    await _fill(many, count)
    await _fill(tenth, count // 10)
    async with LocalFilesystem(str(many)) as filesystem:
        await _measure_speed(setting, filesystem, str(many), count)

    async def memory_of(directory: Path) -> float:
        return await peak("scan", directory, count)

    ours, theirs = await medians([lambda _: memory_of(many), lambda _: memory_of(tenth)], setting.size(3, 1))
    aim = Aim("more", "≤", _FLAT)
    setting.emit(Row(f"scan_dir {count:,}: peak memory over a tenth of the entries'", ours, theirs, "MiB", aim))


async def _measure_speed(setting: Setting, filesystem: Filesystem, directory: str, count: int) -> None:
    repetitions = setting.size(5, 1)

    async def first_of_ours(_: int) -> float:
        started = time.perf_counter()
        async with aclosing(filesystem.scan_dir()) as entries:
            await anext(entries)
            return (time.perf_counter() - started) * 1000

    async def scan_ours(_: int) -> float:
        started = time.perf_counter()
        await scan(filesystem)
        return count / (time.perf_counter() - started)

    async def list_ours(_: int) -> float:
        started = time.perf_counter()
        await filesystem.list_dir()
        return count / (time.perf_counter() - started)

    ours, theirs = await medians([first_of_ours, _in_a_thread(lambda: _first(directory), None)], repetitions)
    setting.emit(
        Row(f"scan_dir {count:,}: first entry over os.scandir in a thread", ours, theirs, "ms", Aim("ours", "<", 50))
    )
    ours, theirs = await medians([scan_ours, _in_a_thread(lambda: _scan(directory), count)], repetitions)
    setting.emit(Row(f"scan_dir {count:,} over os.scandir + stat in a thread", ours, theirs, "/s"))
    ours, theirs = await medians([list_ours, _in_a_thread(lambda: _list(directory), count)], repetitions)
    setting.emit(Row(f"list_dir {count:,} over os.scandir + stat, sorted, in a thread", ours, theirs, "/s"))


async def scan(filesystem: Filesystem) -> None:
    async for _ in filesystem.scan_dir():
        pass


def _in_a_thread(work: Callable[[], object], count: int | None) -> Sample:
    """So many a second, or without a count, milliseconds."""

    async def once(_: int) -> float:
        started = time.perf_counter()
        await asyncio.to_thread(work)
        spent = time.perf_counter() - started
        return spent * 1000 if count is None else count / spent

    return once


def _first(directory: str) -> os.stat_result:
    with os.scandir(directory) as entries:
        return next(entries).stat(follow_symlinks=False)


def _scan(directory: str) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)


def _list(directory: str) -> list[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        return sorted(
            ((entry.name, entry.stat(follow_symlinks=False)) for entry in entries), key=lambda found: found[0]
        )


async def _fill(directory: Path, count: int) -> None:
    """Not in a thread: one would go on when the run is interrupted."""
    os.mkdir(directory)
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(count):
            if number % _BREATH == 0:
                await anyio.lowlevel.checkpoint()
            os.close(os.open(f"entry{number:06}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=handle))
    finally:
        os.close(handle)
