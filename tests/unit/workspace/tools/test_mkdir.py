"""mkdir."""

from __future__ import annotations

import pytest

from moorage import MemoryFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approval, ApprovalRequest, Workspace

pytestmark = pytest.mark.anyio

MKDIR = WORKSPACE_TOOLS.FILESYSTEM.MKDIR


async def test_parents_are_made_and_an_existing_directory_is_fine() -> None:
    memory = MemoryFilesystem()
    async with Workspace(filesystem=memory) as workspace:
        made = await workspace.call_tool(MKDIR, {"path": "a/b/c"})
        again = await workspace.call_tool(MKDIR, {"path": "a/b/c"})
        assert await memory.is_dir("/a/b/c")
    assert (made.text, made.structured["made"]) == ("Made /a/b/c", True)
    assert (again.text, again.structured["made"]) == ("Already there: /a/b/c", False)


async def test_without_recursive_the_parent_must_be_there() -> None:
    memory = MemoryFilesystem()
    async with Workspace(filesystem=memory) as workspace:
        refused = await workspace.call_tool(MKDIR, {"path": "/a/b", "recursive": False})
        assert not await memory.exists("/a")
        made = await workspace.call_tool(MKDIR, {"path": "/a", "recursive": False})
    assert refused.error is not None
    assert refused.error.code == "not_found"
    assert made.ok


async def test_a_file_in_its_place_is_refused_before_anybody_is_asked() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "x")
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    async with Workspace(filesystem=memory, approver=approve, tools={"require_approval": True}) as workspace:
        refused = await workspace.call_tool(MKDIR, {"path": "/a"})
        made = await workspace.call_tool(MKDIR, {"path": "/b"})
        assert await memory.read_text("/a") == "x"
    assert refused.error is not None
    assert refused.error.code == "exists"
    assert made.ok
    assert [request.summary for request in asked] == ["make the directory /b"]
