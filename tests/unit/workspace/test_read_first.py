"""Who has read what, as calls see it: nothing is written over what was not seen, nor over what changed since."""

from __future__ import annotations

import pytest
from tests.unit.workspace.on_memory import workspace

from moorage import MemoryFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture
def memory() -> MemoryFilesystem:
    return MemoryFilesystem()


async def test_a_touch_is_no_change(memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "one\n")
    async with workspace(memory) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        await memory.write_text("/a", "one\n")
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})).ok


async def test_what_was_deleted_since_is_not_recreated(memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "one\n")
    async with workspace(memory) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        await memory.delete("/a")
        result = await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})
        assert result.error is not None
        assert result.error.code == "stale"
        assert not await memory.exists("/a")


async def test_ones_own_writes_are_known(memory: MemoryFilesystem) -> None:
    careful = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}
    async with workspace(memory, tools=careful) as space, space.session() as session:
        for arguments in ({"content": "one\n"}, {"content": "two\n"}):
            assert (await session.call_tool("workspace_write_file", {"path": "/a", **arguments})).ok
        edit = {"path": "/a", "old_string": "two", "new_string": "three"}
        assert (await session.call_tool("workspace_edit_file", edit)).ok
        failing = await session.call_tool("workspace_edit_file", edit)
        assert not failing.ok
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "four\n"})).ok


async def test_a_partial_read_is_not_a_read_of_the_rest(memory: MemoryFilesystem) -> None:
    careful = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}
    await memory.write_text("/a", "".join(f"line {number}\n" for number in range(10)))
    async with workspace(memory, tools=careful) as space, space.session() as session:
        await session.call_tool("workspace_file_stat", {"path": "/a"})
        await session.call_tool("workspace_read_file", {"path": "/a", "limit": 3})
        for name, arguments in (
            ("workspace_write_file", {"path": "/a", "content": "x"}),
            ("workspace_edit_file", {"path": "/a", "old_string": "line 5", "new_string": "x"}),
        ):
            result = await session.call_tool(name, arguments)
            assert result.error is not None
            assert result.error.code == "read_required"
        edit = {"path": "/a", "old_string": "line 1", "new_string": "x"}
        assert (await session.call_tool("workspace_edit_file", edit)).ok
        await session.call_tool("workspace_read_file", {"path": "/a", "offset": 4})
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "x"})).ok


async def test_records_survive_a_suspension(memory: MemoryFilesystem) -> None:
    careful = {FILES.WRITE_FILE: {"require_read_before_write": True}}
    await memory.write_text("/a", "one\n")
    async with workspace(memory, tools=careful) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        dumped = session.dump()
    async with workspace(memory, tools=careful) as space, space.session() as session:
        session.load(dumped)
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})).ok
