"""Listing and removing a tree of files."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from scripts.benches.rows import Row, Setting, medians

from moorage_local import LocalFilesystem


async def measure(setting: Setting) -> None:
    files = setting.size(5_000, 200)
    repetitions = setting.size(7, 1)
    async with LocalFilesystem(str(setting.directory)) as filesystem:
        await _measure_listing(setting, filesystem, files, repetitions)
        await _measure_removal(setting, filesystem, files, repetitions)


async def _measure_listing(setting: Setting, filesystem: LocalFilesystem, files: int, repetitions: int) -> None:
    _make_tree(setting.directory / "listed", files)

    async def list_ours(_: int) -> float:
        return files / await _seconds(lambda: filesystem.list_dir("/listed", recursive=True))

    async def list_theirs(_: int) -> float:
        return files / await _seconds(lambda: asyncio.to_thread(_walk, str(setting.directory / "listed")))

    ours, theirs = await medians([list_ours, list_theirs], repetitions)
    setting.emit(Row(f"list {files:,} files recursively over os.walk + stat in a thread", ours, theirs, "/s"))


async def _measure_removal(setting: Setting, filesystem: LocalFilesystem, files: int, repetitions: int) -> None:
    async def remove_ours(_: int) -> float:
        _make_tree(setting.directory / "removed", files)
        return files / await _seconds(lambda: filesystem.remove_dir("/removed", recursive=True))

    async def remove_theirs(_: int) -> float:
        _make_tree(setting.directory / "removed", files)
        return files / await _seconds(lambda: asyncio.to_thread(shutil.rmtree, setting.directory / "removed"))

    ours, theirs = await medians([remove_ours, remove_theirs], repetitions)
    setting.emit(Row(f"remove {files:,} files over shutil.rmtree in a thread", ours, theirs, "/s"))


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


def _walk(top: str) -> list[tuple[str, os.stat_result]]:
    found: list[tuple[str, os.stat_result]] = []
    for above, directories, files in os.walk(top):
        for name in (*directories, *files):
            path = os.path.join(above, name)
            found.append((path, os.lstat(path)))
    return sorted(found, key=lambda entry: entry[0])


def _make_tree(top: Path, files: int) -> None:
    """Fifty files a directory, ten directories a directory."""
    for number in range(files):
        directory = top / f"d{number // 500}" / f"e{number // 50 % 10}"
        if number % 50 == 0:
            directory.mkdir(parents=True)
        (directory / f"f{number}").write_bytes(b"content")
