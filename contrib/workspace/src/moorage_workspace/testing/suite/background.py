"""Processes that go on while the caller does something else."""

from __future__ import annotations

import anyio
import pytest

from moorage_workspace import (
    CommandResult,
    NoProcessError,
    Processes,
    SandboxError,
    SpawnOptions,
)
from moorage_workspace.testing.harness import SandboxHarness
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

    async def test_a_place_that_leads_out_is_refused(self, processes: Processes) -> None:
        with pytest.raises(SandboxError):
            await processes.spawn("pwd", options=SpawnOptions(cwd="../.."))
        assert await processes.list() == ()
