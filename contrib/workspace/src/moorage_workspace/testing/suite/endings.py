"""However a command ends, nothing that it started stays."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from moorage_workspace import ExecuteOptions, Sandbox
from moorage_workspace.testing.harness import SandboxHarness, run
from moorage_workspace.testing.sleepers import Sleepers


class Endings(SandboxHarness):
    async def test_the_time_limit_ends_it_and_keeps_what_it_said(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        options = ExecuteOptions(timeout=2)
        result = await sandbox.execute_command(f"echo said; {sleepers.one()}; echo not said", options=options)
        assert (result.stdout, result.timed_out, result.killed) == ("said\n", True, True)
        assert result.exit_code != 0
        await sleepers.all_gone()

    async def test_the_time_limit_ends_the_whole_tree(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        command = _tree(sleepers)
        result = await sandbox.execute_command(command, options=ExecuteOptions(timeout=3))
        assert result.timed_out
        await sleepers.all_gone()

    async def test_whoever_ignores_the_request_to_end_is_killed(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        command = f"trap '' TERM; {sleepers.one()} & {sleepers.one()}; {sleepers.one()}"
        result = await sandbox.execute_command(command, options=ExecuteOptions(timeout=2))
        assert (result.timed_out, result.exit_code) == (True, 137)
        await sleepers.all_gone()

    async def test_a_command_may_tidy_up_when_asked_to_end(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        command = f"trap 'echo tidied; exit 5' TERM; {sleepers.one()} & wait"
        result = await sandbox.execute_command(command, options=ExecuteOptions(timeout=2))
        assert (result.stdout, result.timed_out) == ("tidied\n", True)
        await sleepers.all_gone()

    async def test_the_sandboxs_own_time_limit_holds_unless_another_is_given(
        self, directory: Path, sleepers: Sleepers
    ) -> None:
        sandbox = self.make_sandbox(directory, timeout=1)
        try:
            assert (await sandbox.execute_command(sleepers.one())).timed_out
            assert await run(sandbox, "sleep 3; echo done", ExecuteOptions(timeout=0)) == "done\n"
            assert await run(sandbox, "sleep 3; echo done", ExecuteOptions(timeout=60)) == "done\n"
        finally:
            await sandbox.destroy()
        await sleepers.all_gone()

    async def test_cancelling_ends_the_whole_tree(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        command = _tree(sleepers)
        async with anyio.create_task_group() as group:
            group.start_soon(sandbox.execute_command, command)
            await sleepers.all_awake()
            group.cancel_scope.cancel()
        assert sleepers.alive() == []
        assert await run(sandbox, "echo still here") == "still here\n"

    async def test_what_a_command_leaves_behind_ends_with_it(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        assert await run(sandbox, f"{sleepers.one()} & ({sleepers.one()} >/dev/null 2>&1 &); echo left") == "left\n"
        await sleepers.all_gone()

    async def test_a_daemon_without_its_environment_ends_too(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        daemon = f"env -i setsid {sleepers.one()}"
        assert await run(sandbox, f"({daemon} </dev/null >/dev/null 2>&1 &) & wait; echo left") == "left\n"
        await sleepers.all_gone()

    async def test_killing_its_own_surroundings_saves_nobody(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        command = f"setsid {sleepers.one()} & kill -KILL $PPID; {sleepers.one()}"
        await sandbox.execute_command(command, options=ExecuteOptions(timeout=5))
        await sleepers.all_gone()
        assert await run(sandbox, "echo still here") == "still here\n"

    @pytest.mark.parametrize("signal", ["TERM", "KILL", "STOP"])
    async def test_signals_to_everybody_save_nobody(self, sandbox: Sandbox, sleepers: Sleepers, signal: str) -> None:
        if not self.isolated:
            return await self._ends_by_its_own_group(sandbox, sleepers, signal)
        command = f"setsid {sleepers.one()} & kill -{signal} -1; {sleepers.one()}"
        await sandbox.execute_command(command, options=ExecuteOptions(timeout=5))
        await sleepers.all_gone()
        assert await run(sandbox, "echo still here") == "still here\n"
        return None

    async def _ends_by_its_own_group(self, sandbox: Sandbox, sleepers: Sleepers, signal: str) -> None:
        """Without isolation, everybody is everybody: a signal to all would end more than the test."""
        command = f"setsid {sleepers.one()} & kill -{signal} 0; {sleepers.one()}"
        await sandbox.execute_command(command, options=ExecuteOptions(timeout=5))
        await sleepers.all_gone()


def _tree(sleepers: Sleepers) -> str:
    """Children, grandchildren whose parents are gone, and one in a session of its own."""
    loose = f"({sleepers.one()} &)"
    apart = f"setsid {sleepers.one()} &"
    below = f"sh -c '{sleepers.one()}; :' &"
    return f"{loose}; {apart} {below} {sleepers.one()}"
