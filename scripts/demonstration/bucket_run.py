"""The steps of a store's tour in order, on a server that is gone afterwards."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from scripts.demonstration.bucket_refusals import (
    two_tenants,
    two_writers,
    write_to_read_only,
    write_what_somebody_changed,
)
from scripts.demonstration.bucket_stage import BucketStage, open_bucket_stage
from scripts.demonstration.bucket_trees import copy_trees, import_files, list_mounts, look_around, write_in_parts
from scripts.demonstration.report import Report
from scripts.demonstration.stores import STORES, Store
from tests.servers.ports import LOOPBACK

from moorage import MoorageError

MOST: Final = 1_500
"""Files that are imported at most."""

BUCKET_STEPS: Final[tuple[tuple[str, Callable[[BucketStage], Awaitable[None]]], ...]] = (
    ("mount a bucket, a read-only part of it, memory, the standard library and a prefix per tenant", list_mounts),
    ("import part of the standard library to the bucket", import_files),
    ("write a stream in parts", write_in_parts),
    ("copy the tree to memory and within the bucket, and remove a tree", copy_trees),
    ("list, glob and find", look_around),
    ("two writers, one expectation", two_writers),
    ("write what somebody else changed meanwhile", write_what_somebody_changed),
    ("change what is read-only", write_to_read_only),
    ("two tenants, one path", two_tenants),
)


def demonstrate_store(name: str, source: Path, most: int = MOST) -> int:
    """Serve the store, run every step with files of ``source``, print the report, and return the exit code."""
    started = time.monotonic()
    report = Report()
    with STORES[name]() as store:
        report.announce(f"{store.title}, at {LOOPBACK}:{store.raw.port}")
        anyio.run(_run, source, most, store, report)
    with socket.socket() as probe:
        ended = probe.connect_ex((LOOPBACK, store.raw.port)) != 0
    report.claim("the server is gone", f"port {store.raw.port} is {'closed' if ended else 'open'}", ended)
    print()
    report.show()
    print(f"\n{report.verdict()} ({time.monotonic() - started:.1f} s)")
    return 0 if report.holds else 1


async def _run(source: Path, most: int, store: Store, report: Report) -> None:
    async with open_bucket_stage(source, most, store, report) as stage:
        for number, (title, step) in enumerate(BUCKET_STEPS, 1):
            report.announce(f"{number}. {title}")
            try:
                await step(stage)
            except* MoorageError as errors:
                for error in errors.exceptions:
                    report.claim(title, str(error), holds=False)
    leftovers = [key for key in store.raw.keys("") if ".moorage" in key]
    pending = store.raw.pending_uploads()
    report.claim(
        "no probe, temporary or upload is left",
        f"{len(leftovers)} keys, {len(pending)} uploads",
        not leftovers and not pending,
    )
