"""Which lines differ between two contents. Work is bounded by windows, so that size does not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from moorage_workspace.text.lines import line_end, line_start
from moorage_workspace.text.shared_ends import shared_end, shared_start

_WINDOW: Final = 1_000


@dataclass(frozen=True, slots=True)
class LineChange:
    """Whole lines of the old content, as a span of bytes, and those of the new one that take their place."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def line_changes(old: bytes, new: bytes) -> Iterator[LineChange]:
    """The changes, in order; between two of them, and outside, both contents agree.

    As few lines as can be within windows of a thousand lines; beyond them, not always the fewest.
    """
    old_stop, new_stop = _stops(old, new)
    old_at = new_at = 0
    while True:
        same = min(shared_start(old, new, old_at, new_at), old_stop - old_at, new_stop - new_at)
        back = old_at + same - line_start(old, old_at + same)
        if old_at + same == old_stop and new_at + same == new_stop:
            return
        old_at, new_at = old_at + same - back, new_at + same - back
        window = _Window(old, old_at, old_stop, new, new_at, new_stop)
        yield from window.changes
        old_at, new_at = window.next


def _stops(old: bytes, new: bytes) -> tuple[int, int]:
    """Where the lines begin that both end with."""
    same = shared_end(old, new, min(len(old), len(new)) - shared_start(old, new))
    old_stop, new_stop = len(old) - same, len(new) - same
    if _begins_line(old, old_stop) and _begins_line(new, new_stop):
        return old_stop, new_stop
    further = line_end(old, old_stop) - old_stop
    return old_stop + further, new_stop + further


def _begins_line(data: bytes, offset: int) -> bool:
    return offset == 0 or data[offset - 1] == 0x0A


class _Window:
    """The changes within the next lines of both, and where to go on."""

    def __init__(self, old: bytes, old_at: int, old_stop: int, new: bytes, new_at: int, new_stop: int) -> None:
        old_starts, new_starts = _line_starts(old, old_at, old_stop), _line_starts(new, new_at, new_stop)
        ends = old_starts[-1] == old_stop and new_starts[-1] == new_stop
        matcher = SequenceMatcher(None, _lines(old, old_starts), _lines(new, new_starts))
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        everything = ends or not blocks
        last = (len(old_starts) - 1, len(new_starts) - 1) if everything else (blocks[-1].a, blocks[-1].b)
        self.next = (old_starts[last[0]], new_starts[last[1]])
        self.changes: list[LineChange] = [
            LineChange(old_starts[i], old_starts[i_end], new_starts[j], new_starts[j_end])
            for tag, i, i_end, j, j_end in matcher.get_opcodes()
            if tag != "equal" and i_end <= last[0] and j_end <= last[1]
        ]


def _line_starts(data: bytes, start: int, stop: int) -> list[int]:
    starts = [start]
    while starts[-1] < stop and len(starts) <= _WINDOW:
        starts.append(line_end(data, starts[-1]))
    return starts


def _lines(data: bytes, starts: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in pairwise(starts)]
