"""What a person sees: exactly the model's text, and around it what the model does not get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from moorage_workspace.approval import ApprovalRequest
from moorage_workspace.results import ToolResult
from moorage_workspace.schemas import ToolDescription

PROMPT: Final = "agent> "
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_DIFF: Final = {"+": "green", "-": "red", "@": "cyan"}


def harmless(text: str) -> str:
    """Without what could drive a terminal."""
    return _CONTROL.sub(lambda found: _escaped(found[0]), text)


def on_one_line(text: str) -> str:
    """The same, and without what could look like another line of the shell."""
    return harmless(text).replace("\n", "\\n").replace("\t", "\\t")


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if character < "\u0100" else f"\\u{ord(character):04x}"


class Screen:
    """Where the shell prints."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str, style: str = "") -> None:
        self.console.print(Text(harmless(text), style), soft_wrap=True)

    def given(self, line: str) -> None:
        """A line that came from elsewhere, as if it had been typed."""
        self.line(f"{PROMPT}{line}", "bold")

    def hint(self, text: str) -> None:
        self.line(text, "dim")

    def text(self, name: str, text: str) -> None:
        self.line(text)

    def problem(self, code: str, message: str) -> None:
        self.line(message, "red")

    def tools(self, tools: Iterable[ToolDescription]) -> None:
        """One line a tool: its name, its parameters, the first sentence of what it does."""
        for tool in tools:
            parameters = " ".join(tool.input_schema.get("properties", {}))
            self.console.print(Text(tool.name, "bold"), Text(parameters, "dim"), soft_wrap=True)
            self.line(f"    {tool.description.partition('. ')[0].rstrip('.')}.")

    def tool(self, tool: ToolDescription) -> None:
        """All that a model is told of one tool."""
        self.console.print(Text(tool.name, "bold"))
        self.line(tool.description)
        self.line(json.dumps(tool.input_schema, indent=2), "dim")

    def result(self, result: ToolResult, *, structured: bool) -> None:
        """What the model gets, and what came beside it."""
        self.line(result.text, "" if result.ok else "red")
        for part in result.media:
            self.line(f"[{part.media_type}, {len(part.data)} bytes, shown to a model as a picture or document]", "dim")
        if structured:
            self.line(json.dumps(result.structured, indent=2, default=str, ensure_ascii=False), "dim")

    def question(self, request: ApprovalRequest) -> None:
        """An approval's request, its diff in colours."""
        self.line(f"approval {request.id}: {request.tool}  {request.summary}".rstrip(), "bold yellow")
        if not request.diff:
            self.line(json.dumps(dict(request.arguments), ensure_ascii=False, default=str))
        for line in request.diff.split("\n"):
            self.line(line, _DIFF.get(line[:1], ""))
        if request.byte_count:
            self.line(f"{request.byte_count} bytes would be written", "dim")
