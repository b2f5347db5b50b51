"""What is declared is so, and what is missing says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import MountState, Sandbox, SandboxUnsupportedError
from moorage_workspace.testing.harness import SandboxHarness


class Abilities(SandboxHarness):
    async def test_background_processes_are_there_as_declared(self, sandbox: Sandbox) -> None:
        assert (sandbox.processes is not None) == self.background

    async def test_network_and_isolation_are_as_declared(self, sandbox: Sandbox) -> None:
        info = sandbox.get_info()
        assert (info.network, info.isolation != "none") == (self.network, self.isolated)

    async def test_a_sandbox_without_isolation_says_so_in_words(self, sandbox: Sandbox) -> None:
        assert ("unsandboxed" in sandbox.get_instructions().lower()) == (not self.isolated)

    async def test_mounts_are_there_as_declared(self, sandbox: Sandbox, outside: Path) -> None:
        if self.mounts:
            mount = await sandbox.mount("/mounted", str(outside), read_only=False)
            assert mount.state is MountState.MOUNTED
        else:
            with pytest.raises(SandboxUnsupportedError):
                await sandbox.mount("/mounted", str(outside), read_only=False)

    async def test_a_read_only_mount_is_one_or_is_refused(self, sandbox: Sandbox, outside: Path) -> None:
        if self.mounts:
            mount = await sandbox.mount("/mounted", str(outside), read_only=True)
            assert mount.read_only
            assert (mount.state is MountState.MOUNTED) == self.read_only_mounts
            assert (mount.message != "") == (not self.read_only_mounts)
