"""Where a command runs: in the working directory, and never above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import ExecuteOptions, Sandbox, SandboxError
from moorage_workspace.testing.harness import SandboxHarness, run


class Directories(SandboxHarness):
    async def test_commands_start_in_the_working_directory(self, sandbox: Sandbox, directory: Path) -> None:
        (directory / "here").write_text("content")
        here = await run(sandbox, "cat here; pwd")
        assert here.startswith("content/")
        for cwd in (".", "./", here.removeprefix("content").strip()):
            assert await run(sandbox, "cat here; pwd", ExecuteOptions(cwd=cwd)) == here

    async def test_the_working_directory_is_the_one_that_sandbox_names(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "pwd") == f"{sandbox.get_info().working_directory}\n"

    async def test_commands_may_run_further_down(self, sandbox: Sandbox) -> None:
        await run(sandbox, "mkdir -p 'a b/c' && ln -s 'a b/c' link")
        top = (await run(sandbox, "pwd")).strip()
        for cwd in ("a b/c", f"{top}/a b/c", "link", "a b/../a b/c"):
            assert (await run(sandbox, "pwd -P", ExecuteOptions(cwd=cwd))).strip() == f"{top}/a b/c"

    @pytest.mark.parametrize("cwd", ["..", "../..", "/", "/etc", "a/../..", "../work-evil", "out", "out/..", "root"])
    async def test_nothing_leads_out(self, sandbox: Sandbox, outside: Path, cwd: str) -> None:
        (outside.parent / "work-evil").mkdir()
        await run(sandbox, f"mkdir a; ln -s '{outside}' out; ln -s / root")
        with pytest.raises(SandboxError) as refused:
            await sandbox.execute_command("pwd", options=ExecuteOptions(cwd=cwd))
        assert str(outside.parent) not in str(refused.value)

    @pytest.mark.parametrize("cwd", ["missing", "file", "a\0b"])
    async def test_what_is_no_directory_is_refused(self, sandbox: Sandbox, directory: Path, cwd: str) -> None:
        await run(sandbox, "touch file")
        with pytest.raises(SandboxError) as refused:
            await sandbox.execute_command("touch made", options=ExecuteOptions(cwd=cwd))
        assert str(directory) not in str(refused.value)
        assert not (directory / "made").exists()
