"""The last steps of a call: redact, then cap, then hand over. The only way out to a model."""

from __future__ import annotations

from typing import cast

from moorage import MoorageError
from moorage_workspace.capping import cap
from moorage_workspace.errors import code_of
from moorage_workspace.redaction import Gate
from moorage_workspace.results import Keep, Output, ToolFailure, ToolResult
from moorage_workspace.tokens import TokenCounter
from moorage_workspace.tools.call import ToolCall

_MOST_TOKENS_OF_AN_ERROR = 1_000


def finished(call: ToolCall, output: Output) -> ToolResult:
    """The result of a call that did what it was asked to."""
    count = call.session.workspace.count_tokens
    kept = cap(call.gate.redact(output.body), call.max_output_tokens, output.keep, count)
    text = call.gate.redact(output.frame(kept))
    structured = cast("dict[str, object]", call.gate.redact_data(output.structured))
    return ToolResult(call.name, text, structured, output.media)


def failed(name: str, gate: Gate, count: TokenCounter, error: MoorageError) -> ToolResult:
    """The result of a call that did not."""
    where = f" ({error.path})" if error.path is not None else ""
    message = cap(gate.redact(f"{error.message}{where}"), _MOST_TOKENS_OF_AN_ERROR, Keep.START, count).text
    failure = ToolFailure(code_of(error), message, error.retryable)
    structured = {"error": {"code": failure.code, "message": message, "retryable": failure.retryable}}
    return ToolResult(gate.redact(name), f"Error ({failure.code}): {message}", structured, error=failure)
