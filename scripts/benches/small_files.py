"""Single operations on many small local files, one after the other and 32 at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from scripts.benches import contenders
from scripts.benches.contenders import Contender, Operation, drive
from scripts.benches.rows import Aim, Row, Sample, Setting, medians

from moorage_local import LocalFilesystem

_LABELS: Final[dict[Operation, str]] = {"read": "read", "stat": "stat", "write": "atomic write"}
_AIMS: Final[dict[tuple[Operation, str], Aim]] = {
    ("read", "anyio.Path"): Aim("ratio", "≥", 5),
    ("stat", "anyio.Path"): Aim("ratio", "≥", 8),
    ("write", "anyio.Path"): Aim("ratio", "≥", 1.3),
    ("read", "pathlib in a thread"): Aim("ratio", "≥", 2.5),
    ("write", "pathlib in a thread"): Aim("ratio", "≥", 0.8),
}


async def measure(setting: Setting) -> None:
    directory = setting.directory / "small"
    directory.mkdir()
    paths = contenders.small_files(directory, setting.size(10_000, 200))
    async with LocalFilesystem(str(directory)) as filesystem:
        field = [
            contenders.ours(filesystem),
            contenders.anyio_path(directory),
            contenders.pathlib_in_a_thread(directory),
            contenders.fsspec_in_a_thread(directory),
        ]
        for operation in _LABELS:
            for concurrency in (1, 32):
                await _compare(setting, field, operation, concurrency, paths)


async def _compare(
    setting: Setting, field: Sequence[Contender], operation: Operation, concurrency: int, paths: Sequence[str]
) -> None:
    repetitions = setting.size(25, 1)
    share = len(paths) // repetitions
    for contender in field:
        await drive(contender.action(operation), paths[:64], concurrency)

    def sample(contender: Contender) -> Sample:
        async def once(repetition: int) -> float:
            part = paths[repetition * share : (repetition + 1) * share]
            started = time.perf_counter()
            await drive(contender.action(operation), part, concurrency)
            return len(part) / (time.perf_counter() - started)

        return once

    ours, *others = await medians([sample(contender) for contender in field], repetitions)
    for contender, theirs in zip(field[1:], others, strict=True):
        what = f"{_LABELS[operation]} ×{concurrency} over {contender.name}"
        setting.emit(Row(what, ours, theirs, "/s", _AIMS.get((operation, contender.name))))
