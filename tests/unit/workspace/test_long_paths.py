"""A path costs nothing, however long a model makes it."""

from __future__ import annotations

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import MemoryFilesystem, StoragePath
from moorage_workspace import WORKSPACE_TOOLS, ToolRefusedError, Workspace
from moorage_workspace.tools.read_file import READ_FILE

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
LIMIT = "has more than 4,096 characters"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (FILES.READ_FILE, {"path": "a/" * 2_049}),
        (FILES.LIST_FILES, {"path": "x" * 4_097}),
        (FILES.FILE_STAT, {"path": "a/" * 1_000_000}),
        (FILES.WRITE_FILE, {"path": "é" * 4_097, "content": ""}),
        (FILES.MOVE, {"source": "a", "destination": "." * 4_097}),
    ],
)
async def test_beyond_the_limit_it_is_refused_and_not_repeated(tool: str, arguments: dict[str, str]) -> None:
    async with Workspace(filesystem=MemoryFilesystem()) as workspace:
        result = await workspace.call_tool(tool, arguments)
    assert result.error is not None
    assert (result.error.code, LIMIT in result.text, len(result.text) < 200) == ("invalid_arguments", True, True)


def test_it_is_measured_before_it_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Agent(MemoryFilesystem()).at(READ_FILE)
    longest = "a/" * 2_048
    assert call.path(longest) == StoragePath.parse(longest)
    monkeypatch.setattr(StoragePath, "parse", None)
    with pytest.raises(ToolRefusedError, match=LIMIT):
        call.path(f"{longest}a")
