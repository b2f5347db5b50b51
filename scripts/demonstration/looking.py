"""Listing, globbing and finding in the tree, against ``os.walk`` and ``os.listdir``."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Final

from scripts.demonstration.disk import files_below, microseconds
from scripts.demonstration.report import amount
from scripts.demonstration.stage import Stage
from scripts.demonstration.transfers import find_wanted

from moorage import StoragePath

_LARGE: Final = 100_000
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


async def list_mounts(stage: Stage) -> None:
    names = [entry.name for entry in await stage.tree.list_dir("/") if entry.mount is not None]
    access = [f"{mount.path} {'read-only' if mount.read_only else 'read-write'}" for mount in stage.tree.mounts()]
    stage.report.claim("four storages are one tree", ", ".join(access), names == ["disk", "me", "memory", "python"])


async def look_around(stage: Stage) -> None:
    """List, count, and glob what was imported."""
    tree, report, root = stage.tree, stage.report, stage.disk / "stdlib"
    listed = [entry.name for entry in await tree.list_dir("/disk/stdlib")]
    report.claim("a listing has what the directory has", f"{len(listed)} entries", listed == sorted(os.listdir(root)))
    files = files_below(root)
    usage = await tree.du("/disk/stdlib")
    report.claim(
        "du agrees with the disk",
        amount(usage.files, usage.size),
        (usage.files, usage.size) == (len(files), sum(st.st_size for st in files.values())),
    )
    pattern = "/{disk,memory}/stdlib/**/__init__.py"
    found = {str(entry.path) async for entry in tree.glob(pattern)}
    inits = [path for path in files if path.rpartition("/")[2] == "__init__.py" and "/." not in f"/{path}"]
    expected = {f"/{mount}/stdlib/{path}" for mount in ("disk", "memory") for path in inits}
    report.claim("one glob searches two storages", f"{len(found)} match {pattern}", bool(found) and found == expected)


async def find_files(stage: Stage) -> None:
    """Find by size where the files were imported to, and by time where they came from."""
    tree, report = stage.tree, stage.report
    large = {
        str(entry.path).removeprefix("/disk/stdlib/")
        async for entry in tree.scan_dir("/disk/stdlib", recursive=True)
        if entry.is_file and entry.stat.size > _LARGE
    }
    truly = {path for path, st in files_below(stage.disk / "stdlib").items() if st.st_size > _LARGE}
    report.claim("find by size", f"{len(large)} files over {_LARGE:,} bytes", large == truly)
    files = files_below(stage.source, wanted_only=True)
    since = sorted(microseconds(st) for st in files.values())[len(files) // 2]
    moment = _EPOCH + timedelta(microseconds=since)
    newer = {
        path
        for path, entry in (await find_wanted(tree, StoragePath("/python"))).items()
        if entry.stat.modified_at is not None and entry.stat.modified_at >= moment
    }
    report.claim(
        "find by time",
        f"{len(newer):,} files changed since {moment:%Y-%m-%d %H:%M:%S.%f}",
        newer == {path for path, st in files.items() if microseconds(st) >= since},
    )
