"""Appending on a store that can only replace: read, then write the whole on the condition that nothing changed."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from moorage.errors import ConflictError, PathExistsError, PathNotFoundError, StaleFileError, UnsupportedError
from moorage.models import UNSET, Body, Reader, Stat, WriteOptions
from moorage.paths import StoragePath
from moorage.provider import WRITE, Provider
from moorage.retries import attempts
from moorage.times import same_time

IN_MEMORY: Final = 8 * 1024 * 1024
"""Bytes up to which a body is kept so that it can be sent again, and up to which the result is sent as one piece."""


@dataclass(frozen=True, slots=True)
class LargeAppend:
    """A better way for a file of at least ``from_size`` bytes: gets the body, and options with the version seen."""

    from_size: int
    append: Callable[[Body, WriteOptions], Awaitable[Stat]]


async def append_by_rewrite(
    provider: Provider,
    path: StoragePath,
    body: Body,
    options: WriteOptions = WRITE,
    *,
    large: LargeAppend | None = None,
) -> Stat:
    """An ``append`` for providers without a native one: two requests where ``read`` and ``write`` are one each.

    Nothing is lost between concurrent appends as long as ``write`` honours ``expected_version`` and
    ``overwrite=False`` atomically: a writer who came second reads again. Memory stays within a few times
    :data:`IN_MEMORY`. The file keeps its media type.

    Raises:
        ConflictError: retryable; others kept writing, or wrote once while a body of chunks beyond
            :data:`IN_MEMORY`, which cannot be sent again, was under way.
        UnsupportedError: the provider's files have no versions.
        Otherwise as ``Provider.write``.
    """
    data = body if isinstance(body, bytes) else await _held(body)
    if not options.overwrite:
        return await provider.write(path, data, options)
    can_repeat = isinstance(data, bytes)
    for attempt in attempts():
        await attempt.wait()
        try:
            return await _append_once(provider, path, data, options, large)
        except (StaleFileError, PathExistsError) as changed:
            if options.has_expectation:
                raise
            if attempt.is_last or not can_repeat:
                raise ConflictError("others keep writing to this file", path=str(path)) from changed
    raise AssertionError("the last attempt returns or raises")


async def _append_once(
    provider: Provider, path: StoragePath, data: Body, options: WriteOptions, large: LargeAppend | None
) -> Stat:
    try:
        reader = await provider.read(path)
    except PathNotFoundError:
        # With an expectation, this write says that the file is gone; without one, it makes the file.
        return await provider.write(path, data, replace(options, overwrite=options.has_expectation))
    async with reader:
        seen = reader.stat
        resolution = (await provider.capabilities(path)).mtime_resolution
        _check_expectation(path, seen, options, resolution)
        guarded = replace(
            options,
            expected_mtime=UNSET,
            expected_version=_version(path, seen),
            media_type=options.media_type or seen.media_type,
        )
        if large is not None and seen.size >= large.from_size:
            await reader.aclose()
            return await large.append(data, guarded)
        return await provider.write(path, await _joined(reader, data), guarded)


def _check_expectation(path: StoragePath, seen: Stat, options: WriteOptions, resolution: float) -> None:
    expected: str | datetime
    actual: str | datetime | None
    if options.expected_version is not UNSET:
        expected, actual = options.expected_version, seen.version
        holds = expected == actual
    elif options.expected_mtime is not UNSET:
        expected, actual = options.expected_mtime, seen.modified_at
        holds = same_time(expected, actual, resolution)
    else:
        return
    if not holds:
        raise StaleFileError("changed since it was seen", path=str(path), expected=expected, actual=actual)


def _version(path: StoragePath, seen: Stat) -> str:
    if seen.version is None:
        raise UnsupportedError("cannot append: files here have no version", path=str(path))
    return seen.version


async def _held(chunks: AsyncIterable[bytes]) -> Body:
    """All of the chunks as bytes if they are few, else chunks again."""
    source = aiter(chunks)
    held = bytearray()
    async for chunk in source:
        held += chunk
        if len(held) > IN_MEMORY:
            return _Chain(bytes(held), source)
    return bytes(held)


async def _joined(reader: Reader, data: Body) -> Body:
    if isinstance(data, bytes) and reader.stat.size + len(data) <= IN_MEMORY:
        return await reader.read() + data
    return _Chain(reader, data)


class _Chain:
    """Several bodies as one stream of chunks."""

    def __init__(self, *parts: Body) -> None:
        self._parts = list(parts)
        self._current: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            if self._current is not None:
                try:
                    return await anext(self._current)
                except StopAsyncIteration:
                    self._current = None
            if not self._parts:
                raise StopAsyncIteration
            part = self._parts.pop(0)
            if isinstance(part, bytes):
                return part
            self._current = aiter(part)
