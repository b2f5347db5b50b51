"""One command: its exit code, its streams, its arguments."""

from __future__ import annotations

import anyio
import pytest

from moorage_workspace import CommandResult, ExecuteOptions, Sandbox, SandboxError
from moorage_workspace.testing.harness import SandboxHarness, run


class Commands(SandboxHarness):
    @pytest.mark.parametrize("code", [0, 1, 7, 125, 126, 127, 255])
    async def test_the_exit_code_is_the_commands(self, sandbox: Sandbox, code: int) -> None:
        result = await sandbox.execute_command(f"exit {code}")
        assert (result.exit_code, result.timed_out, result.killed) == (code, False, False)

    @pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("KILL", 137), ("INT", 130)])
    async def test_a_signal_is_128_and_its_number(self, sandbox: Sandbox, signal: str, code: int) -> None:
        result = await sandbox.execute_command(f"kill -{signal} $$")
        assert (result.exit_code, result.timed_out) == (code, False)

    async def test_a_failure_is_a_result(self, sandbox: Sandbox) -> None:
        result = await sandbox.execute_command("moorage-no-such-program")
        assert result.exit_code == 127
        assert "moorage-no-such-program" in result.stderr

    async def test_a_missing_program_with_arguments_is_a_result(self, sandbox: Sandbox) -> None:
        assert (await sandbox.execute_command("moorage-no-such-program", ["a"])).exit_code == 127

    async def test_standard_output_and_error_are_apart(self, sandbox: Sandbox) -> None:
        result = await sandbox.execute_command("echo out; echo err >&2")
        assert (result.stdout, result.stderr) == ("out\n", "err\n")

    async def test_arguments_reach_the_program_as_they_are(self, sandbox: Sandbox) -> None:
        arguments = ["a b", "", "$HOME", "*", "'\"", "\\n", "--", "line\nline", "ünï", ";exit 3"]
        result = await sandbox.execute_command("printf", ["[%s]", *arguments])
        assert result.stdout == "".join(f"[{argument}]" for argument in arguments)

    async def test_without_arguments_the_shell_runs_it(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "for word in a b; do printf '%s.' $word; done | tr a-z A-Z") == "A.B."

    async def test_standard_input_is_empty(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "cat; echo end") == "end\n"

    async def test_standard_input_is_what_is_given_then_closed(self, sandbox: Sandbox) -> None:
        data = bytes(range(1, 128)) * 2_000
        assert await run(sandbox, "cat", ExecuteOptions(stdin=data)) == data.decode()

    async def test_input_that_nobody_reads_is_no_failure(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "echo done", ExecuteOptions(stdin=b"x" * (1 << 20))) == "done\n"

    async def test_many_at_once_keep_apart(self, sandbox: Sandbox) -> None:
        results: dict[int, CommandResult] = {}

        async def one(number: int) -> None:
            results[number] = await sandbox.execute_command(f"echo out{number}; echo err{number} >&2; exit {number}")

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(one, number)
        seen = {number: (result.exit_code, result.stdout, result.stderr) for number, result in results.items()}
        assert seen == {number: (number, f"out{number}\n", f"err{number}\n") for number in range(8)}

    @pytest.mark.parametrize("command", ["", "echo \0", "echo \ud800"], ids=["empty", "NUL", "surrogate"])
    async def test_what_is_no_command_is_refused(self, sandbox: Sandbox, command: str) -> None:
        with pytest.raises(SandboxError):
            await sandbox.execute_command(command)

    async def test_the_duration_is_measured(self, sandbox: Sandbox) -> None:
        assert (await sandbox.execute_command("sleep 1")).duration >= 1
