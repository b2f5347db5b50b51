"""How long the event loop stands still under load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import anyio
from scripts.benches import contenders
from scripts.benches.contenders import Contender, Operation, drive
from scripts.benches.rows import Row, Sample, Setting, medians

from moorage_local import LocalFilesystem

_BEAT: Final = 0.001  # seconds
_OPERATIONS: Final[tuple[tuple[Operation, str], ...]] = (("read", "reads"), ("stat", "stats"), ("write", "writes"))


async def measure(setting: Setting) -> None:
    directory = setting.directory / "gap"
    directory.mkdir()
    paths = contenders.small_files(directory, setting.size(500, 100))
    seconds = 0.05 if setting.quick else 0.3
    async with LocalFilesystem(str(directory)) as filesystem:
        field = [contenders.ours(filesystem), contenders.anyio_path(directory)]
        for operation, label in _OPERATIONS:
            samples = [_under_load(contender, operation, paths, seconds) for contender in field]
            ours, theirs, idle = await medians([*samples, _idle(seconds)], setting.size(15, 1))
            setting.emit(Row(f"longest loop gap, {label} ×32, over an idle loop's", ours, idle, "ms"))
            setting.emit(Row(f"longest loop gap, {label} ×32, over anyio.Path's", ours, theirs, "ms"))


def _under_load(contender: Contender, operation: Operation, paths: Sequence[str], seconds: float) -> Sample:
    async def once(_: int) -> float:
        end = time.perf_counter() + seconds
        heart = _Heart()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heart.beat)
            while time.perf_counter() < end:
                await drive(contender.action(operation), paths, 32)
            tasks.cancel_scope.cancel()
        return heart.longest * 1000

    return once


def _idle(seconds: float) -> Sample:
    async def once(_: int) -> float:
        heart = _Heart()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heart.beat)
            await asyncio.sleep(seconds)
            tasks.cancel_scope.cancel()
        return heart.longest * 1000

    return once


class _Heart:
    """Wants to beat every millisecond, and remembers the longest time between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_BEAT)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now
