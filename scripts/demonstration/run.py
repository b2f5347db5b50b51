"""The steps in order, on a stage that is gone afterwards."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from scripts.demonstration.looking import find_files, list_mounts, look_around
from scripts.demonstration.refusals import try_to_escape, two_writers, write_to_read_only
from scripts.demonstration.report import Report
from scripts.demonstration.stage import Stage, open_stage
from scripts.demonstration.tenancy import two_tenants
from scripts.demonstration.transfers import copy_to_memory, import_standard_library

from moorage import MoorageError

Step = Callable[[Stage], Awaitable[None]]

STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("mount a directory, memory, the standard library (read-only) and a directory per tenant", list_mounts),
    ("import the standard library from its mount to the directory", import_standard_library),
    ("copy that tree from the directory to memory", copy_to_memory),
    ("list, count and glob", look_around),
    ("find by size and by time", find_files),
    ("two writers, one expectation", two_writers),
    ("change what is read-only", write_to_read_only),
    ("escape", try_to_escape),
    ("two tenants, one path", two_tenants),
)


def demonstrate(source: Path) -> int:
    """Run every step on ``source``, print the report, and return the exit code."""
    started = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="moorage-demo-") as room:
        anyio.run(_run, source, Path(room), report)
    report.claim("nothing is left behind", f"removed: {Path(room).name}", not Path(room).exists())
    print()
    report.show()
    print(f"\n{report.verdict()} ({time.monotonic() - started:.1f} s)")
    return 0 if report.holds else 1


async def _run(source: Path, room: Path, report: Report) -> None:
    async with open_stage(source, room, report) as stage:
        for number, (title, step) in enumerate(STEPS, 1):
            report.announce(f"{number}. {title}")
            try:
                await step(stage)
            except* MoorageError as errors:
                for error in errors.exceptions:
                    report.claim(title, str(error), holds=False)
    temporaries = [name for _, _, names in os.walk(room) for name in names if name.startswith(".moorage-")]
    report.claim("no temporary file is left", f"{len(temporaries)} found", not temporaries)
