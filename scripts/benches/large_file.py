"""One large file written, read, and copied from one mount to another."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.benches.memory import peak
from scripts.benches.rows import Aim, Row, Sample, Setting, medians

from moorage import CompositeFilesystem
from moorage_local import LocalFilesystem

CHUNK: Final = b"moorage " * (1 << 17)
"""One MiB."""

_SPEED: Final = Aim("ratio", "≥", 0.8)
_MEMORY: Final = Aim("ours", "<", 64)
_WORKS: Final = {
    "write": "written over shutil.copyfileobj",
    "read": "read over shutil.copyfileobj",
    "copy": "copied across mounts over shutil.copyfile",
}


async def measure(setting: Setting) -> None:
    free = shutil.disk_usage(setting.directory).free
    chunks = setting.size(min(1024, (free >> 20) // 4), 8)
    label = f"{chunks / 1024:g} GiB" if chunks >= 1024 else f"{chunks} MiB"
    async with bench(setting.directory, chunks) as (big, _):
        big.write_with_shutil("source")
        for work, text in _WORKS.items():
            samples = [_speed(big, work), _speed(big, f"shutil-{work}")]
            await medians(samples, setting.size(2, 1))  # the memory that holds the file is touched for the first time
            ours, theirs = await medians(samples, setting.size(7, 1))
            setting.emit(Row(f"{label} {text}", ours, theirs, "MiB/s", _SPEED))
        for work, text in _WORKS.items():
            ours, theirs = await medians(
                [_peak(big, work), _peak(big, f"shutil-{work}")],
                setting.size(3, 1),
            )
            setting.emit(Row(f"{label} {text}: peak memory", ours, theirs, "MiB", _MEMORY))


def _speed(bench: LargeFile, work: str) -> Sample:
    async def once(_: int) -> float:
        bench.forget_copies()
        started = time.perf_counter()
        await bench.work(work)()
        return bench.chunks / (time.perf_counter() - started)

    return once


def _peak(bench: LargeFile, work: str) -> Sample:
    async def once(_: int) -> float:
        bench.forget_copies()
        return await peak(work, bench.directory, bench.chunks)

    return once


@asynccontextmanager
async def bench(directory: Path, chunks: int) -> AsyncGenerator[tuple[LargeFile, LargeFile]]:
    """The large file and, to warm up with, a small one, in a tree of two mounts."""
    for name in ("a", "b"):
        (directory / name).mkdir(exist_ok=True)
    mounts = {f"/{name}": LocalFilesystem(str(directory / name)) for name in ("a", "b")}
    async with CompositeFilesystem(mounts) as tree:
        small = LargeFile(tree, directory, 2, "small-")
        small.write_with_shutil("source")
        yield LargeFile(tree, directory, chunks, ""), small


@dataclass(frozen=True, slots=True)
class LargeFile:
    """The works on one file of so many MiB; ``a/source`` is what is read and copied."""

    tree: CompositeFilesystem
    directory: Path
    chunks: int
    prefix: str

    def work(self, name: str) -> Callable[[], Awaitable[object]]:
        return {
            "write": self.write,
            "read": self.read,
            "copy": self.copy,
            "shutil-write": lambda: asyncio.to_thread(self.write_with_shutil, "written"),
            "shutil-read": lambda: asyncio.to_thread(self.read_with_shutil),
            "shutil-copy": lambda: asyncio.to_thread(self.copy_with_shutil),
        }[name]

    async def write(self) -> None:
        await self.tree.write_stream(f"/a/{self.prefix}written", self._stream())

    async def read(self) -> None:
        async with self.tree.open_read(f"/a/{self.prefix}source") as reader:
            async for _ in reader:
                pass

    async def copy(self) -> None:
        await self.tree.copy(f"/a/{self.prefix}source", f"/b/{self.prefix}copied")

    def write_with_shutil(self, name: str) -> None:
        with self._path("a", name).open("wb") as file:
            shutil.copyfileobj(_Chunks(self.chunks), file, len(CHUNK))

    def read_with_shutil(self) -> None:
        with self._path("a", "source").open("rb") as file:
            shutil.copyfileobj(file, _Nothing(), len(CHUNK))

    def copy_with_shutil(self) -> None:
        shutil.copyfile(self._path("a", "source"), self._path("b", "copied"))

    def forget_copies(self) -> None:
        """So that neither side pays for removing what the other left."""
        self._path("a", "written").unlink(missing_ok=True)
        self._path("b", "copied").unlink(missing_ok=True)

    def _path(self, mount: str, name: str) -> Path:
        return self.directory / mount / f"{self.prefix}{name}"

    async def _stream(self) -> AsyncIterator[bytes]:
        for _ in range(self.chunks):
            yield CHUNK


class _Chunks:
    """Reads as so many chunks."""

    def __init__(self, count: int) -> None:
        self._left = count

    def read(self, _: int = -1, /) -> bytes:
        self._left -= 1
        return CHUNK if self._left >= 0 else b""


class _Nothing:
    """Takes what is written and drops it."""

    def write(self, data: bytes, /) -> int:
        return len(data)
