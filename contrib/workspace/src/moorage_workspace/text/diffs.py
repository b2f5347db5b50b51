"""The unified diff of two contents, for the eyes of whoever approves it. Bounded work and length, whatever the size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from moorage_workspace.text.encodings import is_utf8, whole_characters
from moorage_workspace.text.excerpts import Redact, excerpts, unchanged
from moorage_workspace.text.line_changes import LineChange, line_changes
from moorage_workspace.text.lines import line_end, line_start
from moorage_workspace.text.shared_ends import shared_start
from moorage_workspace.text.unseen import spelled_out

MOST_LINES: Final = 400
_CONTEXT: Final = 3
_WIDTH: Final = 500
_LEAD: Final = 100


def unified_diff(
    name: str,
    before: bytes | None,
    after: bytes | None,
    *,
    redact: Redact = unchanged,
    max_lines: int = MOST_LINES,
    first_line: int = 1,
) -> str:
    """What changes from ``before`` to ``after``, ``None`` being no file; ``""`` where nothing does.

    Line ends are shown where they differ, characters that cannot be seen are spelled out, and very long lines are cut
    to what changes. A notice tells what is left out beyond ``max_lines``. Content that is no UTF-8 text is one line
    with the sizes. ``redact`` sees what surrounds a line, so that a secret that spans several stays masked.

    Args:
        first_line: the number of the line that both begin with, where they are parts of two contents.
    """
    if before == after:
        return ""
    old, new = before or b"", after or b""
    head = f"--- {'/dev/null' if before is None else name}\n+++ {'/dev/null' if after is None else name}\n"
    if not _is_text(old) or not _is_text(new):
        return f"{head}binary content: {len(old):,} bytes before, {len(new):,} bytes after\n"
    drawing = _Drawing(old, new, redact, max_lines, first_line)
    lines: list[str] = []
    for hunk in _hunks(old, line_changes(old, new), max_lines):
        lines += drawing.hunk(hunk)
        if len(lines) > max_lines:
            return head + "".join(lines[:max_lines]) + "[the diff is longer; the rest is not shown]\n"
    return head + "".join(lines)


def _is_text(data: bytes) -> bool:
    return b"\0" not in data and is_utf8(data)


def _hunks(old: bytes, changes: Iterator[LineChange], most: int) -> Iterator[list[LineChange]]:
    """Changes that are so near to each other that they share their context, ``most`` at a time."""
    hunk: list[LineChange] = []
    for change in changes:
        if len(hunk) > most or (hunk and old.count(b"\n", hunk[-1].old_end, change.old_start) > 2 * _CONTEXT):
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


@dataclass(slots=True)
class _Line:
    """One line to draw.

    Attributes:
        start: of the part that is drawn, in its content; ``end`` too.
        cut_before: something of the line is left out before it; ``cut_after`` after it.
        ending: what ends the line.
        text: what is drawn.
    """

    sign: str
    start: int = 0
    end: int = 0
    cut_before: bool = False
    cut_after: bool = False
    ending: str = ""
    text: str = ""

    def drawn(self, *, mark_ends: bool) -> str:
        if self.sign == "[":
            return f"{self.text}\n"
        text = spelled_out(self.text, keep="\t")
        mark = "␍" if mark_ends and self.ending == "\r\n" else ""
        unended = "" if self.ending else "\n\\ No newline at end of file"
        return f"{self.sign}{'…' * self.cut_before}{text}{'…' * self.cut_after}{mark}{unended}\n"


class _Drawing:
    """Draws hunks, from the first to the last."""

    def __init__(self, old: bytes, new: bytes, redact: Redact, max_lines: int, first_line: int) -> None:
        self._old, self._new = old, new
        self._redact = redact
        self._most, self._most_a_side = max_lines, max(1, max_lines // 4)
        self._old_numbers, self._new_numbers = _Numbers(old, first_line), _Numbers(new, first_line)

    def hunk(self, changes: list[LineChange]) -> list[str]:
        first, last = changes[0], changes[-1]
        start, end = _back(self._old, first.old_start, _CONTEXT), _on(self._old, last.old_end, _CONTEXT)
        lines = self._context(start, first.old_start)
        for change, stop in zip(changes, [*(one.old_start for one in changes[1:]), end], strict=True):
            lines += self._change(change)
            lines += self._context(change.old_end, stop)
            if len(lines) > self._most:
                break
        self._read(self._old, [line for line in lines if line.sign in " -"])
        self._read(self._new, [line for line in lines if line.sign == "+"])
        mark_ends = len({line.ending for line in lines} - {""}) > 1
        removed = self._old_numbers.range(start, end)
        added = self._new_numbers.range(first.new_start - (first.old_start - start), last.new_end + end - last.old_end)
        return [f"@@ -{removed} +{added} @@\n", *(line.drawn(mark_ends=mark_ends) for line in lines)]

    def _context(self, start: int, end: int) -> list[_Line]:
        return [_line(" ", self._old, *span, 0) for span in _spans(self._old, start, end)]

    def _change(self, change: LineChange) -> list[_Line]:
        removed = list(islice(_spans(self._old, change.old_start, change.old_end), self._most_a_side))
        added = list(islice(_spans(self._new, change.new_start, change.new_end), self._most_a_side))
        pairs = zip(removed, added, strict=False)
        same = [shared_start(self._old, self._new, one[0], other[0]) for one, other in pairs]
        return [
            *self._side("-", self._old, removed, same, change.old_end),
            *self._side("+", self._new, added, same, change.new_end),
        ]

    def _side(self, sign: str, data: bytes, spans: list[tuple[int, int]], same: list[int], end: int) -> list[_Line]:
        focus = [*same, *[0] * (len(spans) - len(same))]
        lines = [_line(sign, data, *span, at) for span, at in zip(spans, focus, strict=True)]
        if spans and spans[-1][1] < end:
            left_out = _count(data, spans[-1][1], end)
            what = "removed" if sign == "-" else "added"
            lines.append(_Line("[", text=f"[{left_out:,} more lines are {what}]"))
        return lines

    def _read(self, data: bytes, lines: list[_Line]) -> None:
        texts = excerpts(data, [(line.start, line.end) for line in lines], self._redact)
        for line, text in zip(lines, texts, strict=True):
            line.text = text


class _Numbers:
    """Line numbers of one side, asked for in order."""

    def __init__(self, data: bytes, first: int) -> None:
        self._data = data
        self._at, self._line = 0, first

    def range(self, start: int, end: int) -> str:
        """As a hunk's head has it."""
        self._line += self._data.count(b"\n", self._at, start)
        self._at = start
        count = _count(self._data, start, end)
        return str(self._line) if count == 1 else f"{self._line if count else self._line - 1},{count}"


def _line(sign: str, data: bytes, start: int, end: int, same: int) -> _Line:
    ending = "\r\n" if data.endswith(b"\r\n", start, end) else "\n" if data.endswith(b"\n", start, end) else ""
    stop = end - len(ending)
    left, right = start, stop
    if stop - start > _WIDTH:
        left = max(start, min(start + same, stop - _WIDTH + _LEAD) - _LEAD)
        left, right = whole_characters(data, left, min(stop, left + _WIDTH))
    return _Line(sign, left, right, cut_before=left > start, cut_after=right < stop, ending=ending)


def _spans(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        following = line_end(data, start)
        yield start, following
        start = following


def _count(data: bytes, start: int, end: int) -> int:
    return data.count(b"\n", start, end) + (start < end and data[end - 1] != 0x0A)


def _back(data: bytes, start: int, lines: int) -> int:
    for _ in range(lines):
        start = line_start(data, start - 1) if start else 0
    return start


def _on(data: bytes, start: int, lines: int) -> int:
    for _ in range(lines):
        start = line_end(data, start)
    return start
