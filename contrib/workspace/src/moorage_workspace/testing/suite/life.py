"""Start, stop and the end."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from moorage_workspace import CommandResult, Sandbox, SandboxError, SandboxStatus
from moorage_workspace.testing.harness import SandboxHarness, run
from moorage_workspace.testing.sleepers import Sleepers


class Life(SandboxHarness):
    async def test_it_starts_at_its_first_command(self, sandbox: Sandbox) -> None:
        assert sandbox.status is SandboxStatus.PENDING
        await run(sandbox, "true")
        assert sandbox.status is sandbox.get_info().status is SandboxStatus.RUNNING

    async def test_starting_is_idempotent_and_shared(self, sandbox: Sandbox) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(sandbox.start)
        await sandbox.start()
        assert sandbox.status is SandboxStatus.RUNNING
        assert await run(sandbox, "echo fine") == "fine\n"

    async def test_a_stopped_one_begins_again(self, sandbox: Sandbox) -> None:
        sandbox.set_env({"KEPT": "yes"})
        await run(sandbox, "echo x > file")
        await sandbox.stop()
        await sandbox.stop()
        statuses = [sandbox.status]
        assert await run(sandbox, "cat file; echo $KEPT") == "x\nyes\n"
        assert [*statuses, sandbox.status] == [SandboxStatus.STOPPED, SandboxStatus.RUNNING]

    async def test_stopping_ends_what_runs(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        results: list[CommandResult] = []
        command = f"setsid {sleepers.one()} & {sleepers.one()}"

        async def attend() -> None:
            results.append(await sandbox.execute_command(command))

        async with anyio.create_task_group() as group:
            group.start_soon(attend)
            await sleepers.all_awake()
            await sandbox.stop()
        await sleepers.all_gone()
        assert [(result.killed, result.timed_out) for result in results] == [(True, False)]

    async def test_the_end_is_idempotent_shared_and_final(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        await run(sandbox, "true")
        if sandbox.processes is not None:
            await sandbox.processes.spawn(sleepers.one())
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(sandbox.destroy)
                group.start_soon(sandbox.stop)
        await sandbox.destroy()
        assert sandbox.status is SandboxStatus.DESTROYED
        await sleepers.all_gone()
        for attempt in (sandbox.start(), sandbox.execute_command("true")):
            with pytest.raises(SandboxError):
                await attempt

    async def test_one_that_never_started_can_be_ended(self, sandbox: Sandbox) -> None:
        await sandbox.stop()
        await sandbox.destroy()
        assert sandbox.status is SandboxStatus.DESTROYED

    async def test_no_file_is_taken_away(self, sandbox: Sandbox, directory: Path) -> None:
        await run(sandbox, "mkdir a; echo x > a/file")
        await sandbox.destroy()
        assert (directory / "a/file").read_text() == "x\n"

    async def test_it_says_what_it_is(self, sandbox: Sandbox) -> None:
        info = sandbox.get_info()
        assert info.provider == sandbox.provider != ""
        assert (info.status, info.processes, info.error) == (SandboxStatus.PENDING, 0, None)
        assert info.working_directory.startswith("/")
        assert sandbox.get_instructions({"some": "context"}) != ""

    async def test_it_counts_its_background_processes(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        if sandbox.processes is not None:
            pid = await sandbox.processes.spawn(sleepers.one())
            assert sandbox.get_info().processes == 1
            await sandbox.processes.kill(pid)
        assert sandbox.get_info().processes == 0
