"""Copies and moves that a provider cannot do by itself: across two stores, and whole trees.

A file crosses stores by streaming, verifying and, for a move, deleting the source with the version that was copied.
A tree goes file by file, a bounded number at once, each file as its provider does it best.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import cast

import anyio

from moorage.errors import (
    DirectoryNotEmptyError,
    InexpressibleNameError,
    InvalidArgumentError,
    MoorageError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StorageError,
    TransferError,
    UnsupportedError,
)
from moorage.models import DeleteOptions, Entry, Kind, OnProgress, Progress, Reader, Stat, WriteOptions
from moorage.paths import StoragePath
from moorage.provider import Provider
from moorage.streams import closing

CONCURRENCY = 8
"""Files of one tree under way at once."""

PLANNED = 10_000
"""Entries of a tree that are remembered between the check before the start and the transfer; a larger tree is listed
a second time, so that memory does not grow with it."""

REPORTED = 1_000
"""How many paths a :class:`TransferError` names on either side."""

_IN_ONE_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A path in a provider."""

    provider: Provider
    path: StoragePath


async def copy_file(src: Place, dst: Place, options: WriteOptions) -> Stat:
    """Copy one file between two providers and verify what arrived. The same stored object: nothing happens.

    Raises:
        PathIsDirectoryError: ``src`` is a directory.
        StorageError: size or checksum differ; what arrived was removed again.
    """
    return (await _cross(src, dst, options))[1]


async def move_file(src: Place, dst: Place, options: WriteOptions) -> Stat:
    """:func:`copy_file`, then delete the source with the version that was copied.

    Raises:
        StaleFileError: the source changed meanwhile; both stay.
    """
    seen, arrived = await _cross(src, dst, options)
    if seen is not arrived:
        await src.provider.delete(src.path, _still(seen))
    return arrived


def _still(seen: Stat) -> DeleteOptions:
    """Delete only what was seen."""
    if seen.version is not None:
        return DeleteOptions(expected_version=seen.version)
    if seen.modified_at is not None:
        return DeleteOptions(expected_mtime=seen.modified_at)
    raise UnsupportedError("the store cannot tell whether the source changed meanwhile; it stays")


async def _cross(src: Place, dst: Place, options: WriteOptions) -> tuple[Stat, Stat]:
    if await _same_object(src, dst):
        stat = await src.provider.stat(src.path)
        return stat, stat
    async with await src.provider.read(src.path) as reader:
        seen = reader.stat
        options = replace(
            options, media_type=options.media_type or seen.media_type, mode=options.mode or seen.mode, follow_links=True
        )
        arrived = await _pour(reader, dst, options)
    if not _alike(seen, arrived):
        if arrived.version is not None:
            await dst.provider.delete(dst.path, DeleteOptions(expected_version=arrived.version))
        raise StorageError(f"{seen.size} bytes were sent, {arrived.size} arrived, or differ", path=str(dst.path))
    return seen, arrived


async def _pour(reader: Reader, dst: Place, options: WriteOptions) -> Stat:
    if reader.data is not None or reader.stat.size <= _IN_ONE_PIECE:
        data = await reader.read()
        stat = await dst.provider.write(dst.path, data, options)
        if options.on_bytes is not None:
            options.on_bytes(len(data))
        return stat
    return await dst.provider.write(dst.path, _counted(reader, options.on_bytes), options)


async def _counted(reader: Reader, on_bytes: Callable[[int], None] | None) -> AsyncIterator[bytes]:
    async for chunk in reader:
        yield chunk
        if on_bytes is not None:
            on_bytes(len(chunk))


async def _same_object(src: Place, dst: Place) -> bool:
    if src.provider is dst.provider and src.path == dst.path:
        return True
    if src.provider.scheme != dst.provider.scheme:
        return False
    return (await src.provider.lineage(src.path))[0] == (await dst.provider.lineage(dst.path))[0]


def _alike(seen: Stat, arrived: Stat) -> bool:
    if seen.size != arrived.size:
        return False
    if seen.checksum is None or arrived.checksum is None:
        return True
    same_algorithm = seen.checksum.partition(":")[0] == arrived.checksum.partition(":")[0]
    return not same_algorithm or seen.checksum == arrived.checksum


