"""Where the demonstration takes place: four storages in one tree, and the host directories behind them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.demonstration.report import Report

from moorage import CompositeFilesystem, MemoryFilesystem, Mountable, RequestContext, TenantCache
from moorage_local import LocalFilesystem

SECRET: Final = "not for the tree\n"


@dataclass(frozen=True, slots=True)
class Stage:
    """The tree, and where on the host its parts are.

    Attributes:
        source: behind ``/python``, read-only: the standard library itself.
        disk: behind ``/disk``.
        homes: holds a directory for each tenant, behind ``/me``.
        outside: what no path of the tree may reach.
    """

    tree: CompositeFilesystem
    report: Report
    source: Path
    disk: Path
    homes: Path
    outside: Path


@asynccontextmanager
async def open_stage(source: Path, room: Path, report: Report) -> AsyncGenerator[Stage]:
    disk, homes, outside = room / "disk", room / "homes", room / "outside"
    for directory in (disk, homes, outside):
        directory.mkdir()
    (outside / "secret.txt").write_text(SECRET)

    def home(context: RequestContext) -> LocalFilesystem:
        return LocalFilesystem(homes / {"acme": "acme", "globex": "globex"}[str(context["tenant"])])

    async with TenantCache(home, size=8) as tenants:
        mounts: dict[str, Mountable] = {
            "/disk": LocalFilesystem(disk),
            "/memory": MemoryFilesystem(),
            "/python": LocalFilesystem(source, read_only=True),
            "/me": tenants,
        }
        async with CompositeFilesystem(mounts) as tree:
            yield Stage(tree, report, source, disk, homes, outside)
