"""What stands in a secret's place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

_WORDS: Final = "redacted-by-moorage"
MASK: Final = f"[[{_WORDS}]]"
"""Stands for a secret in every output. Tools refuse to write it: that would put the mask in the secret's place."""


def holds_mask(text: str) -> bool:
    """Whether the text holds the mask, also in another case or without its brackets."""
    return _WORDS in text.lower()


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
