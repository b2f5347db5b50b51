"""What move and copy share: where from, where to, and what would be replaced there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from moorage import (
    UNSET,
    InvalidArgumentError,
    Kind,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StaleFileError,
    Stat,
    StoragePath,
    Unset,
)
from moorage_workspace.results import Plan
from moorage_workspace.text.counting import counted, first_of
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.paths import DIRECTORY, check_writable, content_of, stat_or_none, unfollowed
from moorage_workspace.tools.tool import Arguments

_COMPARED: Final = 10_000
"""Entries of a directory that are looked at beforehand; the store refuses to replace any, seen or not."""
_NAMED: Final = 5


class Placing(Arguments):
    source: str = Field(description="The file or directory that is there.")
    destination: str = Field(description="The full path that it gets, with its name. Missing directories are made.")
    overwrite: bool = Field(False, description="Replace a file that is there already.")


@dataclass(frozen=True, slots=True)
class Ends:
    """Both paths, and what is there."""

    source: StoragePath
    destination: StoragePath
    seen: Stat
    replaced: Stat | None


async def looked_at(call: ToolCall, arguments: Placing, *, follow: bool) -> Ends:
    """Both ends, once nothing speaks against the change.

    Args:
        follow: a link as source stands for what it leads to.

    Raises:
        PathNotFoundError: there is no source.
        PathExistsError, PathIsDirectoryError, PathNotDirectoryError: of the destination. A directory that is there
            already is the tool's own matter.
        ReadOnlyError.
    """
    source, destination = call.path(arguments.source), call.path(arguments.destination)
    await check_writable(call.files, destination)
    try:
        seen = await call.files.stat(source) if follow else await unfollowed(call.files, source)
    except PathNotFoundError as error:
        raise await not_found(call, source, error) from None
    replaced = None if source == destination else await stat_or_none(call.files, destination)
    if replaced is not None:
        _check_replaceable(seen, replaced, destination, overwrite=arguments.overwrite)
    return Ends(source, destination, seen, replaced)


def _check_replaceable(seen: Stat, replaced: Stat, destination: StoragePath, *, overwrite: bool) -> None:
    if replaced.is_dir and not seen.is_dir:
        raise PathIsDirectoryError(
            "a directory is there; add the file's name to the destination", path=str(destination)
        )
    if seen.is_dir and not replaced.is_dir:
        raise PathNotDirectoryError("a file is there, and a directory cannot replace it", path=str(destination))
    if not overwrite and not replaced.is_dir:
        raise PathExistsError("a file is there already; overwrite replaces it", path=str(destination))


async def check_apart(call: ToolCall, ends: Ends, doing: str) -> None:
    """Refuse a directory into itself.

    Raises:
        InvalidArgumentError.
    """
    if not ends.seen.is_dir or ends.source == ends.destination:
        return
    below = ends.destination.is_below(ends.source)
    if below or (await call.place(ends.source))[0] in (await call.place(ends.destination))[1:]:
        raise InvalidArgumentError(f"cannot {doing} a directory into itself", path=str(ends.destination))


async def check_merge(call: ToolCall, ends: Ends, *, overwrite: bool) -> None:
    """Refuse a directory into one that holds a file where it has one, too: nobody would know which are replaced.

    Raises:
        PathExistsError: it names some of them; or a directory is there, and ``overwrite`` does not allow for that.
    """
    if ends.replaced is None or not ends.replaced.is_dir:
        return
    if not overwrite:
        raise PathExistsError(
            "a directory is there already; overwrite copies into it, and replaces no file in it",
            path=str(ends.destination),
        )
    arriving = {path.rebased(ends.source, ends.destination): is_dir async for path, is_dir in _below(call, ends.source)}
    there = {path: is_dir async for path, is_dir in _below(call, ends.destination)}
    both = sorted(path for path in arriving.keys() & there.keys() if not (arriving[path] and there[path]))
    if both:
        raise PathExistsError(
            f"files are there already that a directory does not replace: {first_of(both, _NAMED)}. Place them one by "
            "one, or delete them first",
            path=str(ends.destination),
        )


async def _below(call: ToolCall, directory: StoragePath) -> AsyncGenerator[tuple[StoragePath, bool]]:
    seen = 0
    async with aclosing(call.files.scan_dir(directory, recursive=True)) as entries:
        async for entry in entries:
            if entry.path is not None:
                yield entry.path, entry.is_dir
            seen += 1
            if seen == _COMPARED:
                return


async def planned(call: ToolCall, ends: Ends, doing: str) -> Plan:
    """What would happen. It rests on both files' versions, and on what a directory holds."""
    what, rests_on = counted(ends.seen.size, "byte"), ends.seen.version
    if ends.seen.kind is Kind.LINK:
        what = "a link"
    elif ends.seen.is_dir:
        content = await content_of(call.files, ends.source)
        what, rests_on = str(content), content.basis
    instead, version = "", None
    if ends.replaced is not None:
        version, instead = ends.replaced.version, f", replacing {counted(ends.replaced.size, 'byte')}"
        if ends.replaced.is_dir:
            version, instead = DIRECTORY, ", into the directory there"
    basis = {str(ends.destination): version, str(ends.source): rests_on}
    return Plan(f"{doing} {ends.source} ({what}) to {ends.destination}{instead}", basis=basis)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the store is told to expect at the destination, so that a plan that no longer holds is refused by it.

    A directory that is there is filled, and no file in it replaced.
    """

    overwrite: bool
    expected_version: str | Unset

    @classmethod
    def by(cls, plan: Plan, destination: StoragePath) -> Expected:
        version = plan.basis[str(destination)]
        if version is None or version == DIRECTORY:
            return cls(overwrite=False, expected_version=UNSET)
        return cls(overwrite=True, expected_version=version)


def check_source(seen: Stat, plan: Plan, source: StoragePath) -> None:
    """Raise StaleFileError where the source is no longer what was planned with."""
    if seen.is_file and seen.version != plan.basis[str(source)]:
        raise StaleFileError("the source changed meanwhile; nothing was done", path=str(source))
