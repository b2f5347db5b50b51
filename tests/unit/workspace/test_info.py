"""What a workspace says of itself, as data."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import MemoryFilesystem, RequestContext
from moorage_local import LocalFilesystem
from moorage_workspace import Dynamic, FilesystemFacts, MountState, SandboxInfo, Workspace, WorkspaceStatus

pytestmark = pytest.mark.anyio


async def test_what_it_holds() -> None:
    workspace = Workspace(id="docs", name="Docs", filesystem=MemoryFilesystem(display_name="Scratch", read_only=True))
    info = await workspace.get_info()
    assert (info.id, info.name, info.status) == ("docs", "Docs", WorkspaceStatus.PENDING)
    assert info.created_at.tzinfo is UTC
    assert info.last_accessed_at >= info.created_at
    assert info.sandbox is None
    assert isinstance(info.filesystem, FilesystemFacts)
    assert (info.filesystem.provider, info.filesystem.read_only) == ("memory", True)
    assert info.filesystem.labels.display_name == "Scratch"
    assert info.filesystem.file_count is None


async def test_files_are_counted_when_asked_for() -> None:
    memory = MemoryFilesystem()
    for name in ("/a", "/b/c", "/b/d/e"):
        await memory.write_text(name, "")
    info = await Workspace(filesystem=memory).get_info(include_file_count=True)
    assert isinstance(info.filesystem, FilesystemFacts)
    assert info.filesystem.file_count == 3


async def test_the_mounts_and_what_the_shell_shows_of_them_are_there_without_host_paths(tmp_path: Path) -> None:
    mounts: dict[str, Any] = {"/notes": LocalFilesystem(tmp_path / "notes"), "/data": MemoryFilesystem()}
    sandbox = ToySandbox(host=str(tmp_path / "work"))
    async with Workspace(mounts=mounts, sandbox=sandbox) as workspace:
        await sandbox.mount("/extra", str(tmp_path / "extra"), read_only=True)
        info = await workspace.get_info()
    assert isinstance(info.filesystem, FilesystemFacts)
    assert [str(mount.path) for mount in info.filesystem.mounts] == ["/data", "/notes"]
    assert isinstance(info.sandbox, SandboxInfo)
    assert [(mount.path, mount.state) for mount in info.sandbox.mounts] == [
        ("/data", MountState.UNAVAILABLE),
        ("/notes", MountState.MOUNTED),
        ("/extra", MountState.MOUNTED),
    ]
    assert info.sandbox.working_directory == "/workspace"
    assert str(tmp_path) not in str(asdict(info))


async def test_what_a_resolver_chooses_is_reported_as_dynamic_unless_resolved() -> None:
    asked: list[RequestContext] = []

    def files(context: RequestContext) -> MemoryFilesystem:
        asked.append(context)
        return MemoryFilesystem()

    def shell(context: RequestContext) -> ToySandbox:
        asked.append(context)
        return ToySandbox()

    workspace = Workspace(filesystem=files, sandbox=shell)
    info = await workspace.get_info(resolve_dynamic_providers=False)
    assert (info.filesystem, info.sandbox) == (Dynamic(), Dynamic())
    assert info.filesystem is not None
    assert info.filesystem.provider == "dynamic"
    assert asked == []

    context = RequestContext()
    info = await workspace.get_info(context=context)
    assert info.filesystem is not None
    assert info.filesystem.provider == "memory"
    assert info.sandbox is not None
    assert info.sandbox.provider == "toy"
    assert all(one is context for one in asked)


async def test_static_ones_are_reported_whether_resolved_or_not() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=ToySandbox())
    info = await workspace.get_info(resolve_dynamic_providers=False)
    assert isinstance(info.filesystem, FilesystemFacts)
    assert isinstance(info.sandbox, SandboxInfo)
