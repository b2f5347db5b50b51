"""Mounts in the shell: which are shown, as what, and why not the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import (
    Filesystem,
    Limits,
    MemoryFilesystem,
    Prefix,
    Provider,
    ReadOnly,
    Tracing,
)
from moorage_local import LocalFilesystem, LocalProvider
from moorage_workspace import (
    MountRequest,
    MountState,
    SandboxError,
    SandboxMount,
    SandboxUnsupportedError,
    Workspace,
)
from moorage_workspace.mounting import native_path

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def shown(mounts: dict[str, Any], sandbox: ToySandbox, **options: Any) -> dict[str, tuple[MountState, str]]:
    """What became of each mount after the workspace started."""
    async with Workspace(mounts=mounts, sandbox=sandbox, **options) as workspace:
        assert [mount.path for mount in workspace.shell_mounts] == sorted(mounts)
        return {mount.path: (mount.state, mount.message) for mount in workspace.shell_mounts}


async def test_local_ones_are_bound_and_read_only_ones_read_only(tmp_path: Path) -> None:
    sandbox = ToySandbox()
    mounts = {
        "/notes": LocalFilesystem(tmp_path / "notes"),
        "/manual": LocalFilesystem(tmp_path / "manual", read_only=True),
        "/data": MemoryFilesystem(),
        "/me": lambda context: MemoryFilesystem(),
    }
    states = await shown(mounts, sandbox)
    assert states["/notes"] == states["/manual"] == (MountState.MOUNTED, "")
    assert states["/data"][0] is MountState.UNAVAILABLE
    assert "FUSE" in states["/data"][1]
    assert states["/me"][0] is MountState.UNAVAILABLE
    assert "each request" in states["/me"][1]
    assert [line for line in sandbox.log if line.startswith("mount")] == ["mount /manual ro", "mount /notes rw"]


async def test_they_are_bound_once_and_before_the_first_command(tmp_path: Path) -> None:
    sandbox = ToySandbox()
    workspace = Workspace(mounts={"/notes": LocalFilesystem(tmp_path)}, sandbox=sandbox)
    assert [mount.state for mount in workspace.shell_mounts] == [MountState.PENDING]

    async def run() -> None:
        assert (await workspace.call_tool("workspace_execute_command", {"command": "ls"})).ok

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(run)
    assert sandbox.log.count("mount /notes rw") == 1
    assert sandbox.log[0] == "mount /notes rw"
    await workspace.destroy()


async def test_they_are_bound_again_after_destroy(tmp_path: Path) -> None:
    sandbox = ToySandbox()
    workspace = Workspace(mounts={"/notes": LocalFilesystem(tmp_path)}, sandbox=sandbox)
    for _ in range(2):
        async with workspace:
            assert [mount.state for mount in workspace.shell_mounts] == [MountState.MOUNTED]
        assert [mount.state for mount in workspace.shell_mounts] == [MountState.PENDING]
    assert sandbox.log.count("mount /notes rw") == 2


async def test_what_the_sandbox_has_already_is_not_bound_twice(tmp_path: Path) -> None:
    sandbox = ToySandbox()
    await sandbox.mount("/notes", str(tmp_path), read_only=False)
    await shown({"/notes": LocalFilesystem(tmp_path)}, sandbox)
    assert sandbox.log.count("mount /notes rw") == 1


@pytest.mark.parametrize("read_only", [False, True])
async def test_the_shells_own_directory_is_shown_at_its_own_path_already(tmp_path: Path, read_only: bool) -> None:
    sandbox = ToySandbox(host=str(tmp_path))
    own = sandbox.host_paths[str(tmp_path)]
    states = await shown({own: LocalFilesystem(tmp_path, read_only=read_only)}, sandbox)
    assert states == {own: (MountState.MOUNTED, "")}
    assert (f"mount {own} ro" in sandbox.log) is read_only  # only the sandbox knows whether it can hold that
    assert f"mount {own} rw" not in sandbox.log


@pytest.mark.parametrize(
    ("wrap", "read_only"),
    [
        (lambda disk: disk, False),
        (ReadOnly, True),
        (Tracing, False),
        (lambda disk: Tracing(ReadOnly(disk)), True),
        (lambda disk: ReadOnly(Tracing(disk)), True),
        (lambda disk: Limits(disk, max_in_flight=3), False),
    ],
)
async def test_read_only_is_a_restriction_that_a_bind_can_keep(
    tmp_path: Path, wrap: Callable[[Provider], Provider], read_only: bool
) -> None:
    async with Filesystem(wrap(LocalProvider(tmp_path))) as filesystem:
        assert await native_path(filesystem) == (str(tmp_path), read_only)


@pytest.mark.parametrize(
    "wrap",
    [Prefix, lambda disk, part: ReadOnly(Prefix(disk, part)), lambda disk, part: Prefix(ReadOnly(disk), part)],
)
async def test_a_prefix_is_bound_as_its_directory(tmp_path: Path, wrap: Any) -> None:
    (tmp_path / "part").mkdir()
    async with Filesystem(wrap(LocalProvider(tmp_path), "part")) as filesystem:
        assert (await native_path(filesystem))[0] == str(tmp_path / "part")


class Upper(ReadOnly):
    """A wrapper that read-only is only a part of."""


@pytest.mark.parametrize(
    "wrap",
    [
        lambda disk: Limits(disk, max_file_size=10),
        lambda disk: ReadOnly(Limits(disk, max_file_size=10)),
        lambda disk: Limits(ReadOnly(disk), max_file_size=10),
        lambda disk: Tracing(Limits(disk, max_file_size=10)),
        Upper,
    ],
)
async def test_the_refusal_of_other_wrappers_stands(tmp_path: Path, wrap: Callable[[Provider], Provider]) -> None:
    async with Filesystem(wrap(LocalProvider(tmp_path))) as filesystem:
        assert (await native_path(filesystem))[0] is None
        states = await shown({"/a": filesystem}, ToySandbox())
        assert states["/a"][0] is MountState.UNAVAILABLE


async def test_a_mount_with_others_inside_it_stays_out_so_that_nobody_looks_behind_them(tmp_path: Path) -> None:
    sandbox = ToySandbox()
    mounts = {
        "/a": LocalFilesystem(tmp_path / "outer"),
        "/a/secret": MemoryFilesystem(),
        "/a/b": LocalFilesystem(tmp_path / "inner"),
    }
    states = await shown(mounts, sandbox, nested_mounts=True)
    assert [state for state, _ in states.values()] == [
        MountState.UNAVAILABLE,
        MountState.MOUNTED,
        MountState.UNAVAILABLE,
    ]
    assert [line for line in sandbox.log if line.startswith("mount")] == ["mount /a/b rw"]


async def test_the_root_of_the_tree_is_no_mount_of_the_shell(tmp_path: Path) -> None:
    states = await shown({"/": LocalFilesystem(tmp_path)}, ToySandbox())
    assert states["/"][0] is MountState.UNSUPPORTED


class Failing(ToySandbox):
    """Cannot mount; starts all the same."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        raise self.error


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (SandboxUnsupportedError("no mounts here"), MountState.UNSUPPORTED, "no mounts here"),
        (SandboxError("no room"), MountState.ERROR, "no room"),
        (OSError("/srv/host/secret"), MountState.ERROR, "it could not be mounted (OSError)"),
    ],
)
async def test_a_mount_that_fails_takes_nothing_down(
    tmp_path: Path, error: Exception, state: MountState, message: str
) -> None:
    states = await shown({"/a": LocalFilesystem(tmp_path)}, Failing(error))
    assert states["/a"] == (state, message)


