"""Redaction line by line, in bounded memory however long a line is."""

from __future__ import annotations

import re
from typing import Final

from moorage_workspace.redaction import keys
from moorage_workspace.redaction.finding import Finder
from moorage_workspace.redaction.mask import Found, hidden

_WINDOW: Final = 8_192
_MARGIN: Final = 2_048
"""Characters; every shape is known to be one within this many from where it starts."""
_CONTEXT: Final = 64
"""Characters before a window that decide how its start is read."""


class Lines:
    """Hides secrets in a text that comes line by line.

    A line longer than a window is worked through window by window: each ends where nothing that was found, and nothing
    that may have begun, lies across. A secret that fills a window by itself is masked, and what it goes on with
    swallowed.
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self.margin = max(_MARGIN, finder.longest)
        self.window = max(_WINDOW, 4 * self.margin)
        self._in_key = False
        self._context = ""
        self._swallowed: re.Pattern[str] | None = None

    @property
    def plain(self) -> bool:
        """What comes next does not depend on what came before."""
        return not self._in_key and not self._context and self._swallowed is None

    def text(self, text: str) -> str:
        """Lines, each with its end."""
        if self.plain and not self._finder.suspects(text):
            return text
        everything, self._finder = self._finder, self._finder.narrowed(text)
        shown = "".join(self.last(line) + "\n" for line in text.split("\n")[:-1])
        self._finder = everything
        return shown

    def last(self, line: str) -> str:
        """A line, or what is left of one, without its end."""
        if self.plain and not self._finder.suspects(line):
            return line
        parts: list[str] = []
        start = 0
        while len(line) - start > self.window:
            shown, used = self.start(line[start : start + self.window])
            parts.append(shown)
            start += used
        parts.append(self._end(line[start:]))
        self._context = ""
        self._swallowed = None
        return "".join(parts)

    def start(self, window: str) -> tuple[str, int]:
        """The next window of a line that goes on: what to show, and for how many characters of it that stands."""
        if (len(window) - len(window.rstrip("\\"))) % 2:
            window = window[:-1]  # an escape is not parted from what it escapes
        shown, used = self._carried(window)
        if not used:
            shown, used = self._opened(window)
        self._context = (self._context + window[:used])[-_CONTEXT:]
        return shown, used

    def _opened(self, window: str) -> tuple[str, int]:
        offset = len(self._context)
        text = self._context + window
        found = self._finder.find(text, offset)
        cut = self._cut(found, len(text))
        if cut > offset and not any(one.begin < cut for one in found):
            return text[offset:cut], cut - offset
        if cut > offset:
            return self._finder.clean(text[:cut], offset), cut - offset
        first = found[0]
        if first.end == len(text):
            self._swallowed = first.grows
        return hidden(text, [first], offset, first.end), first.end - offset

    def _cut(self, found: list[Found], end: int) -> int:
        cut = end - self.margin
        for one in reversed(found):
            if one.end == end or one.start < cut < one.end:
                cut = min(cut, one.start)
        return cut

    def _carried(self, text: str) -> tuple[str, int]:
        """What an earlier part of the line, or of a key, makes of the start of this one."""
        used = self._swallow(text)
        if not self._in_key:
            return "", used
        body = keys.continued(text[used:])
        self._in_key = body is not None and not body.ended
        return (body.shown, used + body.used) if body is not None else ("", used)

    def _swallow(self, text: str) -> int:
        if self._swallowed is None:
            return 0
        run = self._swallowed.match(text)
        used = run.end() if run is not None else 0
        if used < len(text):
            self._swallowed = None
        return used

    def _end(self, text: str) -> str:
        used = self._swallow(text)
        line, offset = self._context + text[used:], len(self._context)
        raw, clean = line[offset:], self._finder.clean(line, offset)
        shown = ""
        if self._in_key:
            body, raw, clean = self._body(raw, clean)
            if body is not None:
                shown = body.shown
            self._in_key = body is not None and not body.ended
        return shown if self._in_key else shown + self._key_begun(raw, clean)

    def _body(self, raw: str, clean: str) -> tuple[keys.Body | None, str, str]:
        """A line that can be of a key before or after what it holds else was hidden, and what follows the key."""
        body = keys.continued(raw)
        if body is not None:
            raw = raw[body.used :]
            return body, raw, self._finder.clean(raw)
        body = keys.continued(clean)
        if body is not None:
            clean = clean[body.used :]
            return body, clean, clean
        return None, raw, clean

    def _key_begun(self, raw: str, clean: str) -> str:
        for line in (raw, clean):
            begun = keys.begun(line)
            body = keys.continued(line[begun:]) if begun is not None else None
            if body is not None:
                self._in_key = True
                return self._finder.clean(line[:begun]) + body.shown
        return clean
