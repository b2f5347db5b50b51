"""A tree as lines: directories first, what is ignored never touched, counted in full and shown up to a cap.

Memory is bounded by the cap, not by the tree: of a directory only the first entries by name are kept while it is
listed; the others are counted as they pass.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from moorage import Entry, Filesystem, Glob, Kind, MoorageError, StoragePath
from moorage_workspace.ignore_rules import IgnoreRules, relative
from moorage_workspace.ignoring import REPOSITORY
from moorage_workspace.snapshots import Snapshot, take_snapshot

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ROOT: Final = StoragePath("/")
_OUTSIDE: Final = "(outside)"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which entries are shown.

    Attributes:
        excluded: parts of names.
        extension: how the names of files end.
        globs: of which an entry must match one.

    With an extension or globs, other directories are only shown on the way to what is wanted.
    """

    max_depth: int
    hidden: bool = False
    directories_only: bool = False
    excluded: tuple[str, ...] = ()
    extension: str | None = None
    globs: tuple[Glob, ...] = ()

    def passes(self, entry: Entry, name: str) -> bool:
        """Whether the entry may be looked at, by its ``name`` as it is shown."""
        if (not self.hidden and entry.name.startswith(".")) or (self.directories_only and not entry.is_dir):
            return False
        return not any(part in name for part in self.excluded)

    def matches(self, entry: Entry, relative: str) -> bool:
        """Whether the entry is wanted for its own sake; ``relative`` is its path from the tree's top as it is shown."""
        by_extension = self.extension is not None and not self.directories_only
        if by_extension and (entry.is_dir or not relative.endswith(self.extension or "")):
            return False
        if not self.globs:
            return True
        return any(glob.matches(relative) for glob in self.globs)


class _Branch:
    """A directory on the way down, which may still have to be counted and shown."""

    __slots__ = ("above", "counted", "depth", "line", "name")

    def __init__(self, above: _Branch | None, depth: int, name: str) -> None:
        self.above = above
        self.depth = depth
        self.name = name
        self.line: int | None = None
        self.counted = False


