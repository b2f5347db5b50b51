"""A workspace on a filesystem in memory, which a test can still look at when the workspace is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage import Filesystem, MemoryFilesystem
from moorage_workspace import Workspace

ASK: Mapping[str, Any] = {"require_approval": True}


def workspace(memory: MemoryFilesystem, **options: Any) -> Workspace:
    return Workspace(filesystem=Filesystem(memory.provider), **options)
