"""Everything that must not be shown in one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from moorage_workspace.redaction import keys
from moorage_workspace.redaction.assignments import ASSIGNMENTS
from moorage_workspace.redaction.literals import HostPaths, Literals
from moorage_workspace.redaction.mask import MASK, Found, hidden, merged
from moorage_workspace.redaction.shapes import SHAPES, Shape

_SHAPES: Final = (*SHAPES, *ASSIGNMENTS)
_TRIGGER: Final = attrgetter("trigger")
_MOST_PASSES: Final = 8
"""What was hidden may give away what stood beside it; more than two passes are for texts made to need them."""


@dataclass(frozen=True, slots=True)
class Finder:
    """What to look for.

    Attributes:
        secrets: those known by value.
        paths: those of the host.
        shapes: what gives others away.
    """

    secrets: Literals
    paths: HostPaths
    shapes: tuple[Shape, ...] = _SHAPES

    @property
    def longest(self) -> int:
        """Characters of the longest text known."""
        return max(self.secrets.longest, self.paths.longest)

    def suspects(self, text: str) -> bool:
        """Whether there may be anything in the text; cheap, and never false where there is."""
        lower = text.lower()
        if keys.TRIGGER in lower or any(map(lower.__contains__, map(_TRIGGER, self.shapes))):
            return True
        return self.secrets.present(text) or self.paths.present(text)

    def narrowed(self, text: str) -> Finder:
        """One that looks for no more than this text, or a part of it, can hold."""
        lower = text.lower()
        return replace(self, shapes=tuple(shape for shape in self.shapes if shape.trigger in lower))

    def begun(self, text: str) -> int:
        """How many characters at the end may be the start of a text known."""
        return max(self.secrets.begun(text), self.paths.begun(text))

    def find(self, text: str, start: int = 0) -> list[Found]:
        """In a line from ``start``; what is before is looked at, but not for anything to hide. In order, apart."""
        lower = _lower(text)
        found = [*self.secrets.find(text, start), *self.paths.find(text, start)]
        for shape in self.shapes:
            if shape.trigger in lower:
                found += shape.find(text, lower, start)
        if keys.TRIGGER in lower:
            found += keys.within(text, start)
        return merged([*found, *_masks(text, start)]) if found else []

    def clean(self, text: str, start: int = 0) -> str:
        """The part of a line from ``start``, with everything hidden."""
        for _ in range(_MOST_PASSES):
            found = self.find(text, start)
            before, text = text, text[:start] + hidden(text, found, start, len(text))
            if text == before:
                break
        return text[start:]


def _lower(text: str) -> str:
    """In lower case, every character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(one.lower()[:1] for one in text)


def _masks(text: str, start: int) -> Iterator[Found]:
    """Masks that are there already: what overlaps one becomes one with it."""
    at = text.find(MASK, start)
    while at >= 0:
        yield Found(at, at, at + len(MASK))
        at = text.find(MASK, at + len(MASK))
