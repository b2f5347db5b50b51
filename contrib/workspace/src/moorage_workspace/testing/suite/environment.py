"""The variables that a command sees."""

from __future__ import annotations

import pytest

from moorage_workspace import ExecuteOptions, Sandbox
from moorage_workspace.testing.harness import SandboxHarness, run

_AWKWARD = "a b\n'\"$HOME`id`\\ =ü#\n"


class Environment(SandboxHarness):
    async def test_variables_of_this_process_stay_here(self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MOORAGE_SECRET_OF_THE_HOST", "http_proxy", "AWS_SECRET_ACCESS_KEY", "LD_LIBRARY_PATH_X"):
            monkeypatch.setenv(name, "http://user:password-of-the-host@127.0.0.1:9")
        assert "password-of-the-host" not in await run(sandbox, "env")

    async def test_the_usual_ones_are_there(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, 'test -n "$PATH" && test -n "$HOME" && test -n "$LANG" && echo yes') == "yes\n"

    async def test_values_arrive_as_they_are(self, sandbox: Sandbox) -> None:
        seen = await run(sandbox, 'printf %s "$AWKWARD"', ExecuteOptions(env={"AWKWARD": _AWKWARD}))
        assert seen == _AWKWARD

    async def test_those_of_one_command_are_its_own(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "echo $MINE", ExecuteOptions(env={"MINE": "x"})) == "x\n"
        assert await run(sandbox, "echo $MINE") == "\n"

    async def test_those_of_the_sandbox_hold_from_then_on(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "echo $OURS") == "\n"
        sandbox.set_env({"OURS": "one", "OTHER": _AWKWARD})
        sandbox.set_env({"OURS": "two"})
        assert await run(sandbox, 'echo $OURS; printf %s "$OTHER"') == f"two\n{_AWKWARD}"

    async def test_those_of_a_command_come_before_those_of_the_sandbox(self, sandbox: Sandbox) -> None:
        sandbox.set_env({"OURS": "sandbox"})
        assert await run(sandbox, "echo $OURS", ExecuteOptions(env={"OURS": "command"})) == "command\n"
        assert await run(sandbox, "echo $OURS") == "sandbox\n"
