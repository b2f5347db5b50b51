"""move."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage import Filesystem, MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ToolResult, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
MOVE = FILES.MOVE


def code(result: ToolResult) -> str | None:
    return None if result.error is None else result.error.code


@pytest.fixture(params=["memory", "local"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path))


async def test_a_directory_moves_with_all_of_it(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a/b/c", "x")
        result = await workspace.call_tool(MOVE, {"source": "/a", "destination": "/z"})
        assert not await files.exists("/a")
        assert await files.read_text("/z/b/c") == "x"
    assert result.text == "Moved /a (2 entries below it) to /z"


async def test_onto_itself_nothing_happens(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a", "x")
        result = await workspace.call_tool(MOVE, {"source": "/a", "destination": "a"})
        assert await files.read_text("/a") == "x"
    assert result.ok


@pytest.mark.parametrize(("source", "destination"), [("/", "/x"), ("/m", "/x"), ("/m/one", "/two/x"), ("/two/f", "/m")])
async def test_the_root_and_mount_points_stay(source: str, destination: str) -> None:
    two = MemoryFilesystem()
    await two.write_text("/f", "x")
    async with Workspace(mounts={"/m/one": MemoryFilesystem(), "/two": two}) as workspace:
        result = await workspace.call_tool(MOVE, {"source": source, "destination": destination, "overwrite": True})
    assert code(result) == "busy"
    assert "cannot be moved or replaced" in result.text


async def test_a_link_moves_as_itself(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "keep").write_text("x")
    (tmp_path / "link").symlink_to("dir")
    async with Workspace(filesystem=LocalFilesystem(str(tmp_path))) as workspace:
        result = await workspace.call_tool(MOVE, {"source": "link", "destination": "moved"})
    assert result.text == "Moved /link (a link) to /moved"
    assert os.readlink(tmp_path / "moved") == "dir"
    assert (tmp_path / "dir" / "keep").read_text() == "x"
    assert not os.path.lexists(tmp_path / "link")


async def test_what_was_read_need_not_be_read_again_where_it_is_now(files: Filesystem) -> None:
    tools = {FILES.WRITE_FILE: {"require_read_before_write": True}}
    async with Workspace(filesystem=files, tools=tools) as workspace:
        await files.write_text("/a", "a")
        await files.write_text("/b", "b")
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        for path in ("/a", "/b"):
            await workspace.call_tool(MOVE, {"source": path, "destination": f"/moved{path}"})
        read, unread, anew = [
            await workspace.call_tool(FILES.WRITE_FILE, {"path": path, "content": "c"})
            for path in ("/moved/a", "/moved/b", "/a")
        ]
    assert (code(read), code(unread), code(anew)) == (None, "read_required", None)


async def test_across_mounts() -> None:
    one, two = MemoryFilesystem(), MemoryFilesystem()
    await one.write_text("/a/f", "x")
    async with Workspace(mounts={"/one": one, "/two": two}) as workspace:
        result = await workspace.call_tool(MOVE, {"source": "/one/a", "destination": "/two/b"})
        assert await two.read_text("/b/f") == "x"
        assert not await one.exists("/a")
    assert result.ok


async def test_a_directory_replaces_no_other(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/src/f", "new")
        await files.write_text("/dst/f", "old")
        result = await workspace.call_tool(MOVE, {"source": "/src", "destination": "/dst", "overwrite": True})
        assert [await files.read_text(path) for path in ("/src/f", "/dst/f")] == ["new", "old"]
    assert code(result) == "exists"
    assert "delete that one first" in result.text
