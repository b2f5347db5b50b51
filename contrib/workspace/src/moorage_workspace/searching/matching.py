"""Which lines of a text match. Pure, and alone in what it imports: the worker processes run it, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

MAX_LINE: Final = 1024 * 1024
"""Characters of a line that are searched; what follows them is not."""

NO_PATTERN: Final = (re.error, OverflowError, RecursionError, ValueError)
"""What compiling raises."""

BARRIER: Final = "\0"
"""What no match reaches across; no text that is searched has it of its own."""

_AT_EDGES: Final = ("$", r"\b", r"\B")
"""What may match by what is next to it, which a barrier does not tell."""

Hit = tuple[int, int]
"""A line, from 0, and the column of its first match, from 0, in characters."""


def lines_of(text: str) -> Iterator[str]:
    """The lines without their ends, which are ``\\n`` and ``\\r\\n`` and nothing else."""
    start, size = 0, len(text)
    while start < size:
        end = text.find("\n", start)
        end = size if end < 0 else end
        yield text[start : end - 1] if end < size and text[end - 1 : end] == "\r" and end > start else text[start:end]
        start = end + 1


@dataclass(frozen=True, slots=True)
class LineMatcher:
    """An expression, ready to be matched.

    Attributes:
        of_line: the expression itself.
        of_text: matches in every text of which a line matches, and mostly in no other, never across a line's end;
            ``None`` where there is none. Most files hold no match, and asking once is much cheaper than line by line.
    """

    of_line: re.Pattern[str]
    of_text: re.Pattern[str] | None = None

    @classmethod
    def compiled(cls, pattern: str, of_text: str | None, *, ignore_case: bool) -> Self:
        flags = re.IGNORECASE if ignore_case else 0
        return cls(re.compile(pattern, flags), None if of_text is None else re.compile(of_text, flags | re.MULTILINE))

    def hits_in(self, text: str, limit: int) -> list[Hit]:
        """The first ``limit`` lines that match beside what barriers stand over."""
        found: list[Hit] = []
        if self.of_text is not None and self.of_text.search(text) is None:
            return found
        for number, line in enumerate(lines_of(text)):
            match = self._beside_barriers(line) if BARRIER in line else self.of_line.search(line, 0, MAX_LINE)
            if match is None or (match.end() >= MAX_LINE < len(line)):
                continue
            found.append((number, match.start()))
            if len(found) >= limit:
                break
        return found

    def _beside_barriers(self, line: str) -> re.Match[str] | None:
        by_edges = any(map(self.of_line.pattern.__contains__, _AT_EDGES))
        for part in _PART.finditer(line, 0, MAX_LINE):
            start, end = part.span()
            for match in self.of_line.finditer(line, start, end):
                touches = match.start() == start > 0 or match.end() == end < len(line)
                if not (by_edges and touches):
                    return match
        return None


_PART: Final = re.compile(f"[^{BARRIER}]*")
