"""Nothing outlives whoever asked for it, and nothing is left of it in this process."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions, SandboxStatus, SpawnOptions
from moorage_workspace.testing.sleepers import Sleepers

pytestmark = pytest.mark.anyio

BOTH_LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])

OWNER = """
import os, sys, time, anyio
from moorage_workspace.sandbox.local import LocalSandbox

async def main():
    directory, isolation, command = sys.argv[1:4]
    sandbox = LocalSandbox(directory, isolation=isolation)
    if "background" in sys.argv:
        await sandbox.processes.spawn(command)
        print("started", flush=True)
        if "leave" in sys.argv:
            return
        if "fork" in sys.argv and os.fork() == 0:
            print("forked", os.getpid(), flush=True)
            time.sleep(1 << 20)
        await anyio.sleep_forever()
    print("started", flush=True)
    await sandbox.execute_command(command)

anyio.run(main, backend=sys.argv[4])
"""


def owner(directory: Path, isolation: str, command: str, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-W", "always", "-c", OWNER, str(directory), isolation, command, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def zombies_and_children() -> list[str]:
    """This process's children, by state and name."""
    return [
        stat.read_text()
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.exists() and f") Z {os.getpid()} " in stat.read_text()
    ]


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("mode", ["command", "background"])
async def test_a_killed_owner_takes_everything_along(
    directory: Path, isolation: str, sleepers: Sleepers, loop: str, mode: str
) -> None:
    command = f"setsid {sleepers.one()} & trap '' TERM; {sleepers.one()}"
    process = owner(directory, isolation, command, loop, mode)
    await sleepers.all_awake()
    process.kill()
    process.communicate()
    await sleepers.all_gone()


async def test_a_fork_of_a_killed_owner_keeps_nothing_alive(
    directory: Path, isolation: str, sleepers: Sleepers
) -> None:
    """It holds every descriptor that the owner had."""
    process = owner(directory, isolation, sleepers.one(), "asyncio", "background", "fork")
    assert process.stdout is not None
    fork = int(process.stdout.readline().removeprefix("forked "))
    try:
        await sleepers.all_awake()
        process.kill()
        process.wait()
        await sleepers.all_gone()
    finally:
        os.kill(fork, signal.SIGKILL)
        process.communicate()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("mode", ["command", "background"])
async def test_an_interrupt_ends_everything_quietly(
    directory: Path, isolation: str, sleepers: Sleepers, loop: str, mode: str
) -> None:
    process = owner(directory, isolation, f"setsid {sleepers.one()} & {sleepers.one()}", loop, mode)
    await sleepers.all_awake()
    process.send_signal(signal.SIGINT)
    _, errors = await anyio.to_thread.run_sync(process.communicate)
    assert sleepers.alive() == []
    assert errors.rstrip().splitlines()[-1] == "KeyboardInterrupt"
    assert "Warning" not in errors
    assert "never awaited" not in errors


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
async def test_the_event_loops_end_ends_background_processes(
    directory: Path, isolation: str, sleepers: Sleepers, loop: str
) -> None:
    process = owner(directory, isolation, sleepers.one(), loop, "background", "leave")
    _, errors = await anyio.to_thread.run_sync(process.communicate)
    assert (process.returncode, errors) == (0, "")
    assert sleepers.alive() == []


@BOTH_LOOPS
async def test_nothing_is_left_in_this_process(sandbox: LocalSandbox, sleepers: Sleepers) -> None:
    async def use() -> None:
        assert sandbox.processes is not None
        await sandbox.execute_command("echo out; echo err >&2", options=ExecuteOptions(stdin=b"in"))
        await sandbox.execute_command(sleepers.one(), options=ExecuteOptions(timeout=0.05))
        with anyio.move_on_after(0.05):
            await sandbox.execute_command(sleepers.one())
        with pytest.raises(SandboxError):
            await sandbox.execute_command("true", options=ExecuteOptions(cwd="missing"))
        pid = await sandbox.processes.spawn("cat", options=SpawnOptions(keep_stdin=True))
        await sandbox.processes.write_stdin(pid, b"x", close=True)
        await sandbox.processes.wait(pid)
        await sandbox.processes.kill(await sandbox.processes.spawn(sleepers.one()))

    await use()
    gc.collect()
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await use()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert zombies_and_children() == []
    assert sleepers.alive() == []


@BOTH_LOOPS
async def test_cancelled_at_any_moment_nothing_stays(sandbox: LocalSandbox, sleepers: Sleepers) -> None:
    await sandbox.start()
    for step in range(40):
        with anyio.move_on_after(step * 0.004):
            await sandbox.execute_command(f"setsid {sleepers.one()} & {sleepers.one()}")
        assert sleepers.alive() == []
    assert zombies_and_children() == []


async def test_the_caller_is_told_when_a_supervisor_was_killed(unsandboxed: LocalSandbox, sleepers: Sleepers) -> None:
    # The parent is a stand-in; its parent is the supervisor.
    command = (
        f"read -r _ _ _ supervisor _ < /proc/$PPID/stat; {sleepers.one()} & kill -KILL $supervisor; {sleepers.one()}"
    )
    result = await unsandboxed.execute_command(command)
    assert (result.exit_code, result.killed, result.timed_out) == (137, True, False)
    await sleepers.all_gone()
    assert (await unsandboxed.execute_command("echo fine")).stdout == "fine\n"


async def test_the_end_removes_the_control_groups_of_a_killed_supervisor(unsandboxed: LocalSandbox) -> None:
    await unsandboxed.start()
    groups = [Path(group.directory) for group in unsandboxed._control_groups()]
    for group in groups:
        group.mkdir()  # what is left when nobody could tidy up
    await unsandboxed.destroy()
    assert not any(group.exists() for group in groups)


async def test_stopping_while_commands_start_leaves_none(sandbox: LocalSandbox, sleepers: Sleepers) -> None:
    await sandbox.start()
    outcomes: list[str] = []

    async def command() -> None:
        try:
            result = await sandbox.execute_command(sleepers.one())
            outcomes.append("killed" if result.killed else "ran")
        except SandboxError:
            outcomes.append("refused")

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(command)
        await anyio.wait_all_tasks_blocked()
        await sandbox.stop()
        assert sleepers.alive() == []
    assert set(outcomes) <= {"killed", "refused"}
    assert len(outcomes) == 6


async def test_a_destroyed_one_refuses(sandbox: LocalSandbox) -> None:
    await sandbox.execute_command("true")
    await sandbox.destroy()
    assert sandbox.status is SandboxStatus.DESTROYED
    with pytest.raises(SandboxError, match="destroyed"):
        await sandbox.execute_command("true")


async def test_only_the_last_finished_processes_are_remembered(unsandboxed: LocalSandbox) -> None:
    running = await unsandboxed.processes.spawn("cat", options=SpawnOptions(keep_stdin=True))
    for _ in range(40):
        await unsandboxed.processes.wait(await unsandboxed.processes.spawn("true"))
    pids = [info.pid for info in await unsandboxed.processes.list()]
    assert pids == [running, *range(10, 42)]
    assert (await unsandboxed.processes.kill(running)).killed


async def test_a_process_that_could_not_start_says_so(unsandboxed: LocalSandbox) -> None:
    pid = await unsandboxed.processes.spawn("true", ["x" * (1 << 18)])
    result = await unsandboxed.processes.wait(pid)
    assert (result.exit_code, result.killed) == (126, False)
    assert result.stderr == "the command could not be started: Argument list too long\n"
    with pytest.raises(SandboxError, match="Argument list too long"):
        await unsandboxed.execute_command("true", ["x" * (1 << 18)])
