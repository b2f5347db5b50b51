"""delete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moorage import Filesystem, MemoryFilesystem, ReadOnly
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approval, ApprovalRequest, ToolResult, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
DELETE = FILES.DELETE


def code(result: ToolResult) -> str | None:
    return None if result.error is None else result.error.code


@pytest.fixture(params=["memory", "local"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path / "root"))


async def test_a_file_goes(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a/b.txt", "hello")
        result = await workspace.call_tool(DELETE, {"path": "a/b.txt"})
        assert not await files.exists("/a/b.txt")
        assert await files.is_dir("/a")
    assert result.text == "Deleted /a/b.txt (5 bytes)"


async def test_a_directory_needs_recursive_unless_it_is_empty(files: Filesystem) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a/b/c.txt", "x")
        await files.make_dir("/empty")
        refused = await workspace.call_tool(DELETE, {"path": "/a"})
        assert await files.exists("/a/b/c.txt")
        empty = await workspace.call_tool(DELETE, {"path": "/empty"})
        gone = await workspace.call_tool(DELETE, {"path": "/a", "recursive": True})
        assert [entry async for entry in files.scan_dir("/")] == []
    assert code(refused) == "not_empty"
    assert "recursive" in refused.text
    assert empty.ok
    assert gone.text == "Deleted the directory /a and 2 entries below it"


async def test_nothing_there_names_what_is_near() -> None:
    files = MemoryFilesystem()
    await files.write_text("/notes.md", "x")
    async with Workspace(filesystem=files) as workspace:
        result = await workspace.call_tool(DELETE, {"path": "/note.md"})
    assert code(result) == "not_found"
    assert "/notes.md" in result.text


@pytest.mark.parametrize("path", [".", "/", "/m", "/m/one", "/m/one/."])
async def test_root_mount_points_and_what_is_above_them_stay(path: str) -> None:
    one, two = MemoryFilesystem(), MemoryFilesystem()
    await one.write_text("/keep", "x")
    async with Workspace(mounts={"/m/one": one, "/two": two}) as workspace:
        for recursive in (False, True):
            result = await workspace.call_tool(DELETE, {"path": path, "recursive": recursive})
            assert code(result) == "busy"
            assert "cannot be deleted" in result.text
        assert await one.read_text("/keep") == "x"


async def test_read_only_is_said_before_anybody_is_asked() -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    memory = MemoryFilesystem()
    await memory.write_text("/x", "x")
    mounts = {"/ro": Filesystem(ReadOnly(memory.provider)), "/rw": MemoryFilesystem()}
    async with Workspace(mounts=mounts, approver=approve, tools={"require_approval": True}) as workspace:
        result = await workspace.call_tool(DELETE, {"path": "/ro/x"})
    assert code(result) == "read_only"
    assert asked == []


async def test_of_a_link_only_the_link_goes(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (outside / "keep").write_text("x")
    (root / "dir" / "keep").write_text("x")
    links = {"to_dir": "dir", "to_file": "dir/keep", "out": str(outside), "loop": "loop", "gone": "nowhere"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    async with Workspace(filesystem=LocalFilesystem(str(root))) as workspace:
        for name in links:
            result = await workspace.call_tool(DELETE, {"path": name, "recursive": True})
            assert result.ok, (name, result.text)
            assert not os.path.lexists(root / name)
            assert str(tmp_path) not in result.text
    assert (root / "dir" / "keep").read_text() == (outside / "keep").read_text() == "x"


async def test_a_tree_goes_without_following_its_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("x")
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "out").symlink_to(outside)
    async with Workspace(filesystem=LocalFilesystem(str(tmp_path / "root"))) as workspace:
        result = await workspace.call_tool(DELETE, {"path": "a", "recursive": True})
    assert result.ok
    assert (outside / "keep").read_text() == "x"
    assert not (tmp_path / "root" / "a").exists()


async def test_the_person_asked_sees_how_much_would_go() -> None:
    memory = MemoryFilesystem()
    for number in range(12):
        await memory.write_text(f"/a/{number}", "x")
    summaries: list[str] = []

    async def approve(request: ApprovalRequest) -> Approval:
        summaries.append(request.summary)
        if len(summaries) == 1:
            await memory.write_text("/a/new", "came meanwhile")
        return Approval.once()

    async with Workspace(filesystem=memory, approver=approve, tools={"require_approval": True}) as workspace:
        result = await workspace.call_tool(DELETE, {"path": "/a", "recursive": True})
    assert result.ok
    assert summaries == [f"delete the directory /a and {count} entries below it" for count in (12, 13)]


async def test_a_file_that_changed_since_it_was_read_stays() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "one")
    async with Workspace(filesystem=memory) as workspace:
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        await memory.write_text("/a", "two")
        result = await workspace.call_tool(DELETE, {"path": "/a"})
        assert await memory.read_text("/a") == "two"
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        assert (await workspace.call_tool(DELETE, {"path": "/a"})).ok
    assert code(result) == "stale"


async def test_after_a_delete_the_path_is_new_again() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "one")
    async with Workspace(filesystem=memory) as workspace:
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        await workspace.call_tool(DELETE, {"path": "/a"})
        result = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "two"})
    assert result.ok


async def test_where_reading_first_is_required_all_of_it_must_have_been_read() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "one\ntwo\n")
    tools = {DELETE: {"require_read_before_write": True}}
    async with Workspace(filesystem=memory, tools=tools) as workspace:
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a", "limit": 1})
        partly = await workspace.call_tool(DELETE, {"path": "/a"})
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        done = await workspace.call_tool(DELETE, {"path": "/a"})
    assert [code(result) for result in (partly, done)] == ["read_required", None]


async def test_where_reading_first_is_required_that_holds_of_every_file_below(files: Filesystem) -> None:
    tools = {DELETE: {"require_read_before_write": True}}
    arguments = {"path": "/d", "recursive": True}
    results: list[ToolResult] = []
    async with Workspace(filesystem=files, tools=tools) as workspace:
        await files.write_text("/d/sub/a", "one\ntwo\n")
        for step in ({}, {"limit": 1}, {"offset": 1}):
            if step:
                await workspace.call_tool(FILES.READ_FILE, {"path": "/d/sub/a", **step})
            if "offset" in step:
                await files.write_text("/d/sub/a", "changed")
            results.append(await workspace.call_tool(DELETE, arguments))
        await workspace.call_tool(FILES.READ_FILE, {"path": "/d/sub/a"})
        results.append(await workspace.call_tool(DELETE, arguments))
        description = {tool.name: tool.description for tool in await workspace.tools()}[DELETE]
    assert [code(result) for result in results] == ["read_required"] * 3 + [None]
    assert "/d/sub/a" in results[0].text
    assert "must have been read" in description
