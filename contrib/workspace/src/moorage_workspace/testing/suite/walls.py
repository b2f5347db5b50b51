"""What an isolated command cannot reach; where there is no isolation, :class:`Abilities` checks that this is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import Sandbox
from moorage_workspace.testing.harness import SandboxHarness, run
from moorage_workspace.testing.sleepers import Sleepers

_HAS_PROC = Path("/proc/self/status").exists()


class Walls(SandboxHarness):
    applies_if = "isolated"

    async def test_files_of_this_machine_are_out_of_reach(self, sandbox: Sandbox, outside: Path) -> None:
        await run(sandbox, f"ln -s '{outside}/file' link")
        for attempt in (f"cat '{outside}/file'", "cat link", f"cat '../{outside.name}/file'"):
            result = await sandbox.execute_command(attempt)
            assert (result.exit_code != 0, "not yours" in result.stdout) == (True, False), attempt

    async def test_nothing_can_be_written_outside(self, sandbox: Sandbox, outside: Path) -> None:
        await sandbox.execute_command(f"cd /; echo x > '{outside}/new'; echo x > '{outside}/file'; rm -rf '{outside}'")
        assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("file", "not yours")]

    @pytest.mark.parametrize("place", ["/etc", "/usr", "/bin", "/"])
    async def test_the_system_is_read_only(self, sandbox: Sandbox, place: str) -> None:
        result = await sandbox.execute_command(f"echo x > {place}/moorage-probe")
        assert result.exit_code != 0

    async def test_a_tmp_of_its_own_is_writable(self, sandbox: Sandbox) -> None:
        assert await run(sandbox, "echo x > /tmp/moorage-probe; cat /tmp/moorage-probe") == "x\n"
        assert not Path("/tmp/moorage-probe").exists()

    @pytest.mark.skipif(not _HAS_PROC, reason="there is no /proc to look at")
    async def test_processes_of_this_machine_are_out_of_sight(self, sandbox: Sandbox, sleepers: Sleepers) -> None:
        seen = await run(sandbox, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
        assert "pytest" not in seen

    @pytest.mark.skipif(not _HAS_PROC, reason="there is no /proc to look at")
    async def test_commands_have_no_privileges(self, sandbox: Sandbox) -> None:
        status = dict(line.split(":\t", 1) for line in (await run(sandbox, "cat /proc/self/status")).splitlines())
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 0
        assert status["NoNewPrivs"] == "1"

    @pytest.mark.skipif(not _HAS_PROC, reason="there is no /proc to look at")
    async def test_the_network_is_as_declared(self, sandbox: Sandbox) -> None:
        routes = (await run(sandbox, "cat /proc/net/route")).splitlines()[1:]
        assert (routes != []) == self.network

    async def test_it_shows_no_path_of_this_machine(self, sandbox: Sandbox, directory: Path) -> None:
        shown = f"{sandbox.get_info()!r} {sandbox.get_instructions()}"
        assert str(directory.parent) not in shown
        assert str(directory) in sandbox.host_paths
