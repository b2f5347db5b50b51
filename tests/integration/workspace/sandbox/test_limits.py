"""Limits hold, each command ends as it should, and no control group is left."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from moorage_workspace.sandbox.limits import SandboxLimits
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions
from moorage_workspace.testing.sleepers import Sleepers

pytestmark = pytest.mark.anyio

MIB = 1 << 20
HOLD = "import sys; kept = bytearray(300 << 20); print('held')"


def groups_of(sandbox: LocalSandbox) -> list[Path]:
    return [Path(group.directory) for group in sandbox._control_groups()]


async def test_a_storm_of_a_thousand_processes_meets_the_limit(
    directory: Path, isolation: Literal["none", "bwrap"], sleepers: Sleepers
) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(processes=60))
    if sandbox.limits_in_force()["processes"] == "none":
        await sandbox.destroy()
        pytest.skip("as root without control groups nothing can hold this limit, and the sandbox says so")
    storm = f"i=0; while [ $i -lt 1000 ]; do {sleepers.one()} & i=$((i+1)); done; wait"
    result = await sandbox.execute_command(f"exec sh -c '{storm}'")
    assert result.exit_code != 0
    assert "fork" in result.stderr
    assert sleepers.alive() == []
    after = await sandbox.execute_command("echo fine")
    assert (after.exit_code, after.stdout) == (0, "fine\n")
    await sandbox.destroy()
    assert not any(path.exists() for path in groups_of(sandbox))


async def test_a_thousand_short_processes_within_the_limit(
    directory: Path, isolation: Literal["none", "bwrap"]
) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(processes=60))
    storm = "i=0; while [ $i -lt 1000 ]; do /bin/true & i=$((i+1)); [ $((i%20)) = 0 ] && wait; done; wait; echo $i"
    result = await sandbox.execute_command(storm, options=ExecuteOptions(timeout=250))
    assert (result.exit_code, result.stdout) == (0, "1000\n"), result
    await sandbox.destroy()


async def test_a_fork_bomb_is_ended(directory: Path, isolation: Literal["none", "bwrap"], sleepers: Sleepers) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(processes=50))
    if sandbox.limits_in_force()["processes"] == "none":
        await sandbox.destroy()
        pytest.skip("as root without control groups nothing can hold this limit, and the sandbox says so")
    bomb = f"bomb() {{ bomb | bomb & }}; bomb; {sleepers.one()}"
    result = await sandbox.execute_command(bomb, options=ExecuteOptions(timeout=2))
    assert result.killed or result.exit_code != 0
    assert sleepers.alive() == []
    assert (await sandbox.execute_command("echo fine")).stdout == "fine\n"
    await sandbox.destroy()


async def test_memory(directory: Path, isolation: Literal["none", "bwrap"]) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(memory_bytes=100 * MIB))
    result = await sandbox.execute_command("/usr/bin/python3", ["-c", HOLD])
    assert result.exit_code != 0
    assert "held" not in result.stdout
    await sandbox.destroy()
    free = LocalSandbox(directory, isolation=isolation)
    assert (await free.execute_command("/usr/bin/python3", ["-c", HOLD])).stdout == "held\n"
    await free.destroy()


async def test_memory_in_files_counts_too(directory: Path) -> None:
    sandbox = LocalSandbox(directory, isolation="bwrap", limits=SandboxLimits(memory_bytes=100 * MIB))
    result = await sandbox.execute_command(f"head -c {1200 * MIB} /dev/zero > /tmp/big && echo held")
    assert "held" not in result.stdout
    await sandbox.destroy()


async def test_file_size(directory: Path, isolation: Literal["none", "bwrap"]) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(file_bytes=MIB))
    result = await sandbox.execute_command(f"head -c {2 * MIB} /dev/zero > big; echo $?")
    assert result.stdout == "153\n"
    assert (directory / "big").stat().st_size == MIB
    await sandbox.destroy()


async def test_open_files(directory: Path, isolation: Literal["none", "bwrap"]) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, limits=SandboxLimits(open_files=32))
    code = "files = [open('/dev/null') for _ in range(40)]"
    result = await sandbox.execute_command("/usr/bin/python3", ["-c", code])
    assert "Too many open files" in result.stderr
    await sandbox.destroy()


async def test_processor_time(directory: Path, isolation: Literal["none", "bwrap"]) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation, timeout=250, limits=SandboxLimits(cpu_seconds=1))
    result = await sandbox.execute_command("sh -c 'while :; do :; done'; echo $?")
    assert result.stdout in {"137\n", "152\n"}
    assert not result.timed_out
    await sandbox.destroy()


async def test_a_crash_leaves_no_core(directory: Path, isolation: Literal["none", "bwrap"]) -> None:
    sandbox = LocalSandbox(directory, isolation=isolation)
    result = await sandbox.execute_command("ulimit -c; sh -c 'kill -SEGV $$'")
    assert (result.exit_code, result.stdout.split()[0]) == (139, "0")
    assert list(directory.iterdir()) == []
    await sandbox.destroy()


async def test_it_says_which_limits_hold(directory: Path) -> None:
    sandbox = LocalSandbox(directory, limits=SandboxLimits(processes=40, memory_bytes=10 * MIB, open_files=20))
    held = sandbox.limits_in_force()
    assert set(held) == {"processes", "memory_bytes", "open_files"}
    assert held["open_files"] == "rlimit"
    assert {name for name, how in held.items() if how == "cgroup"} == {
        name for group in sandbox._control_groups() for name in group.holds
    }
    assert not any(path.exists() for path in groups_of(sandbox))
