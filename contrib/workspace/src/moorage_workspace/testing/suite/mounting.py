"""Host directories in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import ExecuteOptions, MountState, Sandbox, SandboxError
from moorage_workspace.testing.harness import SandboxHarness, run


class Mounting(SandboxHarness):
    """Where there is none, :class:`Abilities` checks that it is refused, and there is nothing more to check."""

    applies_if = "mounts"

    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """A host directory to mount; its name takes some quoting."""
        shared = tmp_path / 'sha,red:"x" '
        shared.mkdir()
        (shared / "file").write_text("shared")
        return shared

    async def test_files_go_both_ways(self, sandbox: Sandbox, shared: Path) -> None:
        mount = await sandbox.mount("/notes/deep", str(shared), read_only=False)
        assert (mount.path, mount.state, mount.read_only) == ("/notes/deep", MountState.MOUNTED, False)
        at = self.shell_path("/notes/deep")
        assert await run(sandbox, f"cat {at}/file; printf new > {at}/new") == "shared"
        assert (shared / "new").read_text() == "new"
        (shared / "later").write_text("later")
        assert await run(sandbox, f"cat {at}/later") == "later"

    async def test_a_mount_is_there_from_the_next_command_on(self, sandbox: Sandbox, shared: Path) -> None:
        at = self.shell_path("/notes")
        assert (await sandbox.execute_command(f"cat {at}/file")).exit_code != 0
        await sandbox.mount("/notes", str(shared), read_only=False)
        assert await run(sandbox, f"cat {at}/file") == "shared"
        await sandbox.unmount("/notes")
        assert (await sandbox.execute_command(f"cat {at}/file")).exit_code != 0
        assert (shared / "file").read_text() == "shared"

    async def test_commands_may_run_in_a_mount_and_files_be_written_there(self, sandbox: Sandbox, shared: Path) -> None:
        await sandbox.mount("/notes", str(shared), read_only=False)
        at = self.shell_path("/notes")
        assert await run(sandbox, "cat file", ExecuteOptions(cwd=at)) == "shared"
        await sandbox.write_files({f"{at}/made/here": b"x"})
        assert (shared / "made/here").read_bytes() == b"x"

    async def test_mounts_are_listed_and_do_not_show_their_source(self, sandbox: Sandbox, shared: Path) -> None:
        await sandbox.mount("/b", str(shared), read_only=False)
        await sandbox.mount("/a", str(shared), read_only=False)
        assert sorted(mount.path for mount in sandbox.mounts) == ["/a", "/b"]
        assert sandbox.get_info().mounts == sandbox.mounts
        assert str(shared) not in repr(sandbox.mounts)
        assert str(shared) not in sandbox.get_instructions()
        assert str(shared) in sandbox.host_paths

    @pytest.mark.parametrize("path", ["/", "/proc", "/dev/x"])
    async def test_the_sandboxs_own_places_stay_its_own(self, sandbox: Sandbox, shared: Path, path: str) -> None:
        await run(sandbox, "true")
        try:
            mount = await sandbox.mount(path, str(shared), read_only=False)
        except SandboxError:
            pass
        else:
            assert (mount.state is MountState.MOUNTED) == (not self.isolated and path != "/")
        assert await run(sandbox, "echo fine") == "fine\n"

    async def test_a_source_that_is_not_there_is_told(self, sandbox: Sandbox, shared: Path) -> None:
        mount = await sandbox.mount("/notes", str(shared / "missing"), read_only=False)
        assert mount.state not in {MountState.MOUNTED, MountState.PENDING}
        assert mount.message != ""
        assert str(shared) not in mount.message
        assert await run(sandbox, "echo fine") == "fine\n"

    async def test_two_cannot_share_a_path(self, sandbox: Sandbox, shared: Path, outside: Path) -> None:
        await sandbox.mount("/notes", str(shared), read_only=False)
        with pytest.raises(SandboxError):
            await sandbox.mount("/notes", str(outside), read_only=False)
        assert await run(sandbox, f"cat {self.shell_path('/notes')}/file") == "shared"

    @pytest.mark.usefixtures("shared")
    async def test_what_is_not_mounted_cannot_be_unmounted(self, sandbox: Sandbox) -> None:
        with pytest.raises(SandboxError):
            await sandbox.unmount("/notes")

    async def test_the_end_of_the_sandbox_leaves_what_was_mounted(self, sandbox: Sandbox, shared: Path) -> None:
        await sandbox.mount("/notes", str(shared), read_only=False)
        await run(sandbox, "true")
        await sandbox.destroy()
        assert [(file.name, file.read_text()) for file in shared.iterdir()] == [("file", "shared")]


class ReadOnlyMounting(Mounting):
    applies_if = "read_only_mounts"

    async def test_nothing_can_be_written_through_a_read_only_one(self, sandbox: Sandbox, shared: Path) -> None:
        await sandbox.mount("/notes", str(shared), read_only=True)
        at = self.shell_path("/notes")
        assert await run(sandbox, f"cat {at}/file") == "shared"
        for attempt in (
            f"echo x > {at}/file",
            f"echo x > {at}/new",
            f"rm {at}/file",
            f"mv {at}/file {at}/moved",
            f"chmod 777 {at}/file",
            f"ln -s {at}/file link && echo x > link",
            f"mount -o remount,rw {at} && echo x > {at}/file",
        ):
            assert (await sandbox.execute_command(attempt)).exit_code != 0, attempt
        assert [(file.name, file.read_text()) for file in shared.iterdir()] == [("file", "shared")]

    async def test_the_application_cannot_write_through_a_read_only_one_either(
        self, sandbox: Sandbox, shared: Path
    ) -> None:
        await sandbox.mount("/notes", str(shared), read_only=True)
        with pytest.raises(SandboxError):
            await sandbox.write_files({f"{self.shell_path('/notes')}/file": b"x"})
        assert (shared / "file").read_text() == "shared"
