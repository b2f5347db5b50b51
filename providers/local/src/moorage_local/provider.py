"""The provider: every primitive is one piece of blocking work for a worker, or an attempt inline."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel

from moorage import (
    DELETE,
    MAKE_DIR,
    WRITE,
    Body,
    Capabilities,
    ClosedError,
    DeleteOptions,
    Entry,
    InvalidArgumentError,
    MakeDirOptions,
    OperationTimeoutError,
    PathNotFoundError,
    Provider,
    Reader,
    Stat,
    StoragePath,
    WriteOptions,
)
from moorage_local.changes import Change, Disk
from moorage_local.containment import Root, refuse_reserved
from moorage_local.copying import Copy
from moorage_local.directories import make_dir
from moorage_local.inline import Inline
from moorage_local.lineage import lineage
from moorage_local.listing import Listing
from moorage_local.locks import Contended, Longer
from moorage_local.moving import Delete, Move
from moorage_local.opening import stat_path
from moorage_local.reading import read_range
from moorage_local.removal import TreeRemoval, remove_empty
from moorage_local.root_directory import RootDirectory, open_below, open_root
from moorage_local.sources import BytesSource
from moorage_local.stats import check_expectation, stat_from
from moorage_local.streaming import PIECE, fill, pieces
from moorage_local.temporaries import sweep_directory
from moorage_local.workers import LONG, QUICK, Job, Workers, wait
from moorage_local.writing import Append, AppendByStream, Replace, ReplaceByStream

T = TypeVar("T")

_TOP: Final = StoragePath("/")
_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.02
_LONGEST_PAUSE_OF_MANY: Final = 0.5
_UNDO_WITHIN: Final = 0.04
_INLINE_IN_A_ROW: Final = 16
"""How many inline looks, or as much work in writes, may pass before the event loop gets a turn."""
_INLINE_IN_A_TURN: Final = 160
"""How much of it may pass in one turn of the event loop, each task being let do some, before writes go to workers."""
_WRITE_IN_LOOKS: Final = 4


class LocalProvider(Provider):
    """A directory of this machine.

    Contained: every path is resolved beneath a handle on the directory, which stays the same directory when its path
    is renamed or replaced meanwhile. Atomic: content appears by rename, its time always later than what it replaces.
    Exact between threads, tasks and processes that use this provider: every change holds an advisory lock on the
    parent directory around its last check and its rename; writers that take no lock have a window of microseconds.
    An append is native: it holds the lock while it writes, and others wait for it, up to their ``lock_timeout``.

    A replaced file keeps its mode, and its owner where this process may set it; not its extended attributes. A version
    changes with the content, and also when only times, mode or the number of hard links change. A file whose time is
    the last that its file system can store keeps it when it is replaced; its version still changes.

    Small reads and stats of what is in memory need no thread, nor do small writes where the file system itself is in
    memory (tmpfs); every 16th look and 4th write lets the event loop run, so that a
    cancellation may come so many calls late.

    Names that start with ``.moorage-tmp-`` are the provider's own: hidden, and refused as paths.

    Args:
        base_path: the directory; made by ``start`` when missing; may be a link; made absolute here and now; not empty.
        durable: every change reaches the disk before it returns (``fsync`` of file and directory).
        lock_timeout: seconds to wait for a directory that others are changing.
    """

    scheme = "local"

    def __init__(
        self,
        base_path: str | os.PathLike[str],
        *,
        durable: bool = False,
        lock_timeout: float = 30.0,
        prefix: StoragePath = _TOP,
    ) -> None:
        if not os.fspath(base_path):
            raise InvalidArgumentError("base_path is empty; the working directory is '.'")
        refuse_reserved(prefix)
        self._base = os.path.abspath(base_path)
        self._prefix = prefix
        self._durable = durable
        self._lock_timeout = lock_timeout
        self._above: RootDirectory | None = None
        self._directory: RootDirectory | None = None
        self._disk_or_none: Disk | None = None
        self._inline: Inline | None = None
        self._inline_work = 0
        self._inline_turn = 0

    # Opening and closing

    async def start(self) -> None:
        """Open the directory, making it when missing.

        Raises:
            PathNotDirectoryError: something else is there.
            PermissionDeniedError: this process may not open or make it.
        """
        if self._above is None:
            above, below = await LONG.run(lambda _: self._open(), _TOP)
            self._above = above
            if below is not None:
                self._enter(below)

    def _open(self) -> tuple[RootDirectory, RootDirectory | None]:
        above = open_root(self._base, durable=self._durable)
        if self._prefix.is_root:
            return above, above
        try:
            return above, open_below(above, self._base, self._prefix)
        except FileNotFoundError:  # the first change makes it
            return above, None

    def _enter(self, directory: RootDirectory) -> None:
        self._directory = directory
        self._disk_or_none = Disk(directory.root)
        self._inline = Inline(directory.root.handle)

    async def aclose(self) -> None:
        """Give the handle back; calls that are still under way keep it until they end."""
        self._above = self._directory = self._disk_or_none = self._inline = None

    async def _disk(self, path: StoragePath, *, make: bool = False) -> Disk:
        """Where this provider is open.

        Raises:
            PathNotFoundError: it is a subtree that is still missing.
        """
        if self._disk_or_none is not None:
            return self._disk_or_none
        above = self._opened()
        directory = await LONG.run(lambda _: open_below(above, self._base, self._prefix, make=make), path)
        self._opened()
        if self._disk_or_none is None:
            self._enter(directory)
        return await self._disk(path)

    def _opened(self) -> RootDirectory:
        if self._above is None:
            raise ClosedError("not open")
        return self._above

    async def _made(self, path: StoragePath, options: WriteOptions) -> Disk:
        """As ``_disk`` for what may be written: a missing subtree is made, unless the change would be refused."""
        if self._disk_or_none is not None:
            return self._disk_or_none
        try:
            return await self._disk(path)
        except PathNotFoundError:
            check_expectation(path, options, None)
            if not options.create_parents and not path.parent.is_root:
                raise PathNotFoundError("no such directory", path=str(path.parent)) from None
        return await self._disk(path, make=True)

    async def capabilities(self, path: StoragePath) -> Capabilities:
        known = self._directory or self._above
        missing = self._above is not None and self._directory is None
        real = (self._base + str(self._prefix) if self._directory is None else self._directory.real).rstrip("/")
        return Capabilities(
            conditional_write="atomic" if known is None else known.conditional_write,
            atomic_move=True,
            server_side_copy=True,
            symlinks=True,
            case_sensitive=True if known is None else known.case_sensitive,
            native_path=None if missing else (real if path.is_root else real + str(path)) or "/",
        )

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        disk = self._disk_or_none
        root = self._opened().root if disk is None else disk.root
        inward = path if disk is not None else path.rebased(_TOP, self._prefix)
        return await QUICK.run(lambda _: lineage(root, inward), path)

    def subtree(self, prefix: StoragePath) -> LocalProvider:
        """A provider whose root is the directory ``prefix``, which no link leaves; the first change makes it.

        Raises:
            InvalidPathError: a name in ``prefix`` is reserved.
        """
        below = self._prefix if prefix.is_root else prefix.rebased(_TOP, self._prefix)
        return LocalProvider(self._base, durable=self._durable, lock_timeout=self._lock_timeout, prefix=below)

    # Looking

    async def stat(self, path: StoragePath) -> Stat:
        refuse_reserved(path)
        if self._inline is not None:
            seen = self._inline.stat(path)
            if seen is not None:
                await self._breathe()
                return seen
        root = (await self._disk(path)).root
        return await QUICK.run(lambda _: stat_from(*stat_path(root, path)), path)

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        refuse_reserved(path)
        listing = Listing((await self._disk(path)).root, path, recursive=recursive)
        try:
            while entries := await LONG.run(listing.step, path):
                for entry in entries:
                    yield entry
        finally:
            listing.close()

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        refuse_reserved(path)
        if self._inline is not None:
            reader = self._inline.read(path, start, end)
            if reader is not None:
                await self._breathe()
                return reader
        root = (await self._disk(path)).root
        return await QUICK.run(lambda _: read_range(root, path, start, end), path)

    async def _breathe(self, work: int = 1) -> None:
        """Let others run, and a cancellation in, after so much inline work of all tasks together: once it is used up
        everybody waits, until the event loop has been round.
        """
        self._inline_work += work
        if self._inline_work < _INLINE_IN_A_ROW:
            return
        turn = self._inline_turn
        try:
            await anyio.lowlevel.checkpoint()
        finally:
            if turn == self._inline_turn:
                self._inline_turn += 1
                self._inline_work = 0

    # Changing

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        refuse_reserved(path)
        if isinstance(body, bytes):
            return await self._write(path, body, options)
        async with aclosing(pieces(body)) as stream:
            first = await anext(stream)
            second = await anext(stream, None)
            if second is None:
                return await self._write(path, first, options)
            change = ReplaceByStream(await self._made(path, options), path, options)
            return await self._filled(change, stream, first, second)

    async def _write(self, path: StoragePath, data: bytes, options: WriteOptions) -> Stat:
        change = Replace(await self._made(path, options), path, options, BytesSource(data))
        if self._inline is not None and self._inline_work < _INLINE_IN_A_TURN:
            written = self._inline.write(change, len(data))
            if written is not None:
                await self._breathe(_WRITE_IN_LOOKS)
                return written
        return await self._change(change, _lane(data))

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        refuse_reserved(path)
        if isinstance(body, bytes):
            return await self._append(path, body, options)
        async with aclosing(pieces(body)) as stream:
            first = await anext(stream)
            second = await anext(stream, None)
            if second is None:
                return await self._append(path, first, options)
            change = AppendByStream(await self._made(path, options), path, options)
            return await self._filled(change, stream, first, second)

    async def _append(self, path: StoragePath, data: bytes, options: WriteOptions) -> Stat:
        return await self._change(
            Append(await self._made(path, options), path, options, BytesSource(data)), _lane(data)
        )

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        refuse_reserved(path)
        await self._change(Delete(await self._disk(path), path, options), QUICK)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        refuse_reserved(src)
        refuse_reserved(dst)
        return await self._change(Copy(await self._disk(src), src, dst, options), LONG)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        refuse_reserved(src)
        refuse_reserved(dst)
        return await self._change(Move(await self._disk(src), src, dst, options), QUICK)

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        refuse_reserved(path)
        disk = await self._made(path, WriteOptions(create_parents=options.parents))
        await QUICK.run(lambda job: make_dir(disk, path, options, job), path)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        """Remove a directory. ``recursive`` is a sequence of single removals: one that fails leaves the rest."""
        refuse_reserved(path)
        disk = await self._disk(path)
        if not recursive:
            await QUICK.run(lambda job: remove_empty(disk, path, job), path)
            return
        await self._change(TreeRemoval(disk, path), LONG)

    async def sweep_leftovers(self, older_than: float) -> int:
        """Remove what killed writers left anywhere in the tree, if older than so many seconds; how many."""
        try:
            root = (await self._disk(_TOP)).root
        except PathNotFoundError:
            return 0
        swept: int = await LONG.run(partial(_sweep, root, _TOP, older_than), _TOP)
        async with aclosing(self._everything()) as entries:
            async for entry in entries:
                if entry.is_dir and entry.path is not None and entry.error is None:
                    swept += await LONG.run(partial(_sweep, root, entry.path, older_than), entry.path)
        return swept

    async def _everything(self) -> AsyncGenerator[Entry]:
        async for entry in self.list(_TOP, recursive=True):
            yield entry

    async def _change(self, change: Change[T], lane: Workers) -> T:
        try:
            return await wait(lane.submit(change.attempt, change.path))
        except Contended as told:
            return await self._change_when_free(change, LONG if isinstance(told, Longer) else lane)
        except BaseException:
            await _undo(change)
            raise

    async def _filled(
        self, change: ReplaceByStream | AppendByStream, stream: AsyncIterator[bytes], *first: bytes
    ) -> Stat:
        try:
            await fill(change, stream, *first)
        except BaseException:
            await _undo(change)
            raise
        return await self._change(change, LONG)

    async def _change_when_free(self, change: Change[T], lane: Workers) -> T:
        """Attempt the change until its lock is free. Waiting costs no thread, and ends at once when cancelled."""
        pause = _FIRST_PAUSE
        end = anyio.current_time() + self._lock_timeout
        try:
            while (left := end - anyio.current_time()) > 0:
                await anyio.sleep(min(pause * random.uniform(0.5, 1.5), left))  # noqa: S311 (only spreads)
                with suppress(Contended):
                    return await wait(lane.submit(change.attempt, change.path))
                pause = min(pause * 2, _LONGEST_PAUSE if change.is_prepared else _LONGEST_PAUSE_OF_MANY)
        except BaseException:
            await _undo(change)
            raise
        await _undo(change)
        raise OperationTimeoutError("others keep changing this directory", path=str(change.path))


async def _undo(change: Change[Any]) -> None:
    """Remove what a change has prepared; seldom waits long, and then it goes on without its caller."""
    if not change.is_over:
        job = LONG.submit(change.abandon, change.path)
        job.keep()
        with anyio.move_on_after(_UNDO_WITHIN, shield=True):
            await wait(job)


def _lane(data: bytes) -> Workers:
    return QUICK if len(data) <= PIECE else LONG


def _sweep(root: Root, path: StoragePath, older_than: float, job: Job[Any]) -> int:
    with root.open_dir(path) as directory:
        return sweep_directory(directory.fd, older_than)
