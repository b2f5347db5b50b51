"""What copy and move have in common: where something is there already, and what comes meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage import Filesystem, MemoryFilesystem, Stat, StoragePath, WriteOptions
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approval, ApprovalRequest, ToolResult, Workspace
from moorage_workspace.tools.copy import COPY
from moorage_workspace.tools.move import MOVE

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


def code(result: ToolResult) -> str | None:
    return None if result.error is None else result.error.code


@pytest.fixture(params=["memory", "local"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path))


@pytest.fixture(params=[FILES.COPY, FILES.MOVE])
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ends(source: str, destination: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "destination": destination, **more}


async def test_a_file_arrives_and_parents_are_made(files: Filesystem, tool: str) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a.txt", "hello")
        result = await workspace.call_tool(tool, ends("a.txt", "new/b.txt"))
        assert await files.read_text("/new/b.txt") == "hello"
        assert await files.exists("/a.txt") is (tool == FILES.COPY)
    assert result.text == f"{'Copied' if tool == FILES.COPY else 'Moved'} /a.txt (5 bytes) to /new/b.txt"


async def test_a_file_that_is_there_stays_unless_overwrite(files: Filesystem, tool: str) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a", "new")
        await files.write_text("/b", "older")
        refused = await workspace.call_tool(tool, ends("/a", "/b"))
        assert [await files.read_text(path) for path in ("/a", "/b")] == ["new", "older"]
        done = await workspace.call_tool(tool, ends("/a", "/b", overwrite=True))
        assert await files.read_text("/b") == "new"
        assert await files.exists("/a") is (tool == FILES.COPY)
    assert code(refused) == "exists"
    assert "a file is there already; overwrite replaces it" in refused.text
    assert done.text.endswith(" /a (3 bytes) to /b, replacing 5 bytes")


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_file_does_not_go_into_a_directory_by_guess(files: Filesystem, tool: str, overwrite: bool) -> None:
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/a", "x")
        await files.make_dir("/d")
        result = await workspace.call_tool(tool, ends("/a", "/d", overwrite=overwrite))
    assert code(result) == "is_directory"
    assert "add the file's name" in result.text


@pytest.mark.parametrize("overwrite", [False, True])
async def test_a_directory_does_not_replace_a_file(files: Filesystem, tool: str, overwrite: bool) -> None:
    more = {"recursive": True} if tool == FILES.COPY else {}
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/d/f", "x")
        await files.write_text("/a", "kept")
        result = await workspace.call_tool(tool, ends("/d", "/a", overwrite=overwrite, **more))
        assert [await files.read_text(path) for path in ("/d/f", "/a")] == ["x", "kept"]
    assert code(result) == "not_directory"
    assert "overwrite" not in result.text


@pytest.mark.parametrize("overwrite", [False, True])
async def test_what_is_said_of_a_directory_that_is_there_is_true(files: Filesystem, tool: str, overwrite: bool) -> None:
    """Nothing replaces it: a copy adds to it where overwrite allows for that, a move goes nowhere."""
    more = {"recursive": True} if tool == FILES.COPY else {}
    async with Workspace(filesystem=files) as workspace:
        await files.write_text("/src/f", "new")
        await files.write_text("/dst/g", "old")
        result = await workspace.call_tool(tool, ends("/src", "/dst", overwrite=overwrite, **more))
        assert await files.read_text("/src/f") == "new"
        assert await files.read_text("/dst/g") == "old"
        assert await files.exists("/dst/f") is (tool == FILES.COPY and overwrite)
    if tool == FILES.MOVE:
        assert (code(result), "overwrite" in result.text) == ("exists", False)
        assert "move what is in it, or delete that one first" in result.text
    elif overwrite:
        assert result.ok, result.text
    else:
        assert code(result) == "exists"
        assert "overwrite copies into it, and replaces no file in it" in result.text


def test_the_descriptions_promise_no_replaced_directory() -> None:
    assert "adds to a directory without replacing a file in it" in COPY.describe({})
    assert "unless it is a file, which overwrite lets another file replace" in MOVE.describe({})


async def test_what_was_put_there_after_the_plan_is_not_overwritten(tool: str) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "a")
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Approval:
        asked.append(request)
        if len(asked) == 1:
            await memory.write_text("/b", "came meanwhile")
        return Approval.once()

    async with Workspace(filesystem=memory, approver=approve, tools={"require_approval": True}) as workspace:
        result = await workspace.call_tool(tool, ends("/a", "/b"))
        assert [await memory.read_text(path) for path in ("/a", "/b")] == ["a", "came meanwhile"]
    assert code(result) == "exists"


async def test_a_destination_that_changed_since_it_was_read_stays(tool: str) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "a")
    await memory.write_text("/b", "one")
    async with Workspace(filesystem=memory) as workspace:
        await workspace.call_tool(FILES.READ_FILE, {"path": "/b"})
        await memory.write_text("/b", "two")
        result = await workspace.call_tool(tool, ends("/a", "/b", overwrite=True))
        assert [await memory.read_text(path) for path in ("/a", "/b")] == ["a", "two"]
    assert code(result) == "stale"


async def test_where_reading_first_is_required_the_replaced_file_must_have_been_read_whole(tool: str) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "a")
    await memory.write_text("/b", "one\ntwo\n")
    replacing = ends("/a", "/b", overwrite=True)
    async with Workspace(filesystem=memory, tools={tool: {"require_read_before_write": True}}) as workspace:
        await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
        unread = await workspace.call_tool(tool, replacing)
        await workspace.call_tool(FILES.READ_FILE, {"path": "/b", "limit": 1})
        partly = await workspace.call_tool(tool, replacing)
        await workspace.call_tool(FILES.READ_FILE, {"path": "/b"})
        done = await workspace.call_tool(tool, replacing)
        new = await workspace.call_tool(tool, ends("/b", "/c"))
    assert [code(result) for result in (unread, partly, done, new)] == ["read_required", "read_required", None, None]


@pytest.mark.parametrize(("before", "refused"), [(None, "exists"), ("one", "stale")])
async def test_what_comes_to_the_destination_at_the_last_moment_stays(
    tool: str, before: str | None, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "a")
    if before is not None:
        await memory.write_text("/b", before)
    provider = memory.provider
    name = "copy" if tool == FILES.COPY else "move"
    place = getattr(provider, name)

    async def raced(src: StoragePath, dst: StoragePath, options: WriteOptions) -> Stat:
        await provider.write(dst, b"came meanwhile")
        stat: Stat = await place(src, dst, options)
        return stat

    monkeypatch.setattr(provider, name, raced)
    async with Workspace(filesystem=memory) as workspace:
        result = await workspace.call_tool(tool, ends("/a", "/b", overwrite=True))
        assert [await memory.read_text(path) for path in ("/a", "/b")] == ["a", "came meanwhile"]
    assert code(result) == refused
