"""Four ways to reach small local files from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from moorage import Filesystem

Action = Callable[[str], Awaitable[object]]
Operation = Literal["read", "stat", "write"]

BODY: Final = b"x" * 1024


@dataclass(frozen=True, slots=True)
class Contender:
    """One way; paths are relative to the directory with a leading slash."""

    name: str
    read: Action
    stat: Action
    write: Action

    def action(self, operation: Operation) -> Action:
        return {"read": self.read, "stat": self.stat, "write": self.write}[operation]


def ours(filesystem: Filesystem) -> Contender:
    async def write(path: str) -> object:
        return await filesystem.write_bytes(path, BODY)

    return Contender("ours", filesystem.read_bytes, filesystem.stat, write)


def anyio_path(directory: Path) -> Contender:
    base = str(directory)

    async def read(path: str) -> object:
        return await anyio.Path(base + path).read_bytes()

    async def stat(path: str) -> object:
        return await anyio.Path(base + path).stat()

    async def write(path: str) -> object:
        return await anyio.Path(base + path).write_bytes(BODY)

    return Contender("anyio.Path", read, stat, write)


def pathlib_in_a_thread(directory: Path) -> Contender:
    base = str(directory)

    async def read(path: str) -> object:
        return await asyncio.to_thread(lambda: Path(base + path).read_bytes())

    async def stat(path: str) -> object:
        return await asyncio.to_thread(lambda: Path(base + path).stat())

    async def write(path: str) -> object:
        return await asyncio.to_thread(lambda: Path(base + path).write_bytes(BODY))

    return Contender("pathlib in a thread", read, stat, write)


def fsspec_in_a_thread(directory: Path) -> Contender:
    base = str(directory)
    local: Any = import_module("fsspec.implementations.local").LocalFileSystem(skip_instance_cache=True)

    async def read(path: str) -> object:
        return await asyncio.to_thread(local.cat_file, base + path)

    async def stat(path: str) -> object:
        return await asyncio.to_thread(local.info, base + path)

    async def write(path: str) -> object:
        return await asyncio.to_thread(local.pipe_file, base + path, BODY)

    return Contender("fsspec in a thread", read, stat, write)


def small_files(directory: Path, count: int) -> list[str]:
    """Make ``count`` files of 1 KiB, a hundred a directory; their paths."""
    paths: list[str] = []
    for number in range(count):
        if number % 100 == 0:
            (directory / f"d{number // 100}").mkdir()
        path = f"/d{number // 100}/f{number}"
        (directory / path[1:]).write_bytes(BODY)
        paths.append(path)
    return paths


async def drive(action: Action, paths: Sequence[str], concurrency: int) -> None:
    """``action`` on every path, by so many tasks."""
    remaining = iter(paths)
    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(_work, action, remaining)


async def _work(action: Action, remaining: Iterator[str]) -> None:
    for path in remaining:
        await action(path)
