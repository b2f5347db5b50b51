"""Texts without which a pattern matches nothing: asked for first, in little time whatever the text and the pattern."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequiredTexts:
    """What every matching text holds.

    Attributes:
        texts: in lower case where case is ignored.
    """

    texts: tuple[str, ...]
    ignore_case: bool

    def all_in(self, text: str) -> bool:
        """Whether the text may match; ``True`` where case is ignored and means more than in ASCII."""
        if self.ignore_case:
            if not text.isascii():
                return True
            text = text.lower()
        return all(one in text for one in self.texts)