class _First:
    """The first entries of a directory, in the order of lines, which is by names as they are shown."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._entries: list[tuple[bool, str, str, Entry]] = []

    def add(self, entry: Entry, name: str) -> list[Entry]:
        """Take one more, of which ``name`` is shown; those that are now known to have no room."""
        self._entries.append((not entry.is_dir, name, entry.name, entry))
        return self.settle() if len(self._entries) > 2 * self._room + 64 else []

    def settle(self) -> list[Entry]:
        """Put what is kept in order; what has no room."""
        self._entries.sort(key=itemgetter(0, 1, 2))
        over = [entry for *_, entry in self._entries[self._room :]]
        del self._entries[self._room :]
        return over

    def __iter__(self) -> Iterator[Entry]:
        return (entry for *_, entry in self._entries)


class TreeListing:
    """Lists one tree; what is wanted of it, and in which order, is told by names as they are shown.

    Attributes:
        lines: a dot for the tree itself, then a line an entry, indented with tabs; at most ``cap`` besides the dot.
        directories, files: all that the choice lets through, shown or not. Links count as files.
        is_cut: there are directories at the deepest level that was asked for, which were not entered.
    """

    def __init__(self, files: Filesystem, choice: Choice, rules: IgnoreRules, cap: int) -> None:
        self._files = files
        self._choice = choice
        self._rules = rules
        self._cap = cap
        self._top = _ROOT
        self._snapshots: list[Snapshot] = []
        self.lines = ["."]
        self.directories = 0
        self.files = 0
        self.is_cut = False

    @property
    def _room(self) -> int:
        return self._cap + 1 - len(self.lines)

    async def run(self, top: StoragePath) -> None:
        """List ``top``.

        Raises:
            MoorageError: it is no directory, or cannot be listed itself. What cannot be listed below it says so.
        """
        self._top = top
        branch = _Branch(None, 0, "")
        branch.counted, branch.line = True, 0
        await self._list(top, branch, show=True)

    async def _list(self, path: StoragePath, branch: _Branch, *, show: bool) -> None:
        first = _First(self._room if show else 0)
        try:
            async with aclosing(self._children(path)) as entries:
                async for entry in entries:
                    await self._take(entry, first, branch)
        except MoorageError as error:
            if path == self._top:
                raise
            self._note(branch, error, show=show)
        for over in first.settle():
            await self._count_over(over, branch)
        for entry in first:
            if entry.is_dir:
                await self._enter(entry, branch, show=True)
            else:
                self._show(branch)
                self._line(branch.depth + 1, _described(entry))

    async def _children(self, path: StoragePath) -> AsyncGenerator[Entry]:
        """In the store's order; from memory where one pass has told all of the tree."""
        if self._choice.max_depth > 1 and (path == self._top or path in self._rules.mounts):
            snapshot = await take_snapshot(self._files, path)
            if snapshot is not None:
                self._snapshots.append(snapshot)
                self._rules.know(path, snapshot.paths)
        for snapshot in self._snapshots:
            if path.is_within(snapshot.top):
                for entry in snapshot.children(path):
                    yield entry
                return
        async with aclosing(self._files.scan_dir(path)) as entries:
            async for entry in entries:
                yield entry

    async def _take(self, entry: Entry, first: _First, branch: _Branch) -> None:
        name = self._rules.names.of_name(entry.name)
        if not self._choice.passes(entry, name) or entry.name == REPOSITORY:
            return
        if entry.path is not None and await self._rules.ignores(entry.path, is_dir=entry.is_dir):
            return
        if not entry.is_dir:
            if not self._is_wanted(entry):
                return
            self.files += 1
            self._count(branch)
        for over in first.add(entry, name):
            await self._count_over(over, branch)

    def _is_wanted(self, entry: Entry) -> bool:
        name = entry.name if entry.path is None else relative(entry.path, self._top)
        return self._choice.matches(entry, self._rules.names.of_path(name))

    async def _count_over(self, entry: Entry, branch: _Branch) -> None:
        if entry.is_dir:
            await self._enter(entry, branch, show=False)

    async def _enter(self, entry: Entry, above: _Branch, *, show: bool) -> None:
        branch = _Branch(above, above.depth + 1, _described(entry))
        if self._is_wanted(entry):
            self._count(branch)
            if show:
                self._show(branch)
        if branch.depth >= self._choice.max_depth:
            self.is_cut = True
        elif entry.error is not None:
            self._note(branch, entry.error, show=show)
        elif entry.path is not None:
            await self._list(entry.path, branch, show=show)

    def _count(self, branch: _Branch | None) -> None:
        while branch is not None and not branch.counted:
            branch.counted = True
            self.directories += 1
            branch = branch.above

    def _show(self, branch: _Branch) -> None:
        unshown: list[_Branch] = []
        at: _Branch | None = branch
        while at is not None and at.line is None:
            unshown.append(at)
            at = at.above
        for one in reversed(unshown):
            one.line = self._line(one.depth, one.name)

    def _line(self, depth: int, text: str) -> int | None:
        if self._room <= 0:
            return None
        self.lines.append("\t" * depth + text)
        return len(self.lines) - 1

    def _note(self, branch: _Branch, error: MoorageError, *, show: bool) -> None:
        """Say at a directory's line that its content is not below it."""
        self._count(branch)
        if show:
            self._show(branch)
        if branch.line is not None:
            self.lines[branch.line] += f" (cannot be listed: {error.message})"


def _described(entry: Entry) -> str:
    if entry.kind is not Kind.LINK:
        return _plain(entry.name)
    target = entry.stat.link_target
    return f"{_plain(entry.name)} -> {_OUTSIDE if target is None else _plain(target)}"


def _plain(text: str) -> str:
    """On one line, whatever is in it; no path has a control character, but stored names and targets may."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
