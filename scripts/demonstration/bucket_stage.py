"""Where the tour of a store takes place: four mounts on one bucket, memory, and a part of the standard library."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from scripts.demonstration.disk import files_below
from scripts.demonstration.report import Report
from scripts.demonstration.stores import ADMIN, TEAM, Store

from moorage import CompositeFilesystem, Filesystem, MemoryFilesystem, Mountable, RequestContext, TenantCache
from moorage_local import LocalFilesystem

WORK: Final = "work/"
"""The prefix behind ``/bucket``."""

ARCHIVE: Final = "archive/"
"""The prefix behind ``/archive``, read-only."""

TENANTS: Final = {TEAM: TEAM, "globex": ADMIN}
"""Whose credentials each tenant has; the prefix is the tenant's name."""


@dataclass(frozen=True, slots=True)
class BucketStage:
    """The tree, and what is behind it.

    Attributes:
        source: behind ``/python``, read-only: the standard library itself.
        wanted: the files of it that are imported.
    """

    tree: CompositeFilesystem
    report: Report
    source: Path
    wanted: dict[str, os.stat_result]
    store: Store


@asynccontextmanager
async def open_bucket_stage(source: Path, most: int, store: Store, report: Report) -> AsyncGenerator[BucketStage]:
    """``most`` bounds the files that are imported."""
    store.raw.put(f"{ARCHIVE}kept.txt", b"kept")

    def home(context: RequestContext) -> Filesystem:
        tenant = str(context["tenant"])
        return store.open(tenant, TENANTS[tenant])

    wanted = dict(islice(files_below(source, wanted_only=True).items(), most))
    async with TenantCache(home, size=8) as tenants:
        mounts: dict[str, Mountable] = {
            "/bucket": store.open(WORK),
            "/archive": store.open(ARCHIVE, read_only=True),
            "/memory": MemoryFilesystem(),
            "/python": LocalFilesystem(source, read_only=True),
            "/me": tenants,
        }
        async with CompositeFilesystem(mounts) as tree:
            yield BucketStage(tree, report, source, wanted, store)
