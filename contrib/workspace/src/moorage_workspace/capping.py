"""Texts cut to a number of tokens or lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from unicodedata import combining

from moorage_workspace.redaction import MASK
from moorage_workspace.results import Keep, Kept
from moorage_workspace.tokens import TokenCounter

_LONGEST_TOKEN: Final = 16
"""Characters that a token counts for at most, so that no text of blanks is endless, and none is counted whole."""
_HEAD: Final = 0.1
_ROOM: Final = 32
"""One part in so many may stay unused, for the sake of few counts."""
_MOST_MARKS: Final = 16
_JOINER: Final = "\u200d"
_JOINING: Final = f"{_JOINER}\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""What belongs to the character before it: joiner, variation selectors, skin tones."""


def cap(text: str, max_tokens: int, keep: Keep, count: TokenCounter) -> Kept:
    """What fits into ``max_tokens``: whole lines where there are any, else a part of one.

    The mask stays whole or goes whole. :attr:`Keep.ENDS` puts a line in the place of what was left out that says how
    much that was; this line comes on top of the tokens.

    The text must be redacted already: a secret that the cut parts would no longer be known as one.
    """
    if len(text) <= max_tokens * _LONGEST_TOKEN and count(text) <= max_tokens:
        return Kept(text, whole=True, lines=_lines(text), dropped_lines=0)
    if keep is Keep.START:
        return _start(text, max_tokens, count)
    return _ends(text, max_tokens, count)


def tail_lines(text: str, lines: int) -> tuple[str, int]:
    """The last ``lines`` lines (0: all), and how many were dropped before them."""
    if lines <= 0:
        return text, 0
    at = len(text) - 1 if text.endswith("\n") else len(text)
    for _ in range(lines):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return text, 0
    return text[at + 1 :], text.count("\n", 0, at + 1)


def _start(text: str, max_tokens: int, count: TokenCounter) -> Kept:
    head = _head(text, max_tokens, count)
    whole_lines = head.count("\n")
    return Kept(head, whole=False, lines=whole_lines, dropped_lines=_lines(text) - whole_lines)


def _ends(text: str, max_tokens: int, count: TokenCounter) -> Kept:
    head = _head(text, int(max_tokens * _HEAD), count)
    tail = _tail(text[len(head) :], max_tokens - count(head), count)
    left_out = text[len(head) : len(text) - len(tail)]
    lines = left_out.count("\n")
    unit = f"{lines:,} lines" if lines > 1 else f"{len(left_out):,} characters"
    before = "" if not head or head.endswith("\n") else "\n"
    shown = f"{head}{before}[... {unit} left out ...]\n{tail}"
    return Kept(shown, whole=False, lines=_lines(text) - lines, dropped_lines=lines)


def _head(text: str, max_tokens: int, count: TokenCounter) -> str:
    window = text[: max_tokens * _LONGEST_TOKEN]
    size = _most(len(window), max_tokens, lambda length: count(window[:length]))
    line = text.rfind("\n", 0, size) + 1
    return text[: line or _apart(text, size, -1)]


def _tail(text: str, max_tokens: int, count: TokenCounter) -> str:
    longest = len(text) - 1  # something was left out, if only because head and tail count apart
    window = text[len(text) - min(longest, max_tokens * _LONGEST_TOKEN) :]
    size = _most(len(window), max_tokens, lambda length: count(window[len(window) - length :]))
    start = len(text) - size
    line = text.find("\n", start - 1, len(text) - 1) + 1
    return text[line or _apart(text, start, 1) :]


def _most(longest: int, max_tokens: int, count: Callable[[int], int]) -> int:
    """A length that fits and leaves little room, found with few counts: by proportion and by halving in turn."""
    low, fits = 0, 0
    high, over = longest, count(longest)
    if over <= max_tokens:
        return longest
    by_proportion = True
    while high - low > 1 and fits < max_tokens - max_tokens // _ROOM:
        step = (high - low) * (max_tokens - fits) // (over - fits) if by_proportion else (high - low) // 2
        middle = low + min(max(step, 1), high - low - 1)
        tokens = count(middle)
        if tokens <= max_tokens:
            low, fits = middle, tokens
        else:
            high, over = middle, tokens
        by_proportion = not by_proportion
    return low


def _apart(text: str, at: int, step: int) -> int:
    """The nearest place in a direction that parts no mask, and no character from its marks."""
    begin = text.find(MASK, max(0, at - len(MASK) + 1), at + len(MASK) - 1)
    if 0 <= begin < at:
        at = begin if step < 0 else begin + len(MASK)
    for _ in range(_MOST_MARKS):
        if not 0 < at < len(text) or not (combining(text[at]) or text[at] in _JOINING or text[at - 1] == _JOINER):
            break
        at += step
    return at


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))
