"""What an isolated command can and cannot see and do, beyond what every sandbox must hold."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions, MountState

pytestmark = pytest.mark.anyio


async def out(sandbox: LocalSandbox, command: str) -> str:
    result = await sandbox.execute_command(command)
    assert result.exit_code == 0, result
    return result.stdout


@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"])
async def test_the_kernels_settings_cannot_be_written(isolated: LocalSandbox, path: str) -> None:
    """As root they could be, also without capabilities: a core pattern is a program that the host runs."""
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    result = await isolated.execute_command(f"exec 3>>{path}")
    assert result.exit_code != 0
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


async def test_no_file_of_the_kernel_is_writable(isolated: LocalSandbox) -> None:
    found = await out(isolated, "find /proc -path '/proc/[0-9]*' -prune -o -type f -perm /222 -print 2>/dev/null")
    probe = "for file in $(cat list); do (exec 3>>$file) 2>/dev/null && echo $file; done; true"
    await isolated.write_files({"list": found.encode()})
    assert await out(isolated, probe) == ""


@pytest.mark.parametrize("place", ["/", "/dev", "/etc", "/usr", "/run", "/proc", "/var"])
async def test_only_the_workspace_and_tmp_can_be_written(isolated: LocalSandbox, place: str) -> None:
    result = await isolated.execute_command(f"touch {place}/new")
    assert result.exit_code != 0
    assert await out(isolated, "touch /tmp/a /var/tmp/b /dev/shm/c here && echo done") == "done\n"


async def test_it_sees_a_system_and_no_machine(isolated: LocalSandbox) -> None:
    listing = set((await out(isolated, "ls /")).split())
    assert {"workspace", "usr", "tmp", "proc", "dev", "etc"} <= listing
    assert not listing & {"root", "home", "sys", "mnt", "opt", "srv", "boot", "media", "work"}
    assert "host-side-" not in await out(isolated, "ls -d /tmp/* 2>/dev/null; true")


async def test_no_key_of_the_machine_is_there(isolated: LocalSandbox) -> None:
    paths = "/etc/ssl/private /etc/shadow /etc/ssh /etc/gitconfig /etc/machine-id /run/docker.sock /etc/hosts"
    assert await out(isolated, f"ls -d {paths} 2>/dev/null; true") == ""
    assert await out(isolated, "ls -A /run /var") == "/run:\n\n/var:\ntmp\n"


async def test_users_of_the_machine_are_unknown(isolated: LocalSandbox) -> None:
    assert await out(isolated, "id -un; cut -d: -f1 /etc/passwd; hostname") == "agent\nagent\nnobody\nsandbox\n"


async def test_what_set_it_up_shows_no_host_path(isolated: LocalSandbox, directory: Path) -> None:
    shown = await out(isolated, "cat /proc/1/cmdline /proc/1/environ /proc/self/environ; env; readlink /proc/self/cwd")
    assert "host-side-" not in shown
    assert sys.prefix not in shown
    assert "bwrap" in shown
    assert str(directory.parent / "host") not in shown


async def test_its_environment_is_what_was_given(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-yours")
    monkeypatch.setenv("PATH", f"/root/own/bin:/usr/sbin:{os.environ['PATH']}")
    sandbox = LocalSandbox(directory, isolation="bwrap", env={"TOKEN": SecretStr("s3cret"), "MODE": "test"})
    shown = dict(line.split("=", 1) for line in (await out(sandbox, "env")).splitlines())
    assert shown.pop("PATH").split(":")[0] == "/usr/sbin"
    assert {name: shown.get(name) for name in ("HOME", "TOKEN", "MODE")} == {
        "HOME": "/workspace",
        "TOKEN": "s3cret",
        "MODE": "test",
    }
    assert set(shown) <= {"HOME", "TOKEN", "MODE", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}
    assert sandbox.secrets == ("s3cret",)
    await sandbox.destroy()


async def test_no_further_namespaces(isolated: LocalSandbox) -> None:
    result = await isolated.execute_command("unshare --user --map-root-user true")
    assert result.exit_code != 0


async def test_the_sandboxs_root_is_no_way_out(isolated: LocalSandbox, directory: Path) -> None:
    assert await out(isolated, "cd / && cd ../../.. && pwd") == "/\n"
    assert await out(isolated, f"cd {directory} 2>/dev/null || echo nowhere") == "nowhere\n"


async def test_a_link_to_the_outside_leads_to_nothing(isolated: LocalSandbox, directory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not yours")
    (directory / "link").symlink_to(tmp_path / "secret")
    assert await out(isolated, "cat link 2>/dev/null || echo nothing") == "nothing\n"


@pytest.fixture
def port() -> int:
    """A server of this machine that greets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        with listener:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"hello\n")

    threading.Thread(target=greet, daemon=True).start()
    return int(listener.getsockname()[1])


