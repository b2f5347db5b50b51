"""copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage import Filesystem, MemoryFilesystem, Stat, StoragePath, WriteOptions
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ToolResult, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
COPY = FILES.COPY


def code(result: ToolResult) -> str | None:
    return None if result.error is None else result.error.code


@pytest.fixture(params=["memory", "local"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path))


async def test_a_directory_needs_recursive(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a/b/c", "x")
        refused = await workspace.call_tool(COPY, {"source": "/a", "destination": "/z"})
        assert not await files.exists("/z")
        done = await workspace.call_tool(COPY, {"source": "/a", "destination": "/z", "recursive": True})
        assert await files.read_text("/z/b/c") == "x"
        itself = await workspace.call_tool(COPY, {"source": "/a", "destination": "/a/b", "recursive": True})
    assert code(refused) == "is_directory"
    assert done.text == "Copied /a (2 entries below it) to /z"
    assert not itself.ok


async def test_what_was_read_need_not_be_read_again_in_the_copy() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "a")
    tools = {FILES.WRITE_FILE: {"require_read_before_write": True}}
    async with Workspace(filesystem=memory, tools=tools) as workspace:
        for destination, read in (("/unread", False), ("/read", True)):
            if read:
                await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
            await workspace.call_tool(COPY, {"source": "/a", "destination": destination})
        results = [
            await workspace.call_tool(FILES.WRITE_FILE, {"path": path, "content": "b"}) for path in ("/unread", "/read")
        ]
    assert [code(result) for result in results] == ["read_required", None]


async def test_across_mounts_and_only_in_part(tmp_path: Path) -> None:
    (tmp_path / "here" / "sub").mkdir(parents=True)
    (tmp_path / "here" / "good").write_text("x")
    (tmp_path / "here" / "sub" / "link").symlink_to("../../here")
    mounts = {"/disk": LocalFilesystem(str(tmp_path)), "/memory": MemoryFilesystem()}
    async with Workspace(mounts=mounts) as workspace:
        arguments = {"source": "/disk/here", "destination": "/memory/there", "recursive": True}
        result = await workspace.call_tool(COPY, arguments)
        good = await workspace.call_tool(FILES.READ_FILE, {"path": "/memory/there/good"})
    assert code(result) == "transfer"
    assert "Arrived: /disk/here/good" in result.text
    assert "Not: /disk/here/sub/link" in result.text
    assert str(tmp_path) not in result.text
    assert good.ok


async def test_a_directory_replaces_no_file(files: Filesystem) -> None:
    arguments = {"source": "/src", "destination": "/dst", "overwrite": True, "recursive": True}
    async with Workspace(filesystem=files) as workspace:
        for path, text in (("/src/sub/f", "new"), ("/src/g", "new"), ("/dst/sub/f", "old"), ("/dst/h", "old")):
            await files.write_text(path, text)
        refused = await workspace.call_tool(COPY, arguments)
        assert [await files.exists("/dst/g"), await files.read_text("/dst/sub/f")] == [False, "old"]
        await files.delete("/dst/sub/f")
        merged = await workspace.call_tool(COPY, arguments)
        found = {path: await files.read_text(path) for path in ("/dst/sub/f", "/dst/g", "/dst/h")}
    assert code(refused) == "exists"
    assert "/dst/sub/f" in refused.text
    assert merged.ok, merged.text
    assert found == {"/dst/sub/f": "new", "/dst/g": "new", "/dst/h": "old"}


async def test_a_file_that_comes_into_the_directory_at_the_last_moment_stays() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/src/f", "new")
    await memory.make_dir("/dst")
    provider = memory.provider
    copy = provider.copy

    async def raced(src: StoragePath, dst: StoragePath, options: WriteOptions) -> Stat:
        if src.name == "f":
            await provider.write(dst, b"came meanwhile")
        return await copy(src, dst, options)

    provider.copy = raced  # type: ignore[method-assign, assignment]
    async with Workspace(filesystem=memory) as workspace:
        arguments = {"source": "/src", "destination": "/dst", "overwrite": True, "recursive": True}
        result = await workspace.call_tool(COPY, arguments)
        assert await memory.read_text("/dst/f") == "came meanwhile"
    assert code(result) == "transfer"
