"""How far a transfer has come: a bar on a terminal, a few plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from moorage import Progress as Step

_LINES: Final = 4


class Watch:
    """Passed as ``progress``. Remembers the last step, so that what was reported can be checked, too."""

    def __init__(self, title: str, bar: Progress | None) -> None:
        self.last: Step | None = None
        self._title = title
        self._bar = bar
        self._task: TaskID | None = None if bar is None else bar.add_task(title, total=None, files="")
        self._printed = 0

    def __call__(self, step: Step) -> None:
        self.last = step
        total = step.files_total or 0
        if self._bar is not None and self._task is not None:
            files = f"{step.files_done:,}/{total:,} files"
            self._bar.update(self._task, completed=step.bytes_done, total=step.bytes_total, files=files)
        elif total and step.files_done * _LINES // total > self._printed:
            self._printed = step.files_done * _LINES // total
            print(f"  {self._title}: {step.files_done:,} of {total:,} files", flush=True)


@contextmanager
def watching(title: str) -> Generator[Watch]:
    """What to pass as ``progress`` while the block runs."""
    if not sys.stdout.isatty():
        yield Watch(title, None)
        return
    columns = (
        TextColumn("  {task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TextColumn("{task.fields[files]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as bar:
        yield Watch(title, bar)