@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_there_when_asked_for(directory: Path, port: int, *, network: bool) -> None:
    sandbox = LocalSandbox(directory, isolation="bwrap", network=network)
    command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && head -n1 <&3"
    result = await sandbox.execute_command(command)
    assert (result.exit_code == 0, result.stdout) == (network, "hello\n" if network else "")
    assert sandbox.get_info().network is network
    await sandbox.destroy()
    if not network:
        socket.create_connection(("127.0.0.1", port)).close()  # lets the server end


async def test_a_read_only_sandbox_changes_nothing(directory: Path) -> None:
    (directory / "file").write_text("kept")
    sandbox = LocalSandbox(directory, isolation="bwrap", read_only=True)
    result = await sandbox.execute_command("echo x > file; rm -f file; touch new; chmod 777 file")
    assert result.exit_code != 0
    with pytest.raises(SandboxError, match="read-only"):
        await sandbox.write_files({"file": b"x"})
    assert {path.name: path.read_text() for path in directory.iterdir()} == {"file": "kept"}
    await sandbox.destroy()


async def test_paths_of_the_machine_by_leave(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "hi").write_text("#!/bin/sh\necho hi\n")
    (tmp_path / "tools" / "hi").chmod(0o755)
    (tmp_path / "out").mkdir()
    sandbox = LocalSandbox(
        directory,
        isolation="bwrap",
        read_only_paths=[tmp_path / "tools"],
        read_write_paths=[tmp_path / "out"],
        env={"PATH": f"{tmp_path}/tools:/usr/bin:/bin"},
    )
    assert await out(sandbox, f"hi > {tmp_path}/out/said; cat {tmp_path}/out/said") == "hi\n"
    assert (await sandbox.execute_command(f"touch {tmp_path}/tools/new")).exit_code != 0
    assert (tmp_path / "out" / "said").read_text() == "hi\n"
    assert [path.name for path in (tmp_path / "tools").iterdir()] == ["hi"]
    await sandbox.destroy()


async def test_a_working_directory_that_vanished_is_told_without_its_path(
    isolated: LocalSandbox, directory: Path
) -> None:
    await isolated.start()
    shutil.rmtree(directory)
    with pytest.raises(SandboxError) as caught:
        await isolated.execute_command("true")
    assert "host-side-" not in str(caught.value)
    directory.mkdir()
    assert await out(isolated, "echo back") == "back\n"


async def test_a_mount_whose_directory_vanished_is_left_out(isolated: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    await isolated.mount("/notes", str(tmp_path / "notes"), read_only=False)
    (tmp_path / "notes").rmdir()
    assert await out(isolated, "ls -d /notes 2>/dev/null || echo none") == "none\n"
    [mount] = isolated.mounts
    assert mount.state is MountState.UNAVAILABLE
    (tmp_path / "notes").mkdir()
    assert await out(isolated, "ls -d /notes") == "/notes\n"
    assert isolated.mounts[0].state is MountState.MOUNTED


async def test_a_mount_in_a_mount_makes_no_directory_there(isolated: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "inner").mkdir()
    await isolated.mount("/notes", str(tmp_path / "notes"), read_only=False)
    mount = await isolated.mount("/notes/inner", str(tmp_path / "inner"), read_only=False)
    assert mount.state is MountState.UNAVAILABLE
    assert await out(isolated, "ls /notes") == ""
    assert list((tmp_path / "notes").iterdir()) == []
    await isolated.unmount("/notes/inner")
    (tmp_path / "notes" / "inner").mkdir()
    mount = await isolated.mount("/notes/inner", str(tmp_path / "inner"), read_only=False)
    assert mount.state is MountState.MOUNTED
    await out(isolated, "touch /notes/inner/file")
    assert (tmp_path / "inner" / "file").exists()


async def test_a_file_shows_the_same_bytes_inside_and_outside(isolated: LocalSandbox, directory: Path) -> None:
    (directory / "a").write_bytes(bytes(range(256)))
    result = await isolated.execute_command("cat > b; cmp a b", options=ExecuteOptions(stdin=bytes(range(256))))
    assert result.exit_code == 0
    assert (directory / "b").read_bytes() == bytes(range(256))
