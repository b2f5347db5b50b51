"""The process that :func:`scripts.benches.memory.peak` starts: does one piece of work, prints bytes."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from scripts.benches import large_file, many_entries
from scripts.benches.memory import most_resident, resident

from moorage_local import LocalFilesystem


async def _main(work: str, directory: Path, size: int) -> None:
    if work == "scan":
        async with LocalFilesystem(str(directory)) as filesystem:
            await _report(lambda: many_entries.scan(filesystem), lambda: filesystem.stat("/"))
        return
    async with large_file.bench(directory, size) as (big, small):
        await _report(big.work(work), small.work(work))


async def _report(work: Callable[[], Awaitable[object]], warm_up: Callable[[], Awaitable[object]]) -> None:
    await warm_up()
    idle = resident()
    await work()
    print(most_resident() - idle)


if __name__ == "__main__":
    anyio.run(_main, sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
