"""What a program sees that plays the agent: one JSON document a line, and nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TextIO

from moorage_workspace.approval import ApprovalRequest
from moorage_workspace.results import ToolResult
from moorage_workspace.schemas import ToolDescription


class Documents:
    """Prints what :class:`moorage_workspace.shell.drawing.Screen` draws, as far as a program has a use for it."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out

    def given(self, line: str) -> None:
        """It knows what it gave."""

    def hint(self, text: str) -> None:
        """It needs none."""

    def text(self, name: str, text: str) -> None:
        self._write({name: text})

    def problem(self, code: str, message: str) -> None:
        self._write({"error": {"code": code, "message": message}})

    def tools(self, tools: Iterable[ToolDescription]) -> None:
        self._write({"tools": [_described(tool) for tool in tools]})

    def tool(self, tool: ToolDescription) -> None:
        self._write(_described(tool))

    def result(self, result: ToolResult, *, structured: bool) -> None:
        """The data is always there."""
        document: dict[str, object] = {
            "tool": result.tool,
            "ok": result.ok,
            "text": result.text,
            "structured": result.structured,
            "media": [{"media_type": part.media_type, "size": len(part.data)} for part in result.media],
        }
        if result.error is not None:
            document["error"] = asdict(result.error)
        self._write(document)

    def question(self, request: ApprovalRequest) -> None:
        """The next line that is read is the answer: ``y``, ``n`` or ``a``."""
        fields = ("id", "tool", "key", "paths", "arguments", "summary", "diff", "byte_count", "rule")
        self._write({"approval": {name: getattr(request, name) for name in fields}})

    def _write(self, document: object) -> None:
        print(json.dumps(document, separators=(",", ":"), default=str), file=self._out, flush=True)


def _described(tool: ToolDescription) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
