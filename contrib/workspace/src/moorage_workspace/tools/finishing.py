"""The last steps of a call: redact, then cap, then hand over. The only way out to a model."""

from __future__ import annotations

from typing import Final, cast

from moorage import MoorageError
from moorage_workspace.capping import cap
from moorage_workspace.errors import code_of
from moorage_workspace.redaction import Gate
from moorage_workspace.results import Keep, Output, ToolFailure, ToolResult
from moorage_workspace.threads import worked
from moorage_workspace.tokens import TokenCounter
from moorage_workspace.tools.call import ToolCall

_MOST_TOKENS_OF_AN_ERROR: Final = 1_000
_MOST_OF_AN_ERROR: Final = 8 * 1024
_MOST_OF_A_NAME: Final = 200
_AT_ONCE: Final = 64 * 1024
"""Characters up to which redaction is not worth a thread."""


async def finished(call: ToolCall, output: Output) -> ToolResult:
    """The result of a call that did what it was asked to."""
    body, structured = await worked(_redacted, call.gate, output, at_once=len(output.body) <= _AT_ONCE)
    kept = cap(body, call.max_output_tokens, output.keep, call.session.workspace.count_tokens)
    return ToolResult(call.name, call.redact(output.frame(kept)), structured, output.media)


def failed(name: object, gate: Gate, count: TokenCounter, error: MoorageError) -> ToolResult:
    """The result of a call that did not."""
    where = f" ({error.path})" if error.path is not None else ""
    message = gate.redact_start(f"{error.message}{where}", _MOST_OF_AN_ERROR)
    message = cap(message, _MOST_TOKENS_OF_AN_ERROR, Keep.START, count).text
    failure = ToolFailure(code_of(error), message, error.retryable)
    structured = {"error": {"code": failure.code, "message": message, "retryable": failure.retryable}}
    return ToolResult(shown_tool(name, gate), f"Error ({failure.code}): {message}", structured, error=failure)


def shown_tool(name: object, gate: Gate) -> str:
    """What a model called for a tool, as it can be repeated; of what is no text, the type."""
    return gate.redact_start(name, _MOST_OF_A_NAME) if isinstance(name, str) else type(name).__name__


def _redacted(gate: Gate, output: Output) -> tuple[str, dict[str, object]]:
    return gate.redact(output.body), cast("dict[str, object]", gate.redact_data(output.structured))
