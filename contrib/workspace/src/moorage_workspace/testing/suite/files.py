"""Files that the application puts there."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace import Sandbox, SandboxError
from moorage_workspace.testing.harness import SandboxHarness, run


class Files(SandboxHarness):
    async def test_files_are_created_with_their_directories(self, sandbox: Sandbox, directory: Path) -> None:
        data = bytes(range(256)) * 1_000
        top = sandbox.get_info().working_directory
        await sandbox.write_files({"deep/er/one": data, "two words": b"", f"{top}/three": b"3\n"})
        assert await run(sandbox, "cat three; wc -c < deep/er/one; wc -c < 'two words'") == f"3\n{len(data)}\n0\n"
        assert (directory / "deep/er/one").read_bytes() == data

    async def test_files_are_replaced_whole(self, sandbox: Sandbox) -> None:
        await sandbox.write_files({"file": b"a long first content"})
        await sandbox.write_files({"file": b"short"})
        assert await run(sandbox, "cat file; ls -A") == "shortfile\n"

    @pytest.mark.parametrize(
        "path", ["../x", "/etc/moorage-x", "a/../../x", "", "out/x", "out/deep/x", "gone", "loop", "a", "x\0y", "a/.."]
    )
    async def test_nothing_is_written_elsewhere(self, sandbox: Sandbox, outside: Path, path: str) -> None:
        await run(sandbox, f"mkdir a; ln -s '{outside}' out; ln -s '{outside}/new' gone; ln -s loop loop")
        with pytest.raises(SandboxError) as refused:
            await sandbox.write_files({path: b"x"})
        assert str(outside.parent) not in str(refused.value)
        assert [file.name for file in outside.iterdir()] == ["file"]
        assert not Path("/etc/moorage-x").exists()

    async def test_a_link_to_an_outside_file_does_not_change_it(self, sandbox: Sandbox, outside: Path) -> None:
        await run(sandbox, f"ln -s '{outside}/file' link")
        with pytest.raises(SandboxError):
            await sandbox.write_files({"link": b"x"})
        assert (outside / "file").read_text() == "not yours"
