"""Processes that go on while the caller does something else."""

from __future__ import annotations

import anyio
import pytest

from moorage_workspace import (
    CommandResult,
    ExecuteOptions,
    NoProcessError,
    Processes,
    Sandbox,
    SandboxError,
    SpawnOptions,
)
from moorage_workspace.testing.harness import SandboxHarness, run
from moorage_workspace.testing.sleepers import Sleepers

_NOBODY = 987_654_321


class Background(SandboxHarness):
    """Where there are none, :class:`Abilities` checks that, and there is nothing more to check."""

    applies_if = "background"

    async def test_a_process_runs_on_its_own(self, processes: Processes, sleepers: Sleepers) -> None:
        pid = await processes.spawn(sleepers.one())
        await sleepers.all_awake()
        info = await processes.get(pid)
        assert (info.pid, info.running, info.exit_code) == (pid, True, None)
        assert info.started_at > 0
        assert (await processes.output(pid)).exit_code == -1

    async def test_waiting_gives_the_result(self, processes: Processes) -> None:
        pid = await processes.spawn("echo out; echo err >&2; exit 3")
        result = await processes.wait(pid)
        assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")
        assert (result.timed_out, result.killed) == (False, False)
        assert await processes.output(pid) == await processes.wait(pid) == result
        info = await processes.get(pid)
        assert (info.running, info.exit_code) == (False, 3)

    async def test_arguments_reach_a_background_program_too(self, processes: Processes) -> None:
        pid = await processes.spawn("printf", ["[%s]", "a b", "$HOME"])
        assert (await processes.wait(pid)).stdout == "[a b][$HOME]"

    async def test_output_can_be_had_while_it_runs(self, processes: Processes, sleepers: Sleepers) -> None:
        came = anyio.Event()
        options = SpawnOptions(on_stdout=lambda _: came.set())
        pid = await processes.spawn(f"echo early; {sleepers.one()}", options=options)
        await came.wait()
        result = await processes.output(pid)
        assert (result.exit_code, result.stdout) == (-1, "early\n")

    async def test_the_end_of_long_output_is_kept(self, processes: Processes) -> None:
        options = SpawnOptions(max_retained_bytes=100)
        result = await processes.wait(await processes.spawn("yes 0123456 | head -c 80000", options=options))
        assert result.stdout.endswith("6\n0123456\n")
        assert (len(result.stdout) <= 100, result.dropped_stdout) == (True, 80_000 - len(result.stdout))

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
        pid = await processes.spawn(f"trap '' TERM; {sleepers.one()}; {sleepers.one()}")
        result = await processes.kill(pid)
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

    async def test_they_are_listed_in_order_with_pids_of_their_own(self, processes: Processes) -> None:
        pids: list[int] = []
        for number in range(3):
            pids.append(await processes.spawn(f"exit {number}"))
            await processes.wait(pids[-1])
        assert len(set(pids)) == 3
        listed = await processes.list()
        assert [(info.pid, info.command, info.exit_code) for info in listed] == [
            (pid, f"exit {number}", number) for number, pid in enumerate(pids)
        ]

    async def test_nobodys_pid_is_refused_everywhere(self, processes: Processes) -> None:
        await processes.spawn("exit 0")
        for ask in (processes.get, processes.output, processes.wait, processes.kill):
            with pytest.raises(NoProcessError):
                await ask(_NOBODY)
        with pytest.raises(NoProcessError):
            await processes.write_stdin(_NOBODY, b"")

    async def test_pids_of_the_system_are_nobodys(self, processes: Processes) -> None:
        own = await processes.spawn("exit 0")
        for pid in {0, 1, -1} - {own}:
            with pytest.raises(NoProcessError):
                await processes.kill(pid)

    async def test_standard_input_is_empty_unless_kept_open(self, processes: Processes) -> None:
        pid = await processes.spawn("cat; echo end")
        assert (await processes.wait(pid)).stdout == "end\n"
        with pytest.raises(SandboxError):
            await processes.write_stdin(pid, b"x")

    async def test_standard_input_can_be_written_and_closed(self, processes: Processes) -> None:
        pid = await processes.spawn("cat; echo end", options=SpawnOptions(keep_stdin=True))
        await processes.write_stdin(pid, b"one ")
        await processes.write_stdin(pid, "zwö\n".encode(), close=True)
        assert (await processes.wait(pid)).stdout == "one zwö\nend\n"
        with pytest.raises(SandboxError):
            await processes.write_stdin(pid, b"x")

    async def test_the_application_is_told_of_output_and_end(self, processes: Processes) -> None:
        out: list[str] = []
        err: list[str] = []
        ends: list[CommandResult] = []
        told = anyio.Event()

        def on_exit(result: CommandResult) -> None:
            ends.append(result)
            told.set()

        options = SpawnOptions(on_stdout=out.append, on_stderr=err.append, on_exit=on_exit)
        pid = await processes.spawn("echo out; echo err >&2; exit 6", options=options)
        result = await processes.wait(pid)
        await told.wait()
        assert ("".join(out), "".join(err), ends) == ("out\n", "err\n", [result])

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

    async def test_a_place_that_leads_out_is_refused(self, processes: Processes) -> None:
        with pytest.raises(SandboxError):
            await processes.spawn("pwd", options=SpawnOptions(cwd="../.."))
        assert await processes.list() == ()

    async def test_stopping_ends_them_all(self, sandbox: Sandbox, processes: Processes, sleepers: Sleepers) -> None:
        pids = [await processes.spawn(f"trap '' TERM; {sleepers.one()}; {sleepers.one()}") for _ in range(2)]
        await sandbox.stop()
        await sleepers.all_gone()
        results = [await processes.wait(pid) for pid in pids]
        assert [(result.killed, result.exit_code) for result in results] == [(True, 137)] * 2
