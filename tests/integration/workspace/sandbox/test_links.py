"""Mounts without isolation are links below the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.files import open_directory
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.places import Place, Places
from moorage_workspace.sandbox.port import ExecuteOptions, MountState

pytestmark = pytest.mark.anyio


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.mkdir()
    return path


async def test_a_mount_is_a_link_and_goes_with_the_sandbox(
    unsandboxed: LocalSandbox, directory: Path, notes: Path
) -> None:
    mount = await unsandboxed.mount("/deep/notes", str(notes), read_only=False)
    assert mount.state is MountState.MOUNTED
    result = await unsandboxed.execute_command("echo hi > deep/notes/file")
    assert result.exit_code == 0
    inside = await unsandboxed.execute_command("cat file", options=ExecuteOptions(cwd="/deep/notes"))
    assert inside.stdout == "hi\n"
    await unsandboxed.destroy()
    assert not (directory / "deep" / "notes").is_symlink()
    assert (notes / "file").read_text() == "hi\n"


async def test_without_isolation_nothing_can_be_read_only(
    unsandboxed: LocalSandbox, directory: Path, notes: Path
) -> None:
    mount = await unsandboxed.mount("/notes", str(notes), read_only=True)
    assert mount.state is MountState.UNSUPPORTED
    assert "file tools" in mount.message
    assert list(directory.iterdir()) == []


async def test_what_is_there_already_stays(unsandboxed: LocalSandbox, directory: Path, notes: Path) -> None:
    (directory / "notes").write_text("mine")
    mount = await unsandboxed.mount("/notes", str(notes), read_only=False)
    assert mount.state is MountState.ERROR
    await unsandboxed.unmount("/notes")
    assert (directory / "notes").read_text() == "mine"


async def test_a_directory_that_lies_there_needs_no_link(unsandboxed: LocalSandbox, directory: Path) -> None:
    (directory / "notes").mkdir()
    mount = await unsandboxed.mount("/notes", str(directory / "notes"), read_only=False)
    assert mount.state is MountState.MOUNTED
    await unsandboxed.destroy()
    assert (directory / "notes").is_dir()


async def test_a_link_that_a_command_laid_leads_no_mount_out(
    unsandboxed: LocalSandbox, directory: Path, notes: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (directory / "deep").symlink_to(tmp_path / "outside")
    mount = await unsandboxed.mount("/deep/notes", str(notes), read_only=False)
    assert mount.state is MountState.ERROR
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_link_that_was_replaced_is_not_ours_to_take(
    unsandboxed: LocalSandbox, directory: Path, notes: Path
) -> None:
    await unsandboxed.mount("/notes", str(notes), read_only=False)
    await unsandboxed.execute_command("rm notes && echo mine > notes")
    await unsandboxed.unmount("/notes")
    assert (directory / "notes").read_text() == "mine\n"


async def test_no_path_of_the_host_is_shown(unsandboxed: LocalSandbox, directory: Path, notes: Path) -> None:
    mount = await unsandboxed.mount("/notes", str(notes), read_only=False)
    assert str(notes) not in repr(mount)
    assert unsandboxed.host_paths == {str(directory): ".", str(notes): "./notes"}
    assert str(directory) not in unsandboxed.get_instructions()


async def test_files_are_written_and_keep_their_mode(sandbox: LocalSandbox, directory: Path) -> None:
    await sandbox.write_files({"run": b"#!/bin/sh\necho one\n", "a/b/c": b"new"})
    (directory / "run").chmod(0o755)
    await sandbox.write_files({"./run": b"#!/bin/sh\necho two\n"})
    assert (await sandbox.execute_command("./run; cat a/b/c")).stdout == "two\nnew"
    assert sorted(path.name for path in directory.iterdir()) == ["a", "run"]


@pytest.mark.parametrize("path", ["", ".", "a/", "..", "../x", "a/..", "/x", "link/x", "\0"])
async def test_files_are_written_nowhere_else(
    sandbox: LocalSandbox, directory: Path, tmp_path: Path, path: str
) -> None:
    (directory / "link").symlink_to(tmp_path)
    with pytest.raises(SandboxError) as caught:
        await sandbox.write_files({path: b"x"})
    assert str(directory) not in str(caught.value)
    assert [entry.name for entry in directory.iterdir()] == ["link"]
    assert list(tmp_path.iterdir()) == []


async def test_a_link_at_the_files_own_place_is_followed_inside_alone(
    sandbox: LocalSandbox, directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").write_text("kept")
    (directory / "out").symlink_to(tmp_path / "target")
    (directory / "in").symlink_to("file")
    with pytest.raises(SandboxError, match="leads out"):
        await sandbox.write_files({"out": b"new"})
    await sandbox.write_files({"in": b"new"})
    assert (tmp_path / "target").read_text() == "kept"
    assert (directory / "in").is_symlink()
    assert (directory / "file").read_text() == "new"


async def test_a_link_that_comes_in_between_is_no_way_out(directory: Path, tmp_path: Path) -> None:
    (directory / "sub").mkdir()
    located = Places(Place("/workspace", str(directory))).locate("sub/deep")
    (directory / "sub").rmdir()
    (directory / "sub").symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_directory(located)
    assert list(tmp_path.iterdir()) == []
