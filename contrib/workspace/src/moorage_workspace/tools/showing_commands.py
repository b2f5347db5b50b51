"""How a command went, as a model reads it: the end of each stream, and how to get what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from moorage_workspace.ansi import strip
from moorage_workspace.capping import cap, tail_lines
from moorage_workspace.results import Keep, Kept, Output
from moorage_workspace.sandbox.port import CommandResult
from moorage_workspace.tools.call import ToolCall

TAIL = 200
"""Lines of each stream that are shown unless another number is asked for."""


@dataclass(frozen=True, slots=True)
class _Stream:
    name: str
    text: str
    left_out: str


def shown(call: ToolCall, result: CommandResult, head: str, *, tail: int, more: Mapping[str, object]) -> Output:
    """The result of a command below a line that says how it went.

    Args:
        tail: lines of each stream; 0 is all that were kept.
        more: what the structured result has beside the streams.
    """
    streams = [
        _stream(call, "stdout", result.stdout, result.dropped_stdout, tail),
        _stream(call, "stderr", result.stderr, result.dropped_stderr, tail),
    ]
    body = "\n".join(f"{stream.name}:\n{stream.text}" for stream in streams if stream.text)
    notices = [f"[{stream.name}: {stream.left_out}]" for stream in streams if stream.left_out]

    def frame(kept: Kept) -> str:
        notes = list(notices)
        if not kept.whole:
            notes.append("[the middle was left out; to see it, write the output to a file and read parts of that]")
        return "\n".join([head, *notes, kept.text.rstrip("\n") or "(no output)"])

    structured = {**more, **{stream.name: _capped(call, stream.text) for stream in streams}, **_facts(result)}
    return Output(body, structured, Keep.ENDS, frame)


def ending(result: CommandResult) -> str:
    """How a command that has ended did so, e.g. ``exit code 1 after 0.3 s``."""
    if result.timed_out:
        return f"timed out after {result.duration:.1f} s and was ended; exit code {result.exit_code}"
    if result.killed:
        return f"was ended after {result.duration:.1f} s; exit code {result.exit_code}"
    return f"exit code {result.exit_code} after {result.duration:.1f} s"


def _stream(call: ToolCall, name: str, raw: str, dropped: int, tail: int) -> _Stream:
    # redacted before lines are cut off, since what is left of a secret would no longer be known as one
    text, lines = tail_lines(call.redact(strip(raw)), tail)
    reasons: list[str] = []
    if dropped:
        reasons.append(f"the first {dropped:,} bytes were not kept; write the output to a file to have all of it")
    if lines:
        reasons.append(f"{lines:,} earlier lines are not shown; tail=0 shows all that were kept")
    return _Stream(name, text.rstrip("\n"), "; ".join(reasons))


def _capped(call: ToolCall, text: str) -> str:
    return cap(text, call.max_output_tokens, Keep.ENDS, call.tokens).text


def _facts(result: CommandResult) -> dict[str, object]:
    return {
        "duration": round(result.duration, 3),
        "timed_out": result.timed_out,
        "killed": result.killed,
        "truncated": result.truncated,
        "dropped_stdout_bytes": result.dropped_stdout,
        "dropped_stderr_bytes": result.dropped_stderr,
    }
