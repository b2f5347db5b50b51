"""Redaction of a text that arrives in pieces."""

from __future__ import annotations

import re
from typing import Final

from moorage_workspace.redaction.finding import Finder
from moorage_workspace.redaction.lines import Lines

_WORD: Final = re.compile(r"\S*\Z")


class StreamGate:
    """Redacts pieces of a text, cut anywhere; together the answers are what :meth:`Gate.redact` makes of the whole.

    Shown at once: whole lines, and of a line that has nothing suspicious yet, its whole words. What is held back is
    8 KiB at most (four times the longest secret known, if that is more).
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._lines = Lines(finder)
        self._held = ""
        self._shown = 0
        """Characters at the start of what is held that were shown; they stay, because what follows depends on them."""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        parts: list[str] = []
        self._held += text
        end = self._held.rfind("\n") + 1
        if end:
            parts.append(self._lines.text(self._held[:end])[self._shown :])
            self._shown = 0
        while len(self._held) - end > self._lines.window:
            shown, used = self._lines.start(self._held[end : end + self._lines.window])
            parts.append(shown[self._shown :])
            self._shown = max(0, self._shown - used)
            end += used
        self._held = self._held[end:]
        parts.append(self._words())
        return "".join(parts)

    def finish(self) -> str:
        """The rest. The gate is as new afterwards."""
        rest = self._lines.last(self._held)[self._shown :]
        self._lines, self._held, self._shown = Lines(self._finder), "", 0
        return rest

    def _words(self) -> str:
        if not self._lines.plain or self._finder.suspects(self._held):
            return ""
        sure = len(self._held) - self._finder.begun(self._held)
        last = _WORD.search(self._held, 0, sure)
        start, self._shown = self._shown, max(self._shown, last.start() if last is not None else 0)
        return self._held[start : self._shown]
