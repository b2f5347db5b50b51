"""A search of a file, a directory or a glob: what to look at, by the fastest way that is open, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from anyio import to_thread

from moorage import (
    Filesystem,
    InvalidPathError,
    Kind,
    MoorageError,
    NotRegularFileError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
)
from moorage_workspace.ignore_rules import mount_paths, relative
from moorage_workspace.searching.expressions import Expression
from moorage_workspace.searching.files import FileResult, FileSearch, Skipped
from moorage_workspace.searching.in_order import in_order
from moorage_workspace.searching.places import Found, Inner, Passes, Selection, Sieved, Trouble, listed, parts_of_tree
from moorage_workspace.searching.processes import InProcess, Workers
from moorage_workspace.searching.ripgrep import Ripgrep
from moorage_workspace.shown_names import ShownNames

MOST_MATCHES: Final = 1_000
_WIDTH: Final = 8
_ROOT: Final = StoragePath("/")
_MAGIC: Final = frozenset("*?[{")


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for, and how.

    Attributes:
        path: a file or directory, or if nothing is there, a glob.
        glob: which files of a directory count; ``selection`` has it compiled.
        max_count: matching lines after which a file is left.
        most_time: seconds that matching the pattern may take.
    """

    expression: Expression
    path: StoragePath
    selection: Selection
    glob: str | None = None
    context: int = 0
    max_count: int | None = None
    most_time: float = 10.0


@dataclass(slots=True)
class Answer:
    """What was found.

    Attributes:
        files: those with matches, in the order of their paths as they are shown. Where the store lists in one pass, in
            its order, and those with a secret in their path at the end.
        stopped: there are more matches than :data:`MOST_MATCHES`.
    """

    files: list[FileResult] = field(default_factory=list[FileResult])
    matches: int = 0
    skipped: Counter[Skipped] = field(default_factory=Counter[Skipped])
    stopped: bool = False

    def take(self, result: FileResult | None) -> bool:
        """Add the result of one file; ``False`` once there are enough."""
        if result is None:
            return True
        if result.skipped is not None:
            self.skipped[result.skipped] += 1
            return True
        if result.matches:
            self.stopped = self.matches + result.matches > MOST_MATCHES
            result.keep(MOST_MATCHES - self.matches)
            self.matches += result.matches
            if result.matches:
                self.files.append(result)
        return not self.stopped


async def search(
    files: Filesystem, question: Question, *, redact: Callable[[str], str], ripgrep: Ripgrep | None
) -> Answer:
    """Search, in bounded memory and with a bounded number of files open.

    Raises:
        PathNotFoundError, NotRegularFileError: the path is nothing that can be searched.
        ToolRefusedError: the pattern takes too long.
    """
    answer = Answer()
    expression = question.expression
    limit = min(question.max_count or MOST_MATCHES + 1, MOST_MATCHES + 1)
    async with Workers(expression, most_time=question.most_time) as workers:
        if not expression.is_plain:
            await workers.check()
        matcher = InProcess(expression) if expression.is_cheap else workers
        file = FileSearch(files, matcher, redact, question.context, limit)
        async with aclosing(_found(files, question, workers, ripgrep)) as found:
            await in_order(found, file.search, answer.take, width=_WIDTH)
    return answer


async def _found(
    files: Filesystem, question: Question, workers: Workers, ripgrep: Ripgrep | None
) -> AsyncGenerator[Found]:
    kind = await _kind(files, question.path)
    if kind is Kind.FILE:
        yield question.path
        return
    found = _globbed(files, question) if kind is None else _below(files, question, workers, ripgrep)
    async with aclosing(found) as places:
        async for place in places:
            yield place


async def _kind(files: Filesystem, path: StoragePath) -> Kind | None:
    """What is there under the literal path; ``None`` where it has to be taken as a glob."""
    try:
        kind = (await files.stat(path)).kind
    except (PathNotFoundError, PathNotDirectoryError):
        if _MAGIC.isdisjoint(str(path)):
            raise
        return None
    if kind is Kind.OTHER:
        raise NotRegularFileError("not a regular file, it is never read", path=str(path))
    if kind is Kind.LINK:
        raise PathNotFoundError("a link that leads to nothing", path=str(path))
    return kind


async def _globbed(files: Filesystem, question: Question) -> AsyncGenerator[Found]:
    """The files that the path matches as a glob, sorted as far as the store is; none with a secret in its path, which
    the glob could find out.
    """
    names = question.selection.rules.names
    inner = Inner(_ROOT, question.selection)
    async with aclosing(files.glob(str(question.path), hidden=question.selection.hidden)) as entries:
        async for entry in entries:
            if entry.path is None or names.of_path(str(entry.path)) != str(entry.path):
                continue
            if entry.error is not None:
                yield Trouble(entry.path, entry.error)
            elif entry.is_file and await inner.holds(entry.path):
                yield entry.path


async def _below(
    files: Filesystem, question: Question, workers: Workers, ripgrep: Ripgrep | None
) -> AsyncGenerator[Found]:
    selection = question.selection
    for part in parts_of_tree(files, question.path):
        if part != question.path and not all(map(selection.is_visible, relative(part, question.path).split("/"))):
            continue
        sieved = await _sieved(files, part, question, workers, ripgrep)
        found = listed(files, part, selection) if sieved is None else _chosen(*sieved, part, selection)
        try:
            async with aclosing(found) as places:
                async for place in places:
                    yield place
        except MoorageError as error:
            if part == question.path:
                raise
            yield Trouble(part, error)


async def _sieved(
    files: Filesystem, part: StoragePath, question: Question, workers: Workers, ripgrep: Ripgrep | None
) -> tuple[list[str], Passes | None] | None:
    """The files that have to be looked at, where the directory is one of this machine; relative paths, any order.

    With what has to be asked again about those with secrets; of an expression that is cheap, nothing.
    """
    if not question.expression.is_plain or any(mount.is_below(part) for mount in mount_paths(files)):
        return None
    try:
        directory = (await files.capabilities(part)).native_path
    except MoorageError:
        return None
    if directory is None:
        return None
    expression, hidden, names = question.expression, question.selection.hidden, question.selection.rules.names
    if ripgrep is not None:
        found = await ripgrep.sieve(expression, directory, hidden=hidden, glob=question.glob, names=names)
        if found is not None:
            return found, None if expression.is_cheap else partial(ripgrep.passes, expression)
    found = await workers.sieve(directory, hidden=hidden, names=names)
    return None if found is None else (found, None if expression.is_cheap else workers.passes)


async def _chosen(
    sieved: list[str], passes: Passes | None, top: StoragePath, selection: Selection
) -> AsyncGenerator[Found]:
    """Those that count, in the order in which listings come to them. A name that no path can express has no way in."""
    inner = Inner(top, selection)
    for name in await to_thread.run_sync(_in_order, sieved, selection.rules.names):
        try:
            path = top / name
        except InvalidPathError:
            continue
        if await inner.holds(path):
            yield path if passes is None else Sieved(path, passes)


def _in_order(paths: list[str], names: ShownNames) -> list[str]:
    return sorted(paths, key=names.ordering(paths))
