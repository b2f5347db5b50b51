"""Listings, walks and globs over any provider, streamed in memory that is bounded by depth, not by size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from moorage import globs
from moorage.errors import (
    InvalidArgumentError,
    LinkLoopError,
    MoorageError,
    NameTooLongError,
    PathEscapeError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from moorage.models import Entry, Kind, Stat, Usage
from moorage.paths import StoragePath
from moorage.provider import Provider
from moorage.streams import closing

_ROOT = StoragePath("/")
_UNSEARCHED = Stat(Kind.DIRECTORY)


def sort_key(entry: Entry) -> tuple[tuple[str, ...], bytes]:
    """By path, segment by segment; names that no path can express come last."""
    return (entry.path.parts, b"") if entry.path is not None else (("\U0010ffff",), entry.raw_name or b"")


async def scan(
    provider: Provider, path: StoragePath, recursive: bool, max_depth: int | None, pattern: str | None
) -> AsyncIterator[Entry]:
    """The entries of a directory, or with ``recursive`` everything below it, that match ``pattern``."""
    if max_depth is not None and max_depth < 1:
        raise InvalidArgumentError(f"max_depth counts levels from 1, not {max_depth}")
    wanted = None if pattern is None else globs.Glob(pattern)
    if max_depth is not None and max_depth > 1:
        stream = descend(provider, path, max_depth, hidden=True)
    else:
        stream = provider.list(path, recursive=recursive and max_depth is None)
    async with closing(stream):
        async for entry in stream:
            if wanted is None or entry.error is not None or _matches(wanted, entry, path):
                yield entry


async def descend(provider: Provider, path: StoragePath, max_depth: int | None, hidden: bool) -> AsyncIterator[Entry]:
    """Everything below ``path``, a directory before its content, one open listing a level."""
    levels = [_Level(provider.list(path))]
    try:
        while levels:
            entry = await levels[-1].next()
            if entry is None:
                await levels.pop().aclose()
                continue
            if not hidden and entry.name.startswith("."):
                continue
            if entry.is_dir and entry.path is not None and (max_depth is None or len(levels) < max_depth):
                below = _Level(provider.list(entry.path))
                levels.append(below)
                entry = await below.open(entry)
            yield entry
    finally:
        for level in reversed(levels):
            await level.aclose()


class _Level:
    """One directory being listed."""

    def __init__(self, stream: AsyncIterator[Entry]) -> None:
        self._stream = stream
        self._first: Entry | None = None

    async def open(self, directory: Entry) -> Entry:
        """List the first entry; ``directory``, with the error where that failed."""
        try:
            self._first = await anext(self._stream, None)
        except MoorageError as error:
            return replace(directory, error=error)
        return directory

    async def next(self) -> Entry | None:
        first, self._first = self._first, None
        return first if first is not None else await anext(self._stream, None)

    async def aclose(self) -> None:
        async with closing(self._stream):
            """Left at once."""


def _matches(wanted: globs.Glob, entry: Entry, below: StoragePath) -> bool:
    return entry.path is not None and wanted.matches(entry.path.rebased(below, _ROOT).relative)


async def glob(provider: Provider, pattern: str, hidden: bool) -> AsyncIterator[Entry]:
    """The entries that ``pattern`` matches, each once. Of several alternatives in braces, one that cannot be searched
    is an entry with ``error``; a pattern that is one alternative raises.
    """
    literal = StoragePath.parse(pattern)
    alternatives = [globs.split(text) for text in globs.expand_braces(pattern)]
    found = await _literally(provider, literal, alternatives)
    if found is not None:
        yield found
        return
    for index, segments in enumerate(alternatives):
        try:
            async with closing(_expand(provider, _ROOT, segments, hidden)) as entries:
                async for entry in entries:
                    relative = entry.path.relative if entry.path is not None else ""
                    earlier = (globs.matcher(other, hidden) for other in alternatives[:index])
                    if not any(matcher.fullmatch(relative) for matcher in earlier):
                        yield entry
        except MoorageError as error:
            if len(alternatives) == 1:
                raise
            yield Entry(StoragePath.parse("/".join(segments)), _UNSEARCHED, error=error)


async def _literally(provider: Provider, path: StoragePath, alternatives: list[tuple[str, ...]]) -> Entry | None:
    """What exists under the pattern's own text. A pattern may be no possible name: then nothing does."""
    try:
        return await _stat(provider, path)
    except (NameTooLongError, PathEscapeError, LinkLoopError):
        if len(alternatives) == 1 and not any(globs.has_magic(segment) for segment in alternatives[0]):
            raise
        return None


async def _expand(
    provider: Provider, base: StoragePath, segments: tuple[str, ...], hidden: bool
) -> AsyncIterator[Entry]:
    base, rest = await _literal_part(provider, base, segments)
    if not rest:
        found = await _stat(provider, base)
        if found is not None:
            yield found
        return
    recursive = "**" in rest
    wanted = globs.matcher(rest if recursive else rest[:1], hidden)
    last = recursive or len(rest) == 1
    async with closing(_list_if_there(provider, base, recursive)) as entries:
        async for entry in entries:
            if entry.error is not None:
                yield entry
            if entry.error is not None or entry.path is None:
                continue
            if not wanted.fullmatch(entry.path.rebased(base, _ROOT).relative):
                continue
            if last:
                yield entry
            elif entry.is_dir:
                async with closing(_expand_below(provider, entry, entry.path, rest[1:], hidden)) as deeper:
                    async for found_below in deeper:
                        yield found_below


async def _expand_below(
    provider: Provider, directory: Entry, path: StoragePath, segments: tuple[str, ...], hidden: bool
) -> AsyncIterator[Entry]:
    try:
        async with closing(_expand(provider, path, segments, hidden)) as entries:
            async for entry in entries:
                yield entry
    except MoorageError as error:
        yield replace(directory, error=error)


async def _literal_part(
    provider: Provider, base: StoragePath, segments: tuple[str, ...]
) -> tuple[StoragePath, tuple[str, ...]]:
    """How far the segments name existing things literally: ``[slug]`` is a directory's name where it exists."""
    for index, segment in enumerate(segments):
        if globs.has_magic(segment):
            bracketed = "[" in segment
            if not bracketed or await _stat(provider, base.child(segment)) is None:
                return base, segments[index:]
        base = base.child(segment)
    return base, ()


async def _stat(provider: Provider, path: StoragePath) -> Entry | None:
    try:
        return Entry(path, await provider.stat(path))
    except (PathNotFoundError, PathNotDirectoryError):
        return None


async def _list_if_there(provider: Provider, path: StoragePath, recursive: bool) -> AsyncIterator[Entry]:
    try:
        async with closing(provider.list(path, recursive=recursive)) as entries:
            async for entry in entries:
                yield entry
    except (PathNotFoundError, PathNotDirectoryError):
        return


async def usage(provider: Provider, path: StoragePath) -> Usage:
    """What is at and below ``path``."""
    files = directories = size = 0
    errors: list[MoorageError] = []
    try:
        async with closing(provider.list(path, recursive=True)) as entries:
            async for entry in entries:
                if entry.error is not None:
                    errors.append(entry.error)
                if entry.is_dir:
                    directories += 1
                else:
                    files += 1
                    size += entry.stat.size
    except PathNotDirectoryError:
        return Usage(files=1, size=(await provider.stat(path)).size)
    return Usage(files, directories, size, tuple(errors))
