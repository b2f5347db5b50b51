"""file_stat."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Workspace

pytestmark = pytest.mark.anyio

STAT = WORKSPACE_TOOLS.FILESYSTEM.FILE_STAT


async def test_a_file_has_type_size_and_time() -> None:
    memory = MemoryFilesystem()
    stat = await memory.write_text("/a/b.txt", "hello")
    async with Workspace(filesystem=memory) as workspace:
        result = await workspace.call_tool(STAT, {"path": "a/b.txt"})
    assert stat.modified_at is not None
    modified = stat.modified_at.isoformat().replace("+00:00", "Z")
    assert result.text == f"/a/b.txt\ntype: file\nsize: 5 bytes\nmodified: {modified}"
    assert result.structured == {
        "path": "/a/b.txt",
        "exists": True,
        "type": "file",
        "size": 5,
        "modified": modified,
    }


async def test_a_directory_has_no_size() -> None:
    memory = MemoryFilesystem()
    await memory.make_dir("/a")
    async with Workspace(filesystem=memory) as workspace:
        result = await workspace.call_tool(STAT, {"path": "/a"})
    assert (result.structured["type"], result.structured["size"]) == ("directory", None)
    assert "size" not in result.text


@pytest.mark.parametrize("path", ["/nothing", "/a.txt/below"])
async def test_nothing_there_is_a_result(path: str) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a.txt", "")
    async with Workspace(filesystem=memory) as workspace:
        result = await workspace.call_tool(STAT, {"path": path})
    assert result.ok
    assert result.structured == {"path": path, "exists": False}
    assert result.text.startswith(f"{path}\nexists: no")


async def test_links_and_special_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "out").symlink_to("/etc")
    async with Workspace(filesystem=LocalFilesystem(str(tmp_path))) as workspace:
        kinds = [await workspace.call_tool(STAT, {"path": name}) for name in ("pipe", "gone")]
        loop = await workspace.call_tool(STAT, {"path": "loop"})
        out = await workspace.call_tool(STAT, {"path": "out"})
    assert [result.structured["type"] for result in kinds] == ["other", "link"]
    assert [error.error.code for error in (loop, out) if error.error] == ["link_loop", "path_escape"]
    assert not any(str(tmp_path) in result.text for result in (*kinds, loop, out))
