"""One file searched: read, told apart from what is no text, matched, and shown as a model may see it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from moorage import (
    Filesystem,
    InvalidPathError,
    MoorageError,
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotFoundError,
    StoragePath,
)
from moorage_workspace.errors import ToolRefusedError
from moorage_workspace.searching.barriers import Shown, shown
from moorage_workspace.searching.places import Found, Passes, Sieved, Trouble
from moorage_workspace.searching.processes import Matcher
from moorage_workspace.searching.windows import NotTextError, Window, windows
from moorage_workspace.threads import worked

SHOWN: Final = 500
"""Characters of a line that are shown."""

_LEAD: Final = 100
_CUT: Final = "…"
_LONG: Final = 64 * 1024
"""Characters from which on hiding secrets gets a thread, for others not to wait."""
_GONE: Final = (PathNotFoundError, PathIsDirectoryError, InvalidPathError, NotRegularFileError)
"""What a file answers that was there when it was listed."""


class Skipped(Enum):
    """Why a file was passed over, in the words of a summary."""

    BINARY = "binary"
    NOT_UTF8 = "not UTF-8"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Line:
    """A line to show; ``column`` is where it matches first, from 1, ``None`` for one of context."""

    text: str
    column: int | None = None


@dataclass(slots=True)
class FileResult:
    """What was found in one file.

    Attributes:
        lines: by number, from 1.
        matches: how many of them match.
        skipped: it was not searched, or not to its end.
    """

    path: StoragePath
    lines: dict[int, Line] = field(default_factory=dict[int, Line])
    matches: int = 0
    skipped: Skipped | None = None

    def keep(self, matches: int) -> None:
        """Leave out all after so many matching lines."""
        numbers = sorted(number for number, line in self.lines.items() if line.column is not None)
        if len(numbers) > matches:
            self.lines = {number: line for number, line in self.lines.items() if number < numbers[matches]}
            self.matches = matches


@dataclass(frozen=True, slots=True)
class FileSearch:
    """How every file of a search is searched.

    Attributes:
        redact: takes secrets out of a text; keeps the number of lines. It is called in threads, too.
        context: lines to show around each match.
        limit: matching lines after which a file is left.
    """

    files: Filesystem
    matcher: Matcher
    redact: Callable[[str], str]
    context: int
    limit: int

    async def search(self, found: Found) -> FileResult | None:
        """The result; ``None`` where the file is gone since it was found.

        Raises:
            ToolRefusedError: the pattern takes too long.
        """
        if isinstance(found, Trouble):
            return FileResult(found.path, skipped=Skipped.UNREADABLE)
        path, passes = (found.path, found.passes) if isinstance(found, Sieved) else (found, None)
        try:
            return await self._search(path, passes)
        except ToolRefusedError:
            raise
        except _GONE:
            return None
        except NotTextError as error:
            return FileResult(path, skipped=Skipped.BINARY if error.is_binary else Skipped.NOT_UTF8)
        except MoorageError:
            return FileResult(path, skipped=Skipped.UNREADABLE)

    async def _search(self, path: StoragePath, passes: Passes | None) -> FileResult:
        result = FileResult(path)
        async with self.files.open_read(path) as reader, aclosing(windows(reader)) as cut:
            async for window in cut:
                if result.matches < self.limit:
                    await self._search_window(window, result, passes)
        return result

    async def _search_window(self, window: Window, result: FileResult, passes: Passes | None) -> None:
        """Nothing is matched before it is redacted: already how long that takes tells of what is hidden."""
        seen = await self._redacted(window)
        if seen.core is not None and passes is not None and not await passes(seen.core):
            return
        core = window.core if seen.core is None else seen.core
        hits = await self.matcher.hits_in(core, self.limit - result.matches)
        lines, margin = seen.lines, window.before.count("\n")
        for number, column in hits:
            at = margin + number
            for near in range(max(0, at - self.context), min(len(lines), at + self.context + 1)):
                result.lines.setdefault(window.first + near - margin, Line(_shown(lines[near], 0)))
            result.lines[window.first + number] = Line(_shown(lines[at], column), column + 1)
        result.matches += len(hits)

    async def _redacted(self, window: Window) -> Shown:
        size = len(window.before) + len(window.core) + len(window.after)
        return await worked(shown, window, self.redact, at_once=size < _LONG)


def _shown(line: str, column: int) -> str:
    """The line, or of a long one the part where it matches."""
    if len(line) <= SHOWN:
        return line
    start = max(0, min(column - _LEAD, len(line) - SHOWN)) if column >= SHOWN - _LEAD else 0
    end = start + SHOWN
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