async def copy_tree(
    provider: Provider,
    src: StoragePath,
    dst: StoragePath,
    options: WriteOptions,
    on_progress: OnProgress | None = None,
) -> None:
    """Copy everything below ``src`` to below ``dst``; an existing directory there is merged into. Onto itself, also
    through another mount of the same storage: nothing happens.

    Raises:
        InvalidArgumentError: ``dst`` lies within ``src``.
        InexpressibleNameError, or the error of a directory that cannot be listed: before anything was copied.
        TransferError: some entries failed; all others arrived. It names both.
    """
    if await _same_object(Place(provider, src), Place(provider, dst)):
        return
    await _Tree(provider, src, dst, options, on_progress, provider.copy, "copy").run()


async def move_tree(
    provider: Provider,
    src: StoragePath,
    dst: StoragePath,
    options: WriteOptions,
    on_progress: OnProgress | None = None,
) -> None:
    """Move everything below ``src`` to below ``dst``, then remove the emptied directories. Raises as :func:`copy_tree`;
    what failed to move is still at its source.
    """
    if await _same_object(Place(provider, src), Place(provider, dst)):
        return
    if await _is_link(provider, src):
        raise UnsupportedError("a link to a directory is not moved across stores", path=str(src))
    await _Tree(provider, src, dst, options, on_progress, provider.move, "move").run()
    await _remove_emptied(provider, src)


