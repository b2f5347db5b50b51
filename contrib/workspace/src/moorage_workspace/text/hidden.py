"""Which bytes of a content are masked when it is shown, and whether they still are after an edit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from moorage_workspace.reads import Replaced, Span
from moorage_workspace.redaction import MASK
from moorage_workspace.text.begun import Begun
from moorage_workspace.text.excerpts import REACH, Redact
from moorage_workspace.text.pieces import Pieces
from moorage_workspace.text.shared_ends import shared_end, shared_start

_BLOCK: Final = 64 * 1024
_STEP: Final = REACH // 4
"""Bytes that are looked at together, to tell what is in reach of each: up to so much less than :data:`REACH`."""


class Hidden:
    """The hidden bytes of a content, found block by block as they are asked for; best from the start to the end."""

    def __init__(self, data: bytes, redact: Redact) -> None:
        self._data, self._redact = data, redact
        self._begun = Begun(data, redact)
        self._block: Span = (0, 0)
        self._spans: list[Span] = []

    def shows(self, start: int, end: int) -> bool:
        """Whether no byte of ``[start, end)`` is hidden."""
        if start < self._block[0] or end > self._block[1]:
            self._block = (start // _BLOCK * _BLOCK, -(-end // _BLOCK) * _BLOCK)
            first, opening = self._begun.before(max(0, self._block[0] - REACH))
            around = opening.encode() + self._data[first : self._block[1] + REACH]
            base = first - len(opening)
            self._spans = [(base + first, base + last) for first, last in _hidden(around, self._redact)]
        at = bisect_right(self._spans, (end, -1)) - 1
        return at < 0 or self._spans[at][1] <= start


def uncovers(before: bytes, replaced: Sequence[Replaced], after: Pieces, redact: Redact) -> bool:
    """Whether something that is hidden near the replaced spans of ``before`` can be seen in ``after``.

    Also by who sees of ``after`` no more than :data:`REACH` bytes before that, where in ``before`` these were enough.
    """
    moved, begun = _Moved(replaced), Begun(before, redact)
    for start, end in _windows(before, replaced, moved):
        first, opening = begun.before(start)
        if moved.outside(first)[0] != first:
            first = start
        lead = opening.encode()
        old, base = lead + before[first:end], moved.at(first)
        doubtful: set[tuple[str, str]] = set()
        hidden = _hidden(old, redact, doubtful)
        if not hidden:
            continue
        new = lead + after.part(base, moved.at(end))
        still = _hidden(new, redact, frozenset(doubtful))
        places = [
            (begin, moved.at(first + begin - len(lead)) - base + len(lead), stop - begin)
            for begin, stop in ((max(begin, len(lead)), stop) for begin, stop in hidden)
            if begin < stop
        ]
        if not all(_is_within(at, at + size, still) for _, at, size in places):
            return True
        if len(new) > len(old) and _leaves_reach(_InReach(old, redact), _InReach(new, redact), places):
            return True
    return False


def _leaves_reach(old: _InReach, new: _InReach, places: list[tuple[int, int, int]]) -> bool:
    """Whether the end of a hidden span, by where it is in both and its size, gets too far from what makes it hidden."""
    for was, at, size in places:
        start = (was + size - 1) // _STEP * _STEP
        if not new.hides(at + size - 1, start + at - was) and old.hides(was + size - 1, start):
            return True
    return False


class _InReach:
    """What is hidden for who sees no more than :data:`REACH` bytes before it."""

    def __init__(self, data: bytes, redact: Redact) -> None:
        self._data, self._redact = data, redact
        self._start: int | None = None
        self._spans: list[Span] = []

    def hides(self, at: int, start: int) -> bool:
        """Whether it hides ``at``, a few bytes from ``start``."""
        if start != self._start:
            first = max(0, start + _STEP - REACH)
            view = self._data[first : start + 2 * _STEP]
            self._start = start
            self._spans = [(first + begin, first + stop) for begin, stop in _hidden(view, self._redact)]
        return _is_within(at, at + 1, self._spans)


def _windows(before: bytes, replaced: Sequence[Replaced], moved: _Moved) -> Iterator[Span]:
    """What surrounds the replaced spans, near ones together, without an edge inside of one."""
    first = 0
    for number, part in enumerate(replaced, 1):
        if number == len(replaced) or replaced[number].end > replaced[first].start + _BLOCK:
            start, end = max(0, replaced[first].start - REACH), min(len(before), part.end + REACH)
            yield moved.outside(start)[0], moved.outside(end)[1]
            first = number


class _Moved:
    """Where offsets of the old content are in the new one."""

    def __init__(self, replaced: Sequence[Replaced]) -> None:
        self._starts = [part.start for part in replaced]
        self._ends = [part.end for part in replaced]
        self._deltas = [0, *accumulate(part.length - (part.end - part.start) for part in replaced)]

    def at(self, offset: int) -> int:
        return offset + self._deltas[bisect_right(self._ends, offset)]

    def outside(self, offset: int) -> Span:
        """The ends of the replaced span that the offset is in; where it is in none, itself."""
        number = bisect_right(self._starts, offset) - 1
        inside = number >= 0 and self._starts[number] < offset < self._ends[number]
        return (self._starts[number], self._ends[number]) if inside else (offset, offset)


def _is_within(start: int, end: int, spans: list[Span]) -> bool:
    at = bisect_right(spans, start, key=lambda span: span[0]) - 1
    return at >= 0 and end <= spans[at][1]


def _hidden(
    data: bytes, redact: Redact, doubtful: set[tuple[str, str]] | frozenset[tuple[str, str]] | None = None
) -> list[Span]:
    """The bytes that are not shown; of a line of which it cannot be told, all.

    ``doubtful`` gets such lines, each with its masked form; where it is frozen, no other counts as hidden.
    """
    text = data.decode("utf-8", "surrogateescape")
    shown = redact(text)
    if shown == text:
        return []
    spans: list[Span] = []
    at = 0
    for raw, masked in zip(text.split("\n"), shown.split("\n"), strict=True):
        if raw != masked:
            found = _masked(raw, masked)
            if found is None:
                if isinstance(doubtful, set):
                    doubtful.add((raw, masked))
                known = not isinstance(doubtful, frozenset) or (raw, masked) in doubtful
                found = [(0, len(raw))] if known else []
            spans += [(at + _size(raw[:start]), at + _size(raw[:end])) for start, end in found if start < end]
        at += _size(raw) + 1
    return spans


def _masked(raw: str, masked: str) -> list[Span] | None:
    """The characters of a line that its masked form does not show."""
    head, *others = masked.split(MASK)
    if not others:
        same = shared_start(raw, masked)
        return [(same, len(raw) - shared_end(raw, masked, min(len(raw), len(masked)) - same))]
    tail = others.pop()
    stop = len(raw) - len(tail)
    if not raw.startswith(head) or not raw.endswith(tail):
        return None
    spans: list[Span] = []
    at = len(head)
    for part in others:
        found = raw.find(part, at, stop)
        if found < 0:
            return None
        spans.append((at, found))
        at = found + len(part)
    return [*spans, (at, stop)] if at <= stop else None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
