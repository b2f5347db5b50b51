"""Pieces cut out of a content, such that a secret that an edge cuts through stays masked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from moorage_workspace.redaction.open_keys import OPENING
from moorage_workspace.text.begun import Begun
from moorage_workspace.text.shared_ends import shared_end, shared_start

REACH: Final = 16 * 1024
"""Bytes around a piece that decide what in it is secret: more than a private key in PEM mostly takes.

What began before them is told by :class:`~moorage_workspace.text.begun.Begun`.
"""
_AT_ONCE: Final = 256 * 1024

Redact = Callable[[str], str]
"""Masks secrets, keeps the number of lines, and changes nothing when it is applied again."""


def unchanged(text: str) -> str:
    """The redaction for those who may see everything."""
    return text


def excerpt(data: bytes, start: int, end: int, redact: Redact, *, in_key: bool = False) -> str:
    """What ``redact`` leaves of ``data[start:end]``, seeing :data:`REACH` bytes around it and what began before them.

    Bytes that are no UTF-8 come out as lone surrogates (``surrogateescape``).

    Args:
        in_key: ``start`` begins a line that lies in a private key, as far as what comes before ``data`` tells.
    """
    if not in_key:
        return excerpts(data, [(start, end)], redact)[0]
    first = data.find(b"\n", max(0, start - REACH), start) + 1 or start
    return _cut(data, [(start, end)], redact, first, f"{OPENING}\n")[0]


def excerpts(data: bytes, spans: Iterable[tuple[int, int]], redact: Redact) -> list[str]:
    """:func:`excerpt` of every span, in order; near ones are redacted in one go."""
    begun = Begun(data, redact)
    texts: list[str] = []
    for cluster in _clusters(spans):
        texts += _cut(data, cluster, redact, *begun.before(max(0, cluster[0][0] - REACH)))
    return texts


def _clusters(spans: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Spans whose surroundings touch, as far as they fit into one go."""
    cluster: list[tuple[int, int]] = []
    for start, end in spans:
        if cluster and (start - cluster[-1][1] > 2 * REACH or end - cluster[0][0] > _AT_ONCE):
            yield cluster
            cluster = []
        cluster.append((start, end))
    if cluster:
        yield cluster


def _cut(data: bytes, spans: list[tuple[int, int]], redact: Redact, first: int, opening: str) -> list[str]:
    """The texts of the spans; what is before them is redacted from ``first`` on, after ``opening``."""
    last = min(len(data), spans[-1][1] + REACH)
    around = opening + _decoded(data, first, last)
    shown = redact(around)
    if shown == around:
        return [_decoded(data, start, end) for start, end in spans]
    masked = _Masked(around, shown)
    texts: list[str] = []
    for start, end in spans:
        while start > first and _is_inside_character(data, start):
            start -= 1
        while end < last and _is_inside_character(data, end):
            end += 1
        before = len(opening) + len(_decoded(data, first, start))
        texts.append(masked.cut(before, before + len(_decoded(data, start, end))))
    return texts


class _Masked:
    """A text beside its masked form, line by line."""

    def __init__(self, raw: str, masked: str) -> None:
        self._raw, self._masked = raw.split("\n"), masked.split("\n")
        self._raw_starts, self._masked_starts = _starts(self._raw), _starts(self._masked)
        self._text = masked

    def cut(self, start: int, end: int) -> str:
        """What stands for ``raw[start:end]``; a mask that an edge falls into is kept whole."""
        return self._text[self._place(start, at_end=False) : self._place(end, at_end=True)]

    def _place(self, at: int, *, at_end: bool) -> int:
        line = bisect_right(self._raw_starts, at) - 1
        raw, masked, start = self._raw[line], self._masked[line], self._masked_starts[line]
        column = at - self._raw_starts[line]
        if raw == masked:
            return start + column
        same_before = shared_start(raw, masked)
        if column <= same_before:
            return start + column
        same_after = shared_end(raw, masked, min(len(raw), len(masked)) - same_before)
        if len(raw) - column <= same_after:
            return start + len(masked) - (len(raw) - column)
        return start + (len(masked) - same_after if at_end else same_before)


def _starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _is_inside_character(data: bytes, offset: int) -> bool:
    return offset < len(data) and data[offset] & 0xC0 == 0x80


def _decoded(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "surrogateescape")
