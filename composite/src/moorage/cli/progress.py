"""Signs of life of what may take long: on a terminal only, never in a pipe, never with ``--json``."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from moorage.cli.output import Output, plain
from moorage.models import OnProgress
from moorage.models import Progress as Step
from moorage.paths import StoragePath

_SHOWN_NAME = 40


@contextmanager
def progress_bar(output: Output, verb: str, console: Console | None = None) -> Generator[OnProgress | None]:
    """Yield what to pass as ``progress``; ``None`` where nobody looks. The bar is gone when the block ends."""
    console = console or Console(file=sys.stderr)
    if not _is_watched(output, console):
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TextColumn("{task.fields[files]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(verb, total=None, files="")

        def report(step: Step) -> None:
            total = "" if step.files_total is None else f"/{step.files_total}"
            bar.update(
                task,
                description=f"{verb} {plain(step.path.name)[-_SHOWN_NAME:]}",
                completed=step.bytes_done,
                total=step.bytes_total,
                files=f"{step.files_done}{total} files",
            )

        yield report


@contextmanager
def spinner(output: Output, doing: str, console: Console | None = None) -> Generator[None]:
    """Say what is being done, for as long as it takes; for what cannot tell how far it has come."""
    console = console or Console(file=sys.stderr)
    if not _is_watched(output, console):
        yield
        return
    with console.status(plain(doing)):
        yield


async def counted(
    path: str, chunks: AsyncIterator[bytes], report: OnProgress | None, total: int | None = None
) -> AsyncIterator[bytes]:
    """``chunks``, reporting how many bytes have gone by."""
    done = 0
    async for chunk in chunks:
        yield chunk
        done += len(chunk)
        if report is not None:
            report(Step(StoragePath.parse(path), bytes_done=done, files_total=1, bytes_total=total))


def _is_watched(output: Output, console: Console) -> bool:
    return not output.as_json and console.is_terminal
