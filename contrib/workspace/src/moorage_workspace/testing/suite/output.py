"""What is kept of a command's output, and what is passed on while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import ExecuteOptions, Sandbox
from moorage_workspace.testing.harness import SandboxHarness, run

_MANY = 3_000_000
_DEFAULT = 1_048_576


class OutputOfCommands(SandboxHarness):
    async def test_text_is_utf8_and_what_is_not_is_replaced(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, r"printf 'g\303\274n \377 \342\202\254'") == "gün � €"

    async def test_line_ends_and_controls_are_kept(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, r"printf 'a\r\nb\033[1mc\t'") == "a\r\nb\x1b[1mc\t"

    @pytest.mark.parametrize("stream", ["stdout", "stderr"])
    async def test_the_end_is_kept_and_what_was_dropped_is_counted(self, sandbox: Sandbox, stream: str) -> None:
        command = f"(yes 0123456 | head -c {_MANY}; printf THE-END) {'>&2' if stream == 'stderr' else ''}"
        result = await sandbox.execute_command(command, options=ExecuteOptions(max_retained_bytes=1_000))
        kept = {"stdout": result.stdout, "stderr": result.stderr}
        dropped = {"stdout": result.dropped_stdout, "stderr": result.dropped_stderr}
        assert kept.pop(stream).endswith("6\n0123456\nTHE-END")
        assert dropped.pop(stream) == _MANY + 7 - len(getattr(result, stream))
        assert len(getattr(result, stream)) <= 1_000
        assert (set(kept.values()), set(dropped.values()), result.truncated) == ({""}, {0}, True)

    async def test_a_megabyte_is_kept_by_default(self, sandbox: Sandbox) -> None:
        result = await sandbox.execute_command(f"yes 0123456 | head -c {_MANY}")
        assert _DEFAULT // 2 <= len(result.stdout) <= _DEFAULT
        assert result.dropped_stdout == _MANY - len(result.stdout)

    async def test_nothing_is_dropped_that_fits(self, sandbox: Sandbox) -> None:
        result = await sandbox.execute_command("printf 1234567890", options=ExecuteOptions(max_retained_bytes=10))
        assert (result.stdout, result.dropped_stdout, result.truncated) == ("1234567890", 0, False)

    async def test_callbacks_get_everything_however_little_is_kept(self, sandbox: Sandbox) -> None:
        out: list[str] = []
        err: list[str] = []
        options = ExecuteOptions(on_stdout=out.append, on_stderr=err.append, max_retained_bytes=10)
        await sandbox.execute_command("yes äöü | head -c 700000; yes err | head -c 70000 >&2", options=options)
        assert ("".join(out), "".join(err)) == ("äöü\n" * 100_000, "err\n" * 17_500)

    async def test_callbacks_are_called_while_the_command_runs(self, sandbox: Sandbox, directory: Path) -> None:
        seen: list[str] = []
        (directory / "wait").touch()

        def take(text: str) -> None:
            seen.append(text)
            (directory / "wait").unlink(missing_ok=True)

        command = "printf first; while [ -e wait ]; do sleep 0.1; done; printf last"
        assert await run(sandbox, command, ExecuteOptions(on_stdout=take)) == "firstlast"
        assert (seen[0], "".join(seen)) == ("first", "firstlast")