async def test_a_filesystem_that_does_not_open_is_an_error_of_its_mount_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sandbox = ToySandbox()
    states = await shown(
        {"/a": LocalFilesystem(tmp_path / "file" / "below"), "/b": LocalFilesystem(tmp_path / "b")}, sandbox
    )
    assert states["/a"][0] is MountState.ERROR
    assert str(tmp_path) not in states["/a"][1]
    assert states["/b"][0] is MountState.MOUNTED


async def later(request: MountRequest) -> object:
    await anyio.lowlevel.checkpoint()
    return {"success": True}


def fails(request: MountRequest) -> object:
    raise ValueError("/srv/host/secret")


@pytest.mark.parametrize(
    ("answer", "state", "message"),
    [
        (lambda request: False, MountState.UNAVAILABLE, "the application keeps it out of the shell"),
        (lambda request: {"success": True}, MountState.MOUNTED, ""),
        (later, MountState.MOUNTED, ""),
        (lambda request: {"success": False, "error": "no key"}, MountState.ERROR, "no key"),
        (lambda request: {}, MountState.ERROR, "the application could not mount it"),
        (fails, MountState.ERROR, "the application's on_mount failed (ValueError)"),
    ],
)
async def test_on_mount_may_veto_or_take_over(
    tmp_path: Path, answer: Callable[[MountRequest], object], state: MountState, message: str
) -> None:
    sandbox = ToySandbox()
    states = await shown({"/a": LocalFilesystem(tmp_path), "/b": MemoryFilesystem()}, sandbox, on_mount=answer)
    assert states["/a"] == states["/b"] == (state, message)
    assert sandbox.mounts == ()


async def test_on_mount_is_told_which_and_may_let_go(tmp_path: Path) -> None:
    asked: list[MountRequest] = []
    sandbox, filesystem = ToySandbox(), LocalFilesystem(tmp_path, read_only=True)
    mounts: dict[str, Any] = {"/a": filesystem, "/me": lambda context: MemoryFilesystem()}
    workspace = Workspace(mounts=mounts, sandbox=sandbox, on_mount=asked.append)
    async with workspace:
        assert [mount.state for mount in workspace.shell_mounts] == [MountState.MOUNTED, MountState.UNAVAILABLE]
    assert asked == [MountRequest("/a", filesystem, True, sandbox, workspace)]


async def test_without_mounts_or_without_a_sandbox_there_are_none(tmp_path: Path) -> None:
    local = LocalFilesystem(tmp_path)
    assert Workspace(filesystem=local, sandbox=ToySandbox()).shell_mounts == ()
    assert Workspace(mounts={"/a": local}).shell_mounts == ()
