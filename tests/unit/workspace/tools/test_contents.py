"""What a person is shown of text that a copy, a move or a removal would lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.asked_person import Person
from tests.unit.workspace.on_memory import ASK, workspace

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approval, ApprovalRequest, Workspace
from moorage_workspace.tools.contents import SHOWN, Unread

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
REPLACING = {"source": "/a", "destination": "/b", "overwrite": True}


async def question(tool: str, arguments: dict[str, Any], **contents: bytes) -> ApprovalRequest:
    memory, person = MemoryFilesystem(), Person(Approval.once())
    for name, content in contents.items():
        await memory.write_bytes(f"/{name}", content)
    async with workspace(memory, tools=ASK, approver=person) as space:
        assert (await space.call_tool(tool, arguments)).ok
    (request,) = person.asked
    return request


@pytest.mark.parametrize("tool", [FILES.COPY, FILES.MOVE])
async def test_a_file_that_is_replaced(tool: str) -> None:
    request = await question(tool, REPLACING, a=b"one\nthree\n", b=b"two\nthree\n")
    assert request.diff == "--- /b\n+++ /b\n@@ -1,2 +1,2 @@\n-two\n+one\n three\n"
    assert request.byte_count == len(b"one\nthree\n")


async def test_a_file_that_goes() -> None:
    request = await question(FILES.DELETE, {"path": "/b"}, b=b"one\ntwo\n")
    assert request.diff == "--- /b\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
    assert request.byte_count == 0


async def test_a_file_that_is_new() -> None:
    to_new = {"source": "/a", "destination": "/b"}
    copied = await question(FILES.COPY, to_new, a=b"one\n")
    assert (copied.diff, copied.byte_count) == ("--- /dev/null\n+++ /b\n@@ -0,0 +1 @@\n+one\n", 4)
    moved = await question(FILES.MOVE, to_new, a=b"one\n")
    assert (moved.diff, moved.byte_count) == ("", 0)


@pytest.mark.parametrize("tool", [FILES.COPY, FILES.MOVE])
@pytest.mark.parametrize(
    ("old", "new", "which"),
    [(SHOWN + 1, 4, "old"), (4, SHOWN + 1, "new"), (SHOWN + 2, SHOWN + 1, "old")],
)
async def test_what_is_too_large_is_told_with_its_size(tool: str, old: int, new: int, which: str) -> None:
    request = await question(tool, REPLACING, a=b"x" * new, b=b"y" * old)
    assert request.diff == f"--- /b\n+++ /b\nthe {which} content is too large to be shown\n"
    assert request.byte_count == new


async def test_too_large_a_file_that_goes_or_is_new() -> None:
    request = await question(FILES.DELETE, {"path": "/b"}, b=b"x" * (SHOWN + 1))
    assert request.diff == "--- /b\n+++ /dev/null\nthe old content is too large to be shown\n"
    request = await question(FILES.COPY, {"source": "/a", "destination": "/b"}, a=b"x" * (SHOWN + 1))
    assert "the new content is too large to be shown\n" in request.diff
    assert request.byte_count == SHOWN + 1


async def test_bytes_that_are_no_text_are_told_with_their_sizes() -> None:
    request = await question(FILES.COPY, REPLACING, a=b"\0one", b=b"two\xff")
    assert request.diff == "--- /b\n+++ /b\nbinary content: 4 bytes before, 4 bytes after\n"


async def test_a_directory_says_how_much_is_in_it() -> None:
    memory, person = MemoryFilesystem(), Person(Approval.once())
    await memory.write_text("/d/x", "x")
    async with workspace(memory, tools=ASK, approver=person) as space:
        await space.call_tool(FILES.COPY, {"source": "/d", "destination": "/e", "recursive": True})
        await space.call_tool(FILES.DELETE, {"path": "/d", "recursive": True})
    assert person.summaries == [
        "copy /d (1 entry below it) to /e",
        "delete the directory /d and 1 entry below it",
    ]


async def test_of_a_link_no_content_is_lost(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n")
    for name in ("l1", "l2", "l3"):
        (tmp_path / name).symlink_to("b")
    person = Person(Approval.once())
    async with Workspace(filesystem=LocalFilesystem(tmp_path), approver=person, tools=ASK) as space:
        await space.call_tool(FILES.DELETE, {"path": "l1"})
        await space.call_tool(FILES.MOVE, {"source": "a", "destination": "l2", "overwrite": True})
        await space.call_tool(FILES.MOVE, {"source": "l3", "destination": "l2", "overwrite": True})
    assert [request.diff for request in person.asked] == ["", "", "--- /l2\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"]
    assert (tmp_path / "b").read_text() == "b\n"


@pytest.mark.parametrize(("tool", "arguments"), [(FILES.COPY, REPLACING), (FILES.DELETE, {"path": "/b"})])
async def test_where_nobody_is_asked_nothing_is_read(
    tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryFilesystem()
    for path in ("/a", "/b"):
        await memory.write_text(path, path)
    monkeypatch.setattr(type(memory.provider), "read", None)
    async with workspace(memory) as space:
        assert (await space.call_tool(tool, arguments)).ok


def test_what_was_not_read_is_never_taken_for_content() -> None:
    with pytest.raises(ValueError, match="not read"):
        bytes(Unread(7))
