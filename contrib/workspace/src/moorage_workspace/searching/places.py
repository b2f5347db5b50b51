"""Which files a search has to look at, in an order that does not depend on how they were found."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from moorage import (
    Entry,
    Filesystem,
    Glob,
    MoorageError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
    UnavailableError,
)
from moorage_workspace.ignore_rules import IgnoreRules, mount_paths, relative
from moorage_workspace.ignoring import GITIGNORE
from moorage_workspace.shown_names import ShownNames
from moorage_workspace.snapshots import REMEMBERED


@dataclass(frozen=True, slots=True)
class Trouble:
    """What could not be searched."""

    path: StoragePath
    error: MoorageError


Passes = Callable[[str], Awaitable[bool]]
"""Whether a text may match, in the judgement of a sieve."""


@dataclass(frozen=True, slots=True)
class Sieved:
    """A file that a sieve let through by all that is in it, secrets included.

    Attributes:
        passes: has to be asked about what is shown of it, so that no more is done with a file that came this far by its
            secrets than with one that did not.
    """

    path: StoragePath
    passes: Passes


Found = StoragePath | Trouble | Sieved

_MOST_MASKED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files below a directory count.

    Attributes:
        top: the directory; a glob with a slash is about paths from there. It is held against names as they are shown.
    """

    rules: IgnoreRules
    top: StoragePath
    hidden: bool = False
    glob: Glob | None = None

    def is_visible(self, name: str) -> bool:
        return self.hidden or not name.startswith(".")

    def is_chosen(self, path: StoragePath) -> bool:
        return self.glob is None or self.glob.matches(self.rules.names.of_path(relative(path, self.top)))


def parts_of_tree(files: Filesystem, top: StoragePath) -> list[StoragePath]:
    """The directories that together are all of ``top``, each within one mount, as far as mounts do not nest."""
    mounts = sorted(mount for mount in mount_paths(files) if mount.is_below(top))
    inside_one = any(top.is_within(mount) for mount in mount_paths(files))
    nested = any(inner.is_below(outer) for outer in mounts for inner in mounts)
    return [top] if inside_one or nested or not mounts else mounts


async def listed(files: Filesystem, top: StoragePath, selection: Selection) -> AsyncGenerator[Found]:
    """By the filesystem's own listings: sorted where directories are real, else in one pass and the store's order."""
    try:
        real = (await files.capabilities(top)).real_directories
    except MoorageError as error:
        yield Trouble(top, error)
        return
    async with aclosing(_descended(files, top, selection) if real else _in_one_pass(files, top, selection)) as found:
        async for one in found:
            yield one


async def _descended(files: Filesystem, top: StoragePath, selection: Selection) -> AsyncGenerator[Found]:
    pending: list[tuple[StoragePath, bool]] = [(top, True)]
    while pending:
        path, is_dir = pending.pop()
        if not is_dir:
            if selection.is_chosen(path):
                yield path
            continue
        children: list[tuple[StoragePath, bool]] = []
        try:
            async with aclosing(files.scan_dir(path)) as entries:
                async for entry in entries:
                    child = await _candidate(entry, selection)
                    children += [] if child is None else [(child, entry.is_dir)]
        except (PathNotFoundError, PathNotDirectoryError):
            if path == top:
                raise
        except MoorageError as error:
            yield Trouble(path, error)
        key = selection.rules.names.ordering(child.name for child, _ in children)
        pending += sorted(children, key=lambda child: key(child[0].name), reverse=True)


async def _candidate(entry: Entry, selection: Selection) -> StoragePath | None:
    """The entry's path, where it is a file or directory that is searched."""
    if entry.path is None or not (entry.is_file or entry.is_dir) or not selection.is_visible(entry.name):
        return None
    return None if await selection.rules.ignores(entry.path, is_dir=entry.is_dir) else entry.path


async def _in_one_pass(files: Filesystem, top: StoragePath, selection: Selection) -> AsyncGenerator[Found]:
    inner = Inner(top, selection)
    masked = _Masked(selection.rules.names)
    async with aclosing(files.scan_dir(top, recursive=True)) as entries:
        try:
            head = await _head(entries)
            if len(head) < REMEMBERED:
                selection.rules.know(top, {one.path for one in head if one.path is not None and one.name == GITIGNORE})
            async for entry in _chained(head, entries):
                if entry.path is None:
                    continue
                if entry.error is not None:
                    yield Trouble(entry.path, entry.error)
                elif entry.is_file and await inner.holds(entry.path) and not masked.keeps(entry.path):
                    yield entry.path
        except (PathNotFoundError, PathNotDirectoryError):
            raise
        except MoorageError as error:
            yield Trouble(top, error)
    for path in masked.in_order():
        yield path
    for trouble in masked.left_out:
        yield trouble


class _Masked:
    """Paths with secrets in them, for the end: where they stand among the others would tell of what is hidden.

    Attributes:
        left_out: one of those that are too many to remember, which are not searched.
    """

    def __init__(self, names: ShownNames) -> None:
        self._names = names
        self._paths: list[StoragePath] = []
        self.left_out: list[Trouble] = []

    def keeps(self, path: StoragePath) -> bool:
        """Remember the path, if something of it is hidden."""
        if self._names.of_path(path.relative) == path.relative:
            return False
        self._paths.append(path)
        if len(self._paths) > 2 * _MOST_MASKED:
            self.in_order()
        return True

    def in_order(self) -> list[StoragePath]:
        """The first of them by what is shown."""
        key = self._names.ordering(path.relative for path in self._paths)
        self._paths.sort(key=lambda path: key(path.relative))
        for path in self._paths[_MOST_MASKED : _MOST_MASKED + 1]:
            self.left_out = [Trouble(path, UnavailableError("more names with secrets than can be put in order"))]
        del self._paths[_MOST_MASKED:]
        return self._paths


class Inner:
    """Which paths of a flat listing count: those in directories that do."""

    def __init__(self, top: StoragePath, selection: Selection) -> None:
        self._top = top
        self._selection = selection
        self._entered: dict[StoragePath, bool] = {}

    async def holds(self, path: StoragePath) -> bool:
        """Whether the file is one to search, as if it had been come to by way of its directories."""
        if not self._selection.is_visible(path.name) or not self._selection.is_chosen(path):
            return False
        return await self._is_entered(path.parent) and not await self._selection.rules.ignores(path, is_dir=False)

    async def _is_entered(self, directory: StoragePath) -> bool:
        missing: list[StoragePath] = []
        while directory != self._top and directory not in self._entered:
            missing.append(directory)
            directory = directory.parent
        entered = self._entered.get(directory, True)
        if len(self._entered) > REMEMBERED:
            self._entered.clear()
        for below in reversed(missing):
            visible = entered and self._selection.is_visible(below.name)
            entered = visible and not await self._selection.rules.ignores(below, is_dir=True)
            self._entered[below] = entered
        return entered


async def _head(entries: AsyncIterator[Entry]) -> list[Entry]:
    head: list[Entry] = []
    async for entry in entries:
        head.append(entry)
        if len(head) == REMEMBERED:
            break
    return head


async def _chained(head: Iterable[Entry], rest: AsyncIterator[Entry]) -> AsyncGenerator[Entry]:
    for entry in head:
        yield entry
    async for entry in rest:
        yield entry
