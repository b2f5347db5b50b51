"""What a hook before a tool may answer, and that nothing else lets the tool run."""

from __future__ import annotations

from typing import Any

import pytest

from moorage import InvalidArgumentError, MemoryFilesystem
from moorage_workspace import Hooks, Workspace

pytestmark = pytest.mark.anyio

WRITE = "workspace_write_file"


@pytest.mark.parametrize(
    "answer",
    [
        False,
        True,
        "false",
        0,
        [],
        {},
        {"proceed": 0},
        {"proceed": None},
        {"proceed": "false"},
        {"Proceed": False},
        {"proceed": True, "Output": "x"},
        {"output": "instead"},
    ],
)
async def test_an_unclear_answer_is_an_error_and_the_tool_does_not_run(answer: Any) -> None:
    files = MemoryFilesystem()
    async with Workspace(filesystem=files, tools={"hooks": Hooks(lambda event: answer)}) as workspace:
        with pytest.raises(InvalidArgumentError, match="proceed"):
            await workspace.call_tool(WRITE, {"path": "/a", "content": "x"})
        assert not await files.exists("/a")


@pytest.mark.parametrize("answer", [None, {"proceed": True}, {"proceed": True, "output": "ignored"}])
async def test_a_clear_yes_runs_the_tool(answer: Any) -> None:
    files = MemoryFilesystem()
    async with Workspace(filesystem=files, tools={"hooks": Hooks(lambda event: answer)}) as workspace:
        assert (await workspace.call_tool(WRITE, {"path": "/a", "content": "x"})).text.startswith("Created")
        assert await files.read_text("/a") == "x"
