"""What commands write cannot change what the next command is shown."""

from __future__ import annotations

import ctypes
import platform
import sys
from pathlib import Path

import pytest

from moorage import InvalidArgumentError
from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions, MountState

pytestmark = pytest.mark.anyio


async def test_no_variable_of_a_command_tells_the_loader_anything_outside(
    isolated: LocalSandbox, tmp_path: Path
) -> None:
    """Else a library that a command has written would run there; here the loader would write a log."""
    env = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "log")}
    result = await isolated.execute_command("echo $LD_DEBUG_OUTPUT", options=ExecuteOptions(env=env))
    assert f"\n{tmp_path}/log\n" in result.stdout  # after what the loader says inside, where it finds no such directory
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("source", ["home/docs", "home/..", "out/docs", "out/.."])
async def test_no_mount_from_where_commands_write(tmp_path: Path, source: str, *, read_only: bool) -> None:
    for name in ("home/docs", "out/docs"):
        (tmp_path / name).mkdir(parents=True)
    sandbox = LocalSandbox(tmp_path / "home", isolation="bwrap", read_write_paths=[tmp_path / "out"])
    mount = await sandbox.mount("/docs", str(tmp_path / source), read_only=read_only)
    allowed = read_only and source.endswith("..")
    assert mount.state is (MountState.MOUNTED if allowed else MountState.UNAVAILABLE)
    assert allowed or "apart" in mount.message
    result = await sandbox.execute_command("ls -d /docs")
    assert (result.exit_code == 0) is allowed
    await sandbox.destroy()


async def test_a_read_only_mount_of_what_is_writable_is_refused(isolated: LocalSandbox, directory: Path) -> None:
    assert (await isolated.mount("/same", str(directory), read_only=True)).state is MountState.UNAVAILABLE
    assert (await isolated.mount("/again", str(directory), read_only=False)).state is MountState.MOUNTED


async def test_a_mount_inside_another_mounts_storage_waits_for_its_end(isolated: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    await isolated.mount("/outer", str(tmp_path / "outer"), read_only=False)
    inner = await isolated.mount("/inner", str(tmp_path / "outer" / "inner"), read_only=False)
    assert inner.state is MountState.UNAVAILABLE
    await isolated.unmount("/outer")
    assert (await isolated.execute_command("ls -d /inner")).exit_code == 0


@pytest.mark.parametrize("option", ["read_only_paths", "read_write_paths"])
def test_no_path_inside_the_working_directory(directory: Path, option: str) -> None:
    (directory / "tools").mkdir()
    with pytest.raises(InvalidArgumentError, match="in each other"):
        LocalSandbox(directory, isolation="bwrap", **{option: [directory / "tools"]})  # type: ignore[arg-type]


async def test_a_link_in_the_place_of_a_mounts_directory_is_not_followed(
    isolated: LocalSandbox, tmp_path: Path
) -> None:
    (tmp_path / "up" / "notes").mkdir(parents=True)
    (tmp_path / "elsewhere" / "notes").mkdir(parents=True)
    await isolated.mount("/notes", str(tmp_path / "up" / "notes"), read_only=False)
    (tmp_path / "up").rename(tmp_path / "away")
    (tmp_path / "up").symlink_to(tmp_path / "elsewhere")
    assert (await isolated.execute_command("touch /notes/file")).exit_code != 0
    assert [mount.state for mount in isolated.mounts] == [MountState.UNAVAILABLE]
    with pytest.raises(SandboxError):
        await isolated.write_files({"/notes/file": b""})
    assert list((tmp_path / "elsewhere" / "notes").iterdir()) == []


async def test_a_link_in_the_place_of_the_working_directory_is_not_followed(
    isolated: LocalSandbox, directory: Path, tmp_path: Path
) -> None:
    await isolated.start()
    directory.rename(tmp_path / "away")
    directory.symlink_to(tmp_path)
    try:
        with pytest.raises(SandboxError, match="a link"):
            await isolated.execute_command("true")
        with pytest.raises(SandboxError, match="a link"):
            await isolated.write_files({"file": b""})
    finally:
        directory.unlink()
        (tmp_path / "away").rename(directory)


async def test_no_directory_is_made_through_a_link_at_a_mount_point(isolated: LocalSandbox, tmp_path: Path) -> None:
    for name in ("data/a/b", "inner", "host"):
        (tmp_path / name).mkdir(parents=True)
    await isolated.mount("/data", str(tmp_path / "data"), read_only=False)
    assert (await isolated.mount("/data/a/b", str(tmp_path / "inner"), read_only=False)).state is MountState.MOUNTED
    swap = await isolated.execute_command(f"mv /data/a /data/c && ln -s {tmp_path}/host /data/a")
    assert swap.exit_code == 0
    assert (await isolated.execute_command("true")).exit_code == 0
    assert list((tmp_path / "host").iterdir()) == []
    assert [mount.state for mount in isolated.mounts] == [MountState.MOUNTED, MountState.UNAVAILABLE]


KEYRING = "import ctypes; print(ctypes.CDLL(None).syscall(250, 0, ctypes.c_long(-3), 0))"


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="the call's number is another")
async def test_the_session_keyring_is_its_own(isolated: LocalSandbox) -> None:
    ours = ctypes.CDLL(None).syscall(250, 0, ctypes.c_long(-3), 0)
    if ours < 0:
        pytest.skip("this machine keeps the call from everybody")
    result = await isolated.execute_command("/usr/bin/python3", ["-c", KEYRING])
    assert result.exit_code == 0
    assert int(result.stdout) != ours


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
async def test_a_time_limit_that_is_none_is_refused(sandbox: LocalSandbox, seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match="timeout"):
        await sandbox.execute_command("true", options=ExecuteOptions(timeout=seconds))


async def test_half_a_surrogate_pair_is_refused(sandbox: LocalSandbox) -> None:
    with pytest.raises(SandboxError, match="surrogate"):
        await sandbox.execute_command("true", options=ExecuteOptions(cwd="\ud800"))
    with pytest.raises(SandboxError, match="surrogate"):
        await sandbox.write_files({"\ud800": b""})
    with pytest.raises(InvalidArgumentError, match="surrogate"):
        await sandbox.execute_command("true", options=ExecuteOptions(env={"NAME": "\ud800"}))
