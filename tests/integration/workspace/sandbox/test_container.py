"""What the container program is told, and what becomes of the container; on the stand-in, which runs everywhere."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr
from tests.integration.workspace.sandbox.standin import StandIn, install

from moorage import InvalidArgumentError
from moorage_workspace import IsolationUnavailableError, MountState, SandboxError, SandboxLimits, SpawnOptions
from moorage_workspace.sandbox.container import ContainerSandbox
from moorage_workspace.sandbox.container_arguments import Bind, ContainerSettings, run_arguments

pytestmark = pytest.mark.anyio


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return install(tmp_path, monkeypatch)


@pytest.fixture
async def sandbox(podman: StandIn, tmp_path: Path) -> AsyncIterator[ContainerSandbox]:
    (tmp_path / "work").mkdir()
    sandbox = ContainerSandbox("any", tmp_path / "work", program="podman")
    yield sandbox
    await sandbox.destroy()


def settings(*binds: Bind, network: bool = False, limits: SandboxLimits | None = None) -> ContainerSettings:
    return ContainerSettings(
        image="img", home="/workspace", binds=binds, network=network, user="1:2", limits=limits or SandboxLimits()
    )


def test_a_container_is_walled_in() -> None:
    words = run_arguments("docker", "moorage-x", settings())
    assert words[0] == "run"
    assert {
        *("--network=none", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--user=1:2", "--rm"),
        *("--tmpfs=/tmp:rw,nosuid,nodev,mode=1777", "--entrypoint=/bin/sh", "--interactive", "--pids-limit=1024"),
    } <= set(words)
    assert words[-3:-1] == ["img", "-c"]


def test_podmans_own_settings_cannot_take_walls_away() -> None:
    words = run_arguments("podman", "moorage-x", settings())
    assert {"--pid=private", "--ipc=private", "--uts=private", "--http-proxy=false"} <= set(words)


def test_the_network_must_be_asked_for() -> None:
    assert not [word for word in run_arguments("docker", "x", settings(network=True)) if word.startswith("--network")]


def test_every_limit_is_told() -> None:
    limits = SandboxLimits(processes=5, memory_bytes=10_000_000, cpu_seconds=6, file_bytes=7, open_files=80)
    words = set(run_arguments("docker", "x", settings(limits=limits)))
    assert {"--pids-limit=5", "--memory=10000000b", "--memory-swap=10000000b"} <= words
    assert {"--ulimit=cpu=6:6", "--ulimit=fsize=7:7", "--ulimit=nofile=80:80"} <= words


@pytest.mark.parametrize(
    ("bind", "text"),
    [
        (Bind("/a b", "/w", read_only=False), "type=bind,source=/a b,target=/w"),
        (Bind("/a,b", "/w", read_only=True), 'type=bind,"source=/a,b",target=/w,readonly'),
        (Bind('/a"b', "/w,readonly", read_only=False), 'type=bind,"source=/a""b","target=/w,readonly"'),
    ],
)
def test_no_path_changes_what_a_mount_means(bind: Bind, text: str) -> None:
    assert f"--mount={text}" in run_arguments("docker", "x", settings(bind))


async def test_no_secret_stands_in_an_argument_list(podman: StandIn, sandbox: ContainerSandbox) -> None:
    sandbox.set_env({"TOKEN": SecretStr("value-of-the-token"), "PATH": "/bin:/usr/bin"})
    result = await sandbox.execute_command("echo $TOKEN $PATH")
    assert result.stdout == "value-of-the-token /bin:/usr/bin\n"
    assert "value-of-the-token" not in repr(podman.calls())
    assert sandbox.secrets == ("value-of-the-token",)


async def test_variables_cannot_steer_the_container_program(sandbox: ContainerSandbox, tmp_path: Path) -> None:
    sandbox.set_env({"PATH": str(tmp_path), "LD_PRELOAD": "/nowhere.so", "HOME": "/nowhere"})
    assert (await sandbox.execute_command("/bin/echo", ["fine"])).stdout == "fine\n"


@pytest.mark.parametrize("name", ["", "A=B", "1A", "A B", "A;id", "Ä"])
async def test_what_is_no_name_of_a_variable_is_refused(sandbox: ContainerSandbox, name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        sandbox.set_env({name: "x"})


async def test_one_container_serves_every_command_and_goes_with_the_sandbox(
    podman: StandIn, sandbox: ContainerSandbox
) -> None:
    for _ in range(2):
        await sandbox.execute_command("true")
    assert [call[0] for call in podman.calls()].count("run") == 1
    assert len(podman.containers()) == 1
    await sandbox.destroy()
    assert podman.containers() == []


async def test_a_container_that_has_gone_is_replaced(podman: StandIn, sandbox: ContainerSandbox) -> None:
    await sandbox.execute_command("true")
    result = await sandbox.execute_command("kill -KILL 2; sleep 600")
    assert (result.exit_code, result.killed) == (137, True)
    assert (await sandbox.execute_command("echo again")).stdout == "again\n"


async def test_a_mount_waits_for_what_runs(sandbox: ContainerSandbox, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/file").write_text("x")
    pid = await sandbox.processes.spawn("read line; echo got", options=SpawnOptions(keep_stdin=True))
    mount = await sandbox.mount("/notes", str(tmp_path / "notes"), read_only=True)
    assert (mount.state, mount.message) == (MountState.PENDING, "visible once what runs now has ended")
    assert (await sandbox.execute_command("cat /notes/file")).exit_code != 0
    await sandbox.processes.write_stdin(pid, b"\n")
    assert (await sandbox.processes.wait(pid)).stdout == "got\n"
    assert (await sandbox.execute_command("cat /notes/file")).stdout == "x"
    assert sandbox.mounts[0].state is MountState.MOUNTED


async def test_a_program_that_fails_is_told_without_its_words(
    podman: StandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox = ContainerSandbox("any", tmp_path / "missing", program="podman")
    with caplog.at_level(logging.WARNING), pytest.raises(SandboxError) as refused:
        await sandbox.start()
    assert str(tmp_path) not in str(refused.value)
    assert str(tmp_path) in caplog.text
    await sandbox.destroy()
    assert podman.containers() == []


def test_no_container_program_is_told_at_construction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsolationUnavailableError, match="podman"):
        ContainerSandbox("any", tmp_path)


@pytest.mark.parametrize(
    ("image", "directory"), [("--privileged", "/w"), ("any", "w"), ("any", "/"), ("any", "/proc/x")]
)
def test_what_would_be_taken_for_an_option_or_hide_the_system_is_refused(
    podman: StandIn, tmp_path: Path, image: str, directory: str
) -> None:
    with pytest.raises(InvalidArgumentError):
        ContainerSandbox(image, tmp_path, program="podman", directory=directory)


ORPHANED = """
import sys, anyio
from moorage_workspace.sandbox.container import ContainerSandbox

async def main():
    sandbox = ContainerSandbox("any", sys.argv[1], program="podman")
    await sandbox.processes.spawn("sleep 600")
    print("running", flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


def test_the_container_ends_with_an_application_that_was_killed(podman: StandIn, tmp_path: Path) -> None:
    application = subprocess.Popen([sys.executable, "-c", ORPHANED, str(tmp_path)], stdout=subprocess.PIPE)
    assert application.stdout is not None
    assert application.stdout.readline() == b"running\n"
    application.stdout.close()
    assert len(podman.containers()) == 1
    os.kill(application.pid, signal.SIGKILL)
    application.wait()
    anyio.run(_until_gone, podman)


async def _until_gone(podman: StandIn) -> None:
    with anyio.fail_after(60):
        while podman.containers():  # noqa: ASYNC110 (nobody is left to tell)
            await anyio.sleep(0.05)
