"""Nobody is asked about what cannot be: the call fails as it would without asking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.asked_person import Person
from tests.unit.workspace.on_memory import ASK

from moorage import Filesystem, MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture(params=["memory", "local"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path))


def ends(source: str, destination: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "destination": destination, **more}


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        (FILES.WRITE_FILE, {"path": "a/x", "content": "x"}, "not_directory"),
        (FILES.WRITE_FILE, {"path": "a/x/y/z", "content": "x"}, "not_directory"),
        (FILES.MKDIR, {"path": "a/k"}, "not_directory"),
        (FILES.MKDIR, {"path": "new/k", "recursive": False}, "not_found"),
        (FILES.COPY, ends("a", "a/b"), "not_directory"),
        (FILES.COPY, ends("o", "a/o", recursive=True), "not_directory"),
        (FILES.COPY, ends("o", "o/in", recursive=True), "invalid_argument"),
        (FILES.COPY, ends("o", "o/sub", recursive=True, overwrite=True), "invalid_argument"),
        (FILES.MOVE, ends("a", "o/c/d"), "not_directory"),
        (FILES.MOVE, ends("o", "o/in"), "invalid_argument"),
    ],
)
async def test_it_fails_unasked_and_as_the_store_would_say(
    files: Filesystem, tool: str, arguments: dict[str, Any], code: str
) -> None:
    person = Person()
    async with Workspace(filesystem=files, approver=person) as workspace, workspace.session() as session:
        await files.write_text("/a", "one")
        await files.write_text("/o/c", "c")
        await files.make_dir("/o/sub")
        told = await session.call_tool(tool, arguments)
        workspace.set_tools_config(ASK)
        result = await session.call_tool(tool, arguments)
        found = sorted([str(entry.path) async for entry in files.scan_dir("/", recursive=True)])
    assert person.asked == []
    assert result.error is not None
    assert told.error is not None
    assert (result.error.code, told.error.code) == (code, code)
    if code == "not_directory":
        assert result.text == told.text
    assert found == ["/a", "/o", "/o/c", "/o/sub"]


async def test_a_copy_through_a_link_into_itself_is_one(tmp_path: Path) -> None:
    (tmp_path / "o/sub").mkdir(parents=True)
    (tmp_path / "l").symlink_to("o/sub")
    person = Person()
    async with Workspace(filesystem=LocalFilesystem(tmp_path), approver=person, tools=ASK) as workspace:
        result = await workspace.call_tool(FILES.COPY, ends("o", "l/in", recursive=True))
    assert result.error is not None
    assert (result.error.code, person.asked) == ("invalid_argument", [])


async def test_what_can_be_made_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "l").symlink_to("later")
    person = Person()
    async with Workspace(filesystem=LocalFilesystem(tmp_path), approver=person, tools=ASK) as workspace:
        for path in ("top", "o/x", "n/e/w", "l/x"):
            assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": path, "content": "x"})).ok, path
        assert (await workspace.call_tool(FILES.MOVE, ends("o", "oo"))).ok
    assert len(person.asked) == 5
    assert (tmp_path / "later/x").read_text() == "x"
