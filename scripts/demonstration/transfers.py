"""Trees that cross mounts: an import from the read-only mount, then a copy from disk to memory."""

from __future__ import annotations

import os
import time

import anyio
from scripts.demonstration.disk import LEFT_OUT, bounded, checksums, files_below, is_wanted
from scripts.demonstration.progress import Watch, watching
from scripts.demonstration.report import amount
from scripts.demonstration.stage import Stage

from moorage import Entry, Filesystem, Progress, StoragePath

_AT_ONCE = 16


async def import_standard_library(stage: Stage) -> None:
    """Copy the standard library, file by file and many at once, from ``/python`` to ``/disk/stdlib``."""
    started = time.monotonic()
    with watching("import") as watch:
        await copy_files(stage.tree, await find_wanted(stage.tree, StoragePath("/python")), "/disk/stdlib", watch)
    seconds = time.monotonic() - started
    wanted, arrived = files_below(stage.source, wanted_only=True), files_below(stage.disk / "stdlib")
    size = sum(st.st_size for st in arrived.values())
    stage.report.claim(
        "the standard library is imported, whole",
        f"{amount(len(arrived), size)} in {seconds:.1f} s; os.walk finds {len(wanted):,} to import",
        bool(wanted) and _sizes(wanted) == _sizes(arrived),
    )
    same = checksums(stage.source, wanted).items() & checksums(stage.disk / "stdlib", arrived).items()
    stage.report.claim(
        "what arrived on disk is what was sent", f"{len(same):,} checksums equal", len(same) == len(wanted)
    )


async def copy_to_memory(stage: Stage) -> None:
    """Copy that tree from disk to memory in one call."""
    started = time.monotonic()
    with watching("copy") as watch:
        await stage.tree.copy("/disk/stdlib", "/memory/stdlib", recursive=True, progress=watch)
    seconds = time.monotonic() - started
    wanted = checksums(stage.disk / "stdlib", files_below(stage.disk / "stdlib"))
    entries = [entry async for entry in stage.tree.scan_dir("/memory/stdlib", recursive=True)]
    arrived = {below(entry, "/memory/stdlib"): entry.stat.checksum for entry in entries if entry.is_file}
    stage.report.claim(
        "a tree crosses from disk to memory, whole",
        f"{len(wanted.items() & arrived.items()):,} of {len(wanted):,} checksums equal, in {seconds:.1f} s",
        bool(wanted) and wanted == arrived,
    )
    last, usage = watch.last, await stage.tree.du("/memory/stdlib")
    reported = (0, 0) if last is None else (last.files_done, last.bytes_done)
    stage.report.claim(
        "progress ended at what du counts", amount(*reported), reported == (usage.files, usage.size) and usage.files > 0
    )


async def find_wanted(tree: Filesystem, root: StoragePath) -> dict[str, Entry]:
    """What of a standard library is imported, as the tree lists it."""
    found: dict[str, Entry] = {}
    pending = [root]
    while pending:
        async for entry in tree.scan_dir(pending.pop()):
            if entry.path is None or entry.name in LEFT_OUT:
                continue
            if entry.is_dir:
                pending.append(entry.path)
            elif entry.is_file and is_wanted(entry.name, entry.stat.size):
                found[below(entry, str(root))] = entry
    return {path: found[path] for path in bounded(found)}


async def copy_files(tree: Filesystem, files: dict[str, Entry], destination: str, watch: Watch) -> None:
    """Copy each from ``/python``, many at once."""
    total = sum(entry.stat.size for entry in files.values())
    pending = list(files.items())
    done = sent = 0

    async def work() -> None:
        nonlocal done, sent
        while pending:
            path, entry = pending.pop()
            stat = await tree.copy(f"/python/{path}", f"{destination}/{path}")
            done, sent = done + 1, sent + stat.size
            watch(Progress(entry.path or StoragePath("/"), done, sent, len(files), total))

    async with anyio.create_task_group() as tasks:
        for _ in range(_AT_ONCE):
            tasks.start_soon(work)


def _sizes(files: dict[str, os.stat_result]) -> dict[str, int]:
    return {path: st.st_size for path, st in files.items()}


def below(entry: Entry, root: str) -> str:
    """The entry's path, relative to ``root``."""
    return str(entry.path).removeprefix(f"{root}/")
