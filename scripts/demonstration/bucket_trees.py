"""Trees in a bucket: imported, written in parts, copied, listed and searched, against what the store really holds."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Final

from scripts.demonstration.bucket_stage import WORK, BucketStage
from scripts.demonstration.disk import checksums
from scripts.demonstration.progress import watching
from scripts.demonstration.report import amount
from scripts.demonstration.stores import PART
from scripts.demonstration.transfers import below, copy_files, find_wanted

from moorage import StoragePath

_TREE: Final = f"{WORK}stdlib/"
_LARGE: Final = 50_000
_RECENT: Final = timedelta(minutes=2)


async def list_mounts(stage: BucketStage) -> None:
    names = sorted([entry.name for entry in await stage.tree.list_dir("/") if entry.mount is not None])
    access = [f"{mount.path} {'read-only' if mount.read_only else 'read-write'}" for mount in stage.tree.mounts()]
    expected = ["archive", "bucket", "me", "memory", "python"]
    stage.report.claim("five mounts are one tree", ", ".join(access), names == expected)
    strength = (await stage.tree.capabilities("/bucket")).conditional_write
    stage.report.claim("the store refuses stale writes itself", f"conditional_write: {strength}", strength == "atomic")


async def import_files(stage: BucketStage) -> None:
    """Copy files of the standard library from ``/python`` to ``/bucket/stdlib``, many at once."""
    found = await find_wanted(stage.tree, StoragePath("/python"))
    files = {path: found[path] for path in stage.wanted if path in found}
    started, began = time.monotonic(), datetime.now(UTC)
    with watching("import") as watch:
        await copy_files(stage.tree, files, "/bucket/stdlib", watch)
    seconds = time.monotonic() - started
    stored = {key.removeprefix(_TREE) for key in stage.store.raw.keys(_TREE)}
    size = sum(st.st_size for st in stage.wanted.values())
    stage.report.claim(
        "the files are in the bucket, and nothing else",
        f"{amount(len(stored), size)} in {seconds:.1f} s",
        bool(stored) and stored == set(stage.wanted),
    )
    arrived = {path: _sha256(stage.store.raw.get(f"{_TREE}{path}") or b"") for path in stored}
    same = checksums(stage.source, stage.wanted).items() & arrived.items()
    stage.report.claim("byte for byte", f"{len(same):,} checksums equal", len(same) == len(stage.wanted))
    times = [entry.stat.modified_at async for entry in stage.tree.scan_dir("/bucket/stdlib", recursive=True)]
    fresh = [moment for moment in times if moment is not None and abs(moment - began) < _RECENT]
    stage.report.claim(
        "find by time: all are of these minutes", f"{len(fresh):,} files", len(fresh) == len(stage.wanted)
    )


async def write_in_parts(stage: BucketStage) -> None:
    """A stream of several parts: the imported files, again and again until it is long enough."""
    digest = hashlib.sha256()
    size = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal size
        for path in cycle(stage.wanted):
            if size > 3 * PART:
                return
            chunk = (stage.source / path).read_bytes()
            digest.update(chunk)
            size += len(chunk)
            yield chunk

    stat = await stage.tree.write_stream("/bucket/all.bin", chunks())
    stored = stage.store.raw.get(f"{WORK}all.bin") or b""
    pending = stage.store.raw.pending_uploads()
    stage.report.claim(
        "a stream of several parts arrives whole",
        f"{stat.size / (1 << 20):.1f} MiB; {len(pending)} uploads pending",
        (len(stored), _sha256(stored), pending) == (size, f"sha256:{digest.hexdigest()}", []),
    )


async def copy_trees(stage: BucketStage) -> None:
    """From the bucket to memory, and within the bucket."""
    started = time.monotonic()
    with watching("copy") as watch:
        await stage.tree.copy("/bucket/stdlib", "/memory/stdlib", recursive=True, progress=watch)
    seconds = time.monotonic() - started
    wanted = checksums(stage.source, stage.wanted)
    entries = [entry async for entry in stage.tree.scan_dir("/memory/stdlib", recursive=True)]
    arrived = {below(entry, "/memory/stdlib"): entry.stat.checksum for entry in entries if entry.is_file}
    stage.report.claim(
        "a tree crosses from the bucket to memory, whole",
        f"{len(wanted.items() & arrived.items()):,} of {len(wanted):,} checksums equal, in {seconds:.1f} s",
        bool(wanted) and wanted == arrived,
    )
    last = watch.last
    reported = (0, 0) if last is None else (last.files_done, last.bytes_done)
    usage = await stage.tree.du("/bucket/stdlib")
    stage.report.claim(
        "progress ended at what du counts", amount(*reported), reported == (usage.files, usage.size) and usage.files > 0
    )
    await stage.tree.copy("/bucket/stdlib", "/bucket/twin", recursive=True)
    twins = {key.removeprefix(f"{WORK}twin/") for key in stage.store.raw.keys(f"{WORK}twin/")}
    stage.report.claim(
        "and within the bucket, by the store", f"{len(twins):,} objects copied", twins == set(stage.wanted)
    )
    await stage.tree.remove_dir("/bucket/twin", recursive=True)
    left = stage.store.raw.keys(f"{WORK}twin/")
    stage.report.claim("a tree is removed, whole", f"{len(left)} objects left", not left)


async def look_around(stage: BucketStage) -> None:
    """List, count, glob and find what was imported."""
    tree, report = stage.tree, stage.report
    listed = [entry.name for entry in await tree.list_dir("/bucket/stdlib")]
    names = sorted({path.partition("/")[0] for path in stage.wanted})
    report.claim("a listing has what the bucket has", f"{len(listed)} entries", listed == names)
    pattern = "/{bucket,memory}/stdlib/**/*.py"
    found = {str(entry.path) async for entry in tree.glob(pattern)}
    modules = [path for path in stage.wanted if path.endswith(".py") and "/." not in f"/{path}"]
    expected = {f"/{mount}/stdlib/{path}" for mount in ("bucket", "memory") for path in modules}
    report.claim("one glob searches two storages", f"{len(found)} match {pattern}", bool(found) and found == expected)
    large = {
        below(entry, "/bucket/stdlib")
        async for entry in tree.scan_dir("/bucket/stdlib", recursive=True)
        if entry.is_file and entry.stat.size > _LARGE
    }
    truly = {path for path, st in stage.wanted.items() if st.st_size > _LARGE}
    report.claim("find by size", f"{len(large)} files over {_LARGE:,} bytes", large == truly)


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
