"""What is said of a path where nothing is: names there as they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from moorage import MemoryFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Workspace
from moorage_workspace.redaction import MASK

pytestmark = pytest.mark.anyio

LITERAL = "LITERALsecret77"
TOOLS = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture
async def workspace() -> Workspace:
    files = MemoryFilesystem()
    await files.write_text(f"k-{LITERAL}.txt", "x")
    await files.write_text("plain.txt", "x")
    return Workspace(filesystem=files, secrets=[LITERAL])


@pytest.mark.parametrize(
    ("tool", "more"),
    [(TOOLS.READ_FILE, {}), (TOOLS.FILE_STAT, {}), (TOOLS.LIST_FILES, {}), (TOOLS.GREP, {"pattern": "x"})],
)
async def test_how_near_a_guess_is_tells_nothing(workspace: Workspace, tool: str, more: dict[str, Any]) -> None:
    texts: set[str] = set()
    for guess in ("LITERALse", "LITERALsecret7", "LITERALzz", "zzzzzzzzzzzzzz"):
        result = await workspace.call_tool(tool, {"path": f"k-{guess}.txt", **more})
        texts.add(result.text.replace(guess, "…"))
    assert len(texts) == 1
    assert MASK not in texts.pop()


async def test_a_name_is_near_by_what_is_shown_of_it(workspace: Workspace) -> None:
    result = await workspace.call_tool(TOOLS.READ_FILE, {"path": f"K-{MASK}.txt"})
    assert f"near names there: /k-{MASK}.txt" in result.text
    result = await workspace.call_tool(TOOLS.READ_FILE, {"path": "plane.txt"})
    assert "near names there: /plain.txt" in result.text
