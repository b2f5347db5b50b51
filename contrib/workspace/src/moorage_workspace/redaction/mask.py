"""What stands in a secret's place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

_WORDS: Final = "redacted-by-moorage"
MASK: Final = f"[[{_WORDS}]]"
"""Stands for a secret in every output. Tools refuse to write it: that would put the mask in the secret's place."""

_BEFORE, _DASH, _AFTER = (
    "".join(f"[{one}{one.upper()}]" if one.isalpha() else one for one in part) for part in _WORDS.partition("-")
)
_IN_ANY_CASE: Final = re.compile(f"{_DASH}(?<={_BEFORE}{_DASH}){_AFTER}")
"""Begins with a character that has no case, which is found fastest."""
_SEARCHED: Final = 1024 * 1024
"""Characters searched at once; other threads wait meanwhile."""


def holds_mask(text: str) -> bool:
    """Whether the text holds the mask, also in another case or without its brackets."""
    return any(
        _IN_ANY_CASE.search(text, start, start + _SEARCHED + len(_WORDS)) for start in range(0, len(text), _SEARCHED)
    )


@dataclass(frozen=True, slots=True)
class Found:
    """Something in a text that must not be shown.

    Attributes:
        start: where what identifies it starts, e.g. the name in ``password = x``.
        begin: where what is hidden starts.
        end: where that ends.
        grows: what it would go on with, were the text longer; ``None`` where more text cannot make it longer.
        instead: what is shown.
    """

    start: int
    begin: int
    end: int
    grows: re.Pattern[str] | None = None
    instead: str = MASK


def merged(found: Iterable[Found]) -> list[Found]:
    """In order, with one in place of those that overlap."""
    result: list[Found] = []
    for one in sorted(found, key=lambda each: (each.begin, -each.end)):
        if result and one.begin < result[-1].end:
            result[-1] = _joined(result[-1], one)
        else:
            result.append(one)
    return result


def _joined(first: Found, second: Found) -> Found:
    last = second if second.end > first.end else first
    instead = first.instead if last is first and second.instead != MASK else MASK
    return replace(last, start=min(first.start, second.start), begin=first.begin, instead=instead)


def hidden(text: str, found: Iterable[Found], start: int, end: int) -> str:
    """The part of a text, with what was found in it replaced. ``found`` is merged, and none lies across the ends."""
    parts: list[str] = []
    for one in found:
        if start <= one.begin and one.end <= end:
            parts += text[start : one.begin], one.instead
            start = one.end
    parts.append(text[start:end])
    return "".join(parts)
