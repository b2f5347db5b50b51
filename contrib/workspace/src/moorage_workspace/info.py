"""What a workspace says of itself, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from moorage import FilesystemInfo
from moorage_workspace.sandbox.port import SandboxInfo

if TYPE_CHECKING:
    from moorage_workspace.session import Session


class WorkspaceStatus(StrEnum):
    """The life of a workspace."""

    PENDING = "pending"
    INITIALIZING = "initializing"
    READY = "ready"
    PAUSED = "paused"
    ERROR = "error"
    DESTROYING = "destroying"
    DESTROYED = "destroyed"


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Stands for what a resolver chooses for each request, and was not asked for."""

    provider: ClassVar[str] = "dynamic"


@dataclass(frozen=True, slots=True)
class FilesystemFacts(FilesystemInfo):
    """A filesystem as a workspace reports it; ``file_count`` is ``None`` unless it was asked for."""

    file_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceInfo:
    """Attributes:
    created_at, last_accessed_at: aware UTC.
    filesystem, sandbox: ``None`` where none is configured.
    """

    id: str
    name: str
    status: WorkspaceStatus
    created_at: datetime
    last_accessed_at: datetime
    filesystem: FilesystemFacts | Dynamic | None = None
    sandbox: SandboxInfo | Dynamic | None = None


async def of_filesystem(session: Session, count: bool, resolve: bool) -> FilesystemFacts | Dynamic | None:
    """``count`` walks the whole tree."""
    workspace = session.workspace
    if not resolve and workspace.has_filesystem_config and workspace.filesystem is None:
        return Dynamic()
    filesystem = await session.filesystem() if resolve else workspace.filesystem
    if filesystem is None:
        return None
    files = (await filesystem.du("/")).files if count else None
    info = filesystem.info()
    return FilesystemFacts(
        info.provider, info.read_only, info.status, info.labels, info.error, info.mounts, file_count=files
    )


async def of_sandbox(session: Session, resolve: bool) -> SandboxInfo | Dynamic | None:
    """What the sandbox says, with what became of the tree's mounts in it, and without host paths."""
    workspace = session.workspace
    if not resolve and workspace.has_sandbox_config and workspace.sandbox is None:
        return Dynamic()
    sandbox = await session.sandbox() if workspace.sandbox is None else workspace.sandbox
    if sandbox is None:
        return None
    gate = workspace.gate.knowing(secrets=sandbox.secrets, host_paths=sandbox.host_paths)
    info = sandbox.get_info()
    ours = {mount.path for mount in workspace.shell_mounts}
    mounts = (*workspace.shell_mounts, *(mount for mount in info.mounts if mount.path not in ours))
    return replace(
        info,
        working_directory=gate.redact(info.working_directory),
        error=None if info.error is None else gate.redact(info.error),
        mounts=tuple(replace(mount, source=None, message=gate.redact(mount.message)) for mount in mounts),
    )
