"""What an event loop does to those who wait for a command: it cancels them unasked, and it is closed under them."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions
from moorage_workspace.testing.sleepers import Sleepers

pytestmark = pytest.mark.anyio

LEAVING = """
import asyncio, sys
from moorage_workspace.sandbox.local import LocalSandbox

sandbox = LocalSandbox(sys.argv[1])
loop = asyncio.new_event_loop()
pid = loop.run_until_complete(sandbox.processes.spawn(sys.argv[2]))
loop.close()

async def end():
    await sandbox.destroy()
    print((await sandbox.processes.output(pid)).killed)

asyncio.run(end())
"""


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


async def test_cancelled_by_the_event_loop_at_any_moment_nothing_stays(
    sandbox: LocalSandbox, sleepers: Sleepers
) -> None:
    await sandbox.execute_command("true")
    files, processes = open_files(), children()
    for step in range(40):
        task = asyncio.create_task(sandbox.execute_command(sleepers.one()))
        await anyio.sleep(step * 0.001)
        task.cancel()
        await asyncio.wait([task])
    with anyio.fail_after(120):
        while open_files() > files or children() - processes:  # noqa: ASYNC110 (a thread may be at it)
            await anyio.sleep(0.05)
    await sleepers.all_gone()


async def test_what_outlived_its_event_loop_ends_with_the_sandbox(directory: Path, sleepers: Sleepers) -> None:
    process = await anyio.to_thread.run_sync(
        lambda: subprocess.run(
            [sys.executable, "-c", LEAVING, str(directory), f"trap '' TERM; {sleepers.one()}; {sleepers.one()}"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    )
    assert (process.returncode, process.stdout) == (0, "True\n"), process.stderr
    assert sleepers.alive() == []


@pytest.mark.parametrize("times", ["once", "always"])
async def test_a_stopped_supervisor_still_ends_its_command(
    unsandboxed: LocalSandbox, sleepers: Sleepers, times: str
) -> None:
    # The parent is a stand-in; its parent is the supervisor.
    stop = "kill -STOP $supervisor"
    command = (
        f"read -r _ _ _ supervisor _ < /proc/$PPID/stat; setsid {sleepers.one()} & "
        f"{stop if times == 'once' else f'(while {stop}; do :; done) &'} {'; ' if times == 'once' else ''}"
        f"exec {sleepers.one()}"
    )
    result = await unsandboxed.execute_command(command, options=ExecuteOptions(timeout=1))
    assert (result.exit_code, result.timed_out) == (143, True)
    assert sleepers.alive() == []