@dataclass(slots=True)
class _Tree:
    provider: Provider
    src: StoragePath
    dst: StoragePath
    options: WriteOptions
    on_progress: OnProgress | None
    primitive: Callable[[StoragePath, StoragePath, WriteOptions], Awaitable[Stat]]
    operation: str
    marks: bool = False
    holding: tuple[str, ...] = ()
    plan: list[Entry] | None = field(default_factory=list[Entry])
    filled: set[StoragePath] = field(default_factory=set[StoragePath])
    links: int = 0
    files_total: int = 0
    bytes_total: int = 0
    files_done: int = 0
    bytes_done: int = 0
    done: list[str] = field(default_factory=list[str])
    failed: list[tuple[str, MoorageError]] = field(default_factory=list[tuple[str, MoorageError]])
    failures: int = 0

    async def run(self) -> None:
        await self._check_before_start()
        await self._make_dir(self.src, self.dst)
        if self.links and self.operation == "move":
            await self._run(links=True)
            await self._run(links=False)
        else:
            await self._run()
        if self.failures:
            raise TransferError(
                f"{self.operation}: {self.files_done} done, {self.failures} not; first: {self.failed[0][1]}",
                path=str(self.src),
                done=tuple(self.done),
                failed=tuple(self.failed),
            )

    async def _run(self, links: bool | None = None) -> None:
        """Transfer all entries, or only the links, or all others: a link moves before what it leads to is gone."""
        send, receive = anyio.create_memory_object_stream[Entry](CONCURRENCY)
        try:
            async with receive, anyio.create_task_group() as tasks:
                for _ in range(CONCURRENCY):
                    tasks.start_soon(self._work, receive)
                async with send, closing(self._planned()) as entries:
                    async for entry in entries:
                        if links is None or links == (entry.kind is Kind.LINK):
                            await send.send(entry)
        except ExceptionGroup as group:
            raise _first(group) from None

    async def _check_before_start(self) -> None:
        self.marks = not (await self.provider.capabilities(self.dst)).real_directories
        self.holding = await self.provider.lineage(self.dst)
        await self._check_not_into(self.src)
        await self._check_destination()
        async with closing(self.provider.list(self.src, recursive=True)) as entries:
            async for entry in entries:
                if entry.error is not None:
                    raise entry.error
                if entry.path is None:
                    raise InexpressibleNameError(
                        f"holds a name that no path can express: {entry.name}", path=str(self.src)
                    )
                if entry.mount is not None:
                    await self._check_not_into(entry.path)
                self._account(entry, entry.path)

    async def _check_not_into(self, source: StoragePath) -> None:
        """``dst`` must not lie in ``source``, also where two mounts show one storage and the paths do not tell."""
        if self.dst.is_within(source) or (await self.provider.lineage(source))[0] in self.holding:
            raise InvalidArgumentError(f"cannot {self.operation} a directory into itself", path=str(self.dst))

    async def _check_destination(self) -> None:
        try:
            present = await self.provider.stat(self.dst)
        except PathNotFoundError:
            return
        if present.is_dir:
            if not self.options.overwrite and self.operation == "move":
                raise PathExistsError("already exists", path=str(self.dst))
        elif self.options.overwrite:
            raise PathNotDirectoryError("a file is in the place of the directory", path=str(self.dst))
        else:
            raise PathExistsError("already exists", path=str(self.dst))

    def _account(self, entry: Entry, path: StoragePath) -> None:
        if self.marks:
            self.filled.add(path.parent)
        self.links += entry.kind is Kind.LINK
        if not entry.is_dir:
            self.files_total += 1
            self.bytes_total += entry.stat.size
        if self.plan is not None:
            self.plan.append(entry)
            if len(self.plan) > PLANNED:
                self.plan = None

    async def _planned(self) -> AsyncIterator[Entry]:
        if self.plan is not None:
            for entry in self.plan:
                yield entry
            return
        async with closing(self.provider.list(self.src, recursive=True)) as entries:
            async for entry in entries:
                yield entry

    async def _work(self, entries: AsyncIterator[Entry]) -> None:
        async for entry in entries:
            path = entry.path
            if path is None:
                continue
            try:
                await self._transfer(entry, path, path.rebased(self.src, self.dst))
            except MoorageError as error:
                self.failures += 1
                if len(self.failed) < REPORTED:
                    self.failed.append((str(path), error.with_traceback(None)))
                continue
            if not entry.is_dir:
                self.files_done += 1
                if len(self.done) < REPORTED:
                    self.done.append(str(path))
                self._report(path)

    async def _transfer(self, entry: Entry, path: StoragePath, target: StoragePath) -> None:
        if entry.error is not None:
            raise entry.error
        if entry.is_dir:
            await self._make_dir(path, target)
            return
        sent = 0

        def on_bytes(count: int) -> None:
            nonlocal sent
            sent += count
            self.bytes_done += count
            self._report(path)

        options = replace(self.options, follow_links=entry.kind is not Kind.LINK, on_bytes=on_bytes)
        try:
            stat = await self.primitive(path, target, options)
        except PathIsDirectoryError as error:
            if entry.kind is Kind.LINK:
                raise UnsupportedError("a link to a directory is not copied across stores", path=str(path)) from error
            raise
        finally:
            self.bytes_done -= sent
        self.bytes_done += stat.size

    async def _make_dir(self, path: StoragePath, target: StoragePath) -> None:
        """Where directories are real, all are made; elsewhere only the empty ones, which nothing below would imply."""
        if not self.marks or path not in self.filled:
            await self.provider.make_dir(target)

    def _report(self, path: StoragePath) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress(path, self.files_done, self.bytes_done, self.files_total, self.bytes_total))


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The error that ended a group of tasks; what the others raised while they were stopped says nothing more."""
    found: Exception = group.exceptions[0]
    while isinstance(found, ExceptionGroup):
        found = cast("ExceptionGroup[Exception]", found).exceptions[0]
    return found


async def _is_link(provider: Provider, path: StoragePath) -> bool:
    """Whether ``path`` is itself a link; ``stat`` follows it, its directory's listing does not."""
    if not (await provider.capabilities(path)).symlinks:
        return False
    async with closing(provider.list(path.parent)) as entries:
        async for entry in entries:
            if entry.path == path:
                return entry.kind is Kind.LINK
    return False


async def _remove_emptied(provider: Provider, src: StoragePath) -> None:
    """Remove the directories that a move left, deepest first; one that is no longer empty stays and is named."""
    directories = [src]
    async with closing(provider.list(src, recursive=True)) as entries:
        try:
            directories += [entry.path async for entry in entries if entry.is_dir and entry.path is not None]
        except PathNotFoundError:
            return
    for directory in sorted(directories, key=lambda path: len(path.parts), reverse=True):
        try:
            await provider.remove_dir(directory)
        except PathNotFoundError:
            continue
        except DirectoryNotEmptyError as error:
            raise TransferError(
                "moved, but new entries arrived at the source meanwhile and stay there",
                path=str(src),
                failed=((str(directory), error),),
            ) from error
