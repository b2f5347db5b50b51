"""The workspace: its options, and its life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.unit.workspace.toys import TOYS, ToySandbox, Watched, choose_sandbox

from moorage import (
    ConfigError,
    MemoryFilesystem,
    MemoryProvider,
)
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, NoProvidersError, Workspace, WorkspaceStatus

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_id_and_name_are_made_up_or_given() -> None:
    one, other = Workspace(filesystem=MemoryFilesystem()), Workspace(filesystem=MemoryFilesystem())
    assert one.id != other.id
    assert one.name == f"workspace-{one.id}"
    named = Workspace(id="docs", filesystem=MemoryFilesystem())
    assert (named.id, named.name) == ("docs", "workspace-docs")
    assert Workspace(name="Docs", filesystem=MemoryFilesystem()).name == "Docs"


def test_nothing_to_work_on_is_refused() -> None:
    with pytest.raises(NoProvidersError) as caught:
        Workspace()
    assert caught.value.code == "NO_PROVIDERS"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filesystem": MemoryFilesystem(), "mounts": {"/a": MemoryFilesystem()}}, "not both"),
        ({"mounts": {"/a": MemoryFilesystem()}, "sandbox": choose_sandbox}, "rather than a resolver"),
        ({"mounts": {}}, "mounts"),
        ({"filesystem": 3}, "filesystem must be a Filesystem.*not 3"),
        ({"sandbox": "bash"}, "sandbox must be a Sandbox.*not 'bash'"),
        ({"filesystem": MemoryFilesystem(), "path_policy": "absolute"}, "path_policy"),
        ({"filesystem": MemoryFilesystem(), "operation_timeout": 0}, "operation_timeout"),
        ({"filesystem": MemoryFilesystem(), "approval_timeout": -1}, "approval_timeout"),
        ({"filesystem": MemoryFilesystem(), "approval_timeout": None}, "approval_timeout"),
        ({"filesystem": MemoryFilesystem(), "secrets": "swordfish"}, "secrets must be a list"),
        ({"filesystem": MemoryFilesystem(), "secrets": b"swordfish"}, "secrets must be a list"),
        ({"filesystem": MemoryFilesystem(), "secrets": [b"swordfish"]}, "secrets must be a list"),
        ({"filesystem": MemoryFilesystem(), "approval_timeout": True}, "approval_timeout"),
        ({"filesystem": MemoryFilesystem(), "approver": "me"}, "approver must be a function"),
        *(({"filesystem": MemoryFilesystem(), "id": wrong}, "id must be") for wrong in ("", "a/b", "a\n", "ä", 3)),
        ({"filesystem": MemoryFilesystem(), "audit": print}, "audit must be a list"),
        ({"filesystem": MemoryFilesystem(), "instructions": {"dynamic": "resolve"}}, "dynamic_sandbox"),
        ({"filesystem": MemoryFilesystem(), "instructions": {"dynamic_sandbox": "maybe"}}, "placeholder"),
        ({"filesystem": MemoryFilesystem(), "tools": {FILES.READ_FILE: {"nmae": "view"}}}, "'name'"),
        ({"filesystem": MemoryFilesystem(), "extra_tools": [TOYS[0], TOYS[0]]}, "toy_look"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Workspace(**options)


def test_the_defaults_of_the_limits() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem())
    assert workspace.approval_timeout == 120.0
    assert workspace.operation_timeout is None
    assert workspace.path_policy == "virtual"
    assert workspace.offer.config.write_lock_timeout == 30.0


async def test_the_order_of_start_and_destroy() -> None:
    log: list[str] = []
    workspace = Workspace(filesystem=Watched(log), sandbox=ToySandbox(log))
    seen = [workspace.status]
    for step in (workspace.init, workspace.init, workspace.destroy, workspace.destroy):
        await step()
        seen.append(workspace.status)
    assert seen == [
        WorkspaceStatus.PENDING,
        *[WorkspaceStatus.READY] * 2,
        *[WorkspaceStatus.DESTROYED] * 2,
    ]
    assert log == ["filesystem start", "sandbox start", "sandbox destroy", "filesystem close"]


async def test_concurrent_calls_share_one_start_and_one_end() -> None:
    log: list[str] = []
    workspace = Workspace(filesystem=Watched(log), sandbox=ToySandbox(log))
    for step in (workspace.init, workspace.destroy):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(step)
    assert len(log) == 4


async def test_without_init_things_start_at_their_first_use() -> None:
    log: list[str] = []
    workspace = Workspace(filesystem=Watched(log), sandbox=ToySandbox(log))
    result = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a/b", "content": "one"})
    assert result.ok, result.text
    assert log == ["filesystem start"]
    await workspace.destroy()


async def test_a_failed_start_is_reported_and_tried_again() -> None:
    sandbox = ToySandbox()
    sandbox.failing = ValueError("no shell")
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=sandbox)
    with pytest.raises(ValueError, match="no shell"):
        await workspace.init()
    assert (await workspace.get_info()).status is WorkspaceStatus.ERROR
    sandbox.failing = None
    async with workspace:
        assert (await workspace.get_info()).status is WorkspaceStatus.READY


async def test_a_cancelled_start_leaves_it_pending() -> None:
    class Slow(MemoryProvider):
        async def start(self) -> None:
            await anyio.sleep_forever()

    workspace = Workspace(filesystem=Slow())
    with anyio.move_on_after(0.05):
        await workspace.init()
    assert workspace.status is WorkspaceStatus.PENDING


async def test_destroy_tries_everything_and_reports_all_errors_at_once() -> None:
    sandbox = ToySandbox()
    processes = sandbox.processes
    assert processes is not None
    workspace = Workspace(filesystem=Watched([], ValueError("files")), sandbox=sandbox)
    await workspace.init()
    async with workspace.session() as session:
        session.own_process(sandbox, await processes.spawn("x"), ends_with_session=True)
        processes.unkillable.add(1)
        sandbox.failing = ValueError("shell")
        with pytest.raises(ExceptionGroup) as caught:
            await workspace.destroy()
    assert sorted(str(error) for error in caught.value.exceptions) == ["1 stays", "files", "shell"]
    assert workspace.status is WorkspaceStatus.DESTROYED


async def test_destroy_deletes_no_file_and_init_opens_again(tmp_path: Path) -> None:
    workspace = Workspace(filesystem=LocalFilesystem(tmp_path / "made" / "here"))
    async with workspace:
        assert (tmp_path / "made" / "here").is_dir()
        assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "one"})).ok
    assert (tmp_path / "made" / "here" / "a").read_text() == "one"
    closed = await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
    assert closed.error is not None
    assert closed.error.code == "closed"
    async with workspace:
        assert "one" in (await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})).text
