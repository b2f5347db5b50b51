"""What reaches the terminal."""

from __future__ import annotations

import io
import unicodedata
from typing import Any

import pytest
from rich.console import Console

from moorage import MemoryFilesystem
from moorage_workspace import ApprovalRequest, Media, ToolFailure, ToolResult, Workspace
from moorage_workspace.shell.drawing import Screen, harmless, on_one_line

HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\rd\x08e\x9b31mf\u202eg\u2066h\x00i\u2028j"


class Drawn:
    """A screen and what was drawn on it; ``colours`` as on a terminal."""

    def __init__(self, *, colours: bool = False) -> None:
        self.out = io.StringIO()
        console = Console(file=self.out, force_terminal=colours, color_system="standard" if colours else None, width=40)
        self.screen = Screen(console)

    @property
    def text(self) -> str:
        return self.out.getvalue()


def driving(text: str) -> list[str]:
    """The characters of a text that could drive a terminal."""
    return [one for one in text if one not in "\n\t" and unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"}]


def request(**more: Any) -> ApprovalRequest:
    given: dict[str, Any] = {
        "tool": "workspace_edit_file",
        "key": "workspace_edit_file",
        "paths": ("/f",),
        "arguments": {"path": "/f"},
        "summary": "edit /f",
        "diff": "--- /f\n+++ /f\n@@ -1 +1 @@\n-one\n+two\n",
        "byte_count": 4,
        "rule": "workspace_edit_file under /**",
        "session_id": "s",
    }
    return ApprovalRequest(**{**given, **more})


def test_nothing_that_drives_a_terminal_is_left() -> None:
    assert harmless(HOSTILE) == ("a\\x1b[2Jb\\x1b]0;title\\x07c\\x0dd\\x08e\\x9b31mf\\u202eg\\u2066h\\x00i\\u2028j")
    assert harmless("größe 你好 🎉\n\tplain") == "größe 你好 🎉\n\tplain"
    assert driving(harmless("".join(map(chr, range(0x300))) + HOSTILE)) == ["\u00ad"]


def test_a_rule_stays_on_one_line() -> None:
    assert on_one_line("run: ls\n[y]es\tx\x1b") == "run: ls\\n[y]es\\tx\\x1b"


@pytest.mark.parametrize("ok", [True, False])
def test_a_result_is_the_models_text_line_by_line(ok: bool) -> None:
    drawn = Drawn()
    text = f"[bold]not markup[/] :smile: {'x' * 100}\n{HOSTILE}"
    error = None if ok else ToolFailure("stale", "it is")
    drawn.screen.result(ToolResult("t", text, error=error), structured=False)
    assert drawn.text == f"{harmless(text)}\n"


def test_what_comes_beside_the_text_is_named() -> None:
    drawn = Drawn()
    result = ToolResult("t", "text", {"name": HOSTILE, "n": 1}, (Media("image/png", b"12345"),))
    drawn.screen.result(result, structured=True)
    assert "[image/png, 5 bytes" in drawn.text
    assert '"n": 1' in drawn.text
    assert driving(drawn.text) == []


def test_a_diff_is_coloured_and_only_by_us() -> None:
    drawn = Drawn(colours=True)
    drawn.screen.question(request(diff=f"@@ -1 +1 @@\n-{HOSTILE}\n+[red]two[/]\n"))
    assert "\x1b[31m-a\\x1b[2J" in drawn.text
    assert "\x1b[32m+[red]two[/]\x1b[0m" in drawn.text
    assert "\x1b[36m@@ -1 +1 @@" in drawn.text
    assert "\x1b[2J" not in drawn.text
    assert "4 bytes would be written" in drawn.text


def test_a_question_without_a_diff_shows_the_arguments() -> None:
    drawn = Drawn()
    drawn.screen.question(
        request(diff="", byte_count=0, summary=f"run: {HOSTILE}", arguments={"command": f"ls {HOSTILE}\nrm -rf /"})
    )
    assert "rm -rf /" in drawn.text
    assert "would be written" not in drawn.text
    assert driving(drawn.text) == []


@pytest.mark.anyio
async def test_tools_are_listed_with_their_parameters_and_shown_whole() -> None:
    async with Workspace(filesystem=MemoryFilesystem()) as workspace:
        tools = await workspace.tools()
    drawn = Drawn()
    drawn.screen.tools(tools)
    for tool in tools:
        assert f"{tool.name} {' '.join(tool.input_schema['properties'])}\n    " in drawn.text
    drawn.screen.tool(tools[0])
    assert tools[0].description in drawn.text
    assert '"additionalProperties": false' in drawn.text
