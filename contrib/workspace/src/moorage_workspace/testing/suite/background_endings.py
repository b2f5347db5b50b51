"""When a process that goes on ends, with all of it, and when it does not."""

from __future__ import annotations

import anyio

from moorage_workspace import ExecuteOptions, Processes, Sandbox, SpawnOptions
from moorage_workspace.testing.harness import SandboxHarness, run
from moorage_workspace.testing.sleepers import Sleepers


class BackgroundEndings(SandboxHarness):
    applies_if = "background"

    async def test_killing_ends_the_whole_tree_and_tells(self, processes: Processes, sleepers: Sleepers) -> None:
        came = anyio.Event()
        command = f"({sleepers.one()} &); setsid {sleepers.one()} & echo begun; {sleepers.one()}; echo not said"
        pid = await processes.spawn(command, options=SpawnOptions(on_stdout=lambda _: came.set()))
        await came.wait()
        await sleepers.all_awake()
        result = await processes.kill(pid)
        assert sleepers.alive() == []
        assert (result.stdout, result.killed, result.timed_out) == ("begun\n", True, False)
        assert result.exit_code not in {0, -1}
        assert await processes.wait(pid) == await processes.kill(pid) == result

    async def test_killing_one_that_ignores_the_request(self, processes: Processes, sleepers: Sleepers) -> None:
        result = await processes.kill(await _deaf(processes, sleepers))
        assert (result.exit_code, result.killed) == (137, True)
        await sleepers.all_gone()

    async def test_killing_one_that_has_ended_gives_its_result(self, processes: Processes) -> None:
        pid = await processes.spawn("exit 4")
        await processes.wait(pid)
        result = await processes.kill(pid)
        assert (result.exit_code, result.killed) == (4, False)

    async def test_cancelling_a_wait_ends_the_wait_alone(self, processes: Processes, sleepers: Sleepers) -> None:
        pid = await processes.spawn(
            f"{sleepers.one()} & read line; echo got $line", options=SpawnOptions(keep_stdin=True)
        )
        await sleepers.all_awake()
        async with anyio.create_task_group() as group:
            group.start_soon(processes.wait, pid)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert (await processes.get(pid)).running
        assert len(sleepers.alive()) == 1
        await processes.write_stdin(pid, b"more\n")
        assert (await processes.wait(pid)).stdout == "got more\n"

    async def test_the_task_that_started_it_may_be_gone(self, processes: Processes, sleepers: Sleepers) -> None:
        pids: list[int] = []

        async def begin() -> None:
            pids.append(await processes.spawn(sleepers.one()))

        async with anyio.create_task_group() as group:
            group.start_soon(begin)
        await sleepers.all_awake()
        assert (await processes.get(pids[0])).running

    async def test_there_is_no_time_limit_but_the_one_given(self, processes: Processes, sleepers: Sleepers) -> None:
        pid = await processes.spawn(sleepers.one(), options=SpawnOptions(timeout=1))
        result = await processes.wait(pid)
        assert (result.timed_out, result.killed) == (True, True)
        await sleepers.all_gone()

    async def test_a_command_that_ends_leaves_the_others_alone(
        self, sandbox: Sandbox, processes: Processes, sleepers: Sleepers
    ) -> None:
        pid = await processes.spawn(f"({sleepers.one()} &); {sleepers.one()}")
        await sleepers.all_awake()
        await run(sandbox, "true")
        await sandbox.execute_command("sleep 60", options=ExecuteOptions(timeout=1))
        await processes.kill(await processes.spawn("sleep 60"))
        assert (await processes.get(pid)).running
        assert len(sleepers.alive()) == 2

    async def test_what_it_leaves_behind_ends_with_it(self, processes: Processes, sleepers: Sleepers) -> None:
        result = await processes.wait(await processes.spawn(f"setsid {sleepers.one()} & echo left"))
        assert (result.exit_code, result.stdout) == (0, "left\n")
        await sleepers.all_gone()

    async def test_stopping_ends_them_all(self, sandbox: Sandbox, processes: Processes, sleepers: Sleepers) -> None:
        pids = [await _deaf(processes, sleepers) for _ in range(2)]
        await sandbox.stop()
        await sleepers.all_gone()
        results = [await processes.wait(pid) for pid in pids]
        assert [(result.killed, result.exit_code) for result in results] == [(True, 137)] * 2


async def _deaf(processes: Processes, sleepers: Sleepers) -> int:
    """One that ignores the request to end, from when this returns."""
    deaf = anyio.Event()
    command = f"trap '' TERM; echo deaf; {sleepers.one()}; {sleepers.one()}"
    pid = await processes.spawn(command, options=SpawnOptions(on_stdout=lambda _: deaf.set()))
    await deaf.wait()
    return pid
