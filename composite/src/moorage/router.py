"""The provider that routes every primitive to the mount that its path belongs to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import NoReturn

import anyio

from moorage.calls import refusal
from moorage.errors import (
    BusyError,
    MoorageError,
    NoMountError,
    PathEscapeError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    ReadOnlyError,
    UnsupportedError,
)
from moorage.models import (
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    Kind,
    MakeDirOptions,
    MountPoint,
    Reader,
    Stat,
    WriteOptions,
)
from moorage.mounted import Mount, SubtreeMount
from moorage.mounts import MountTable
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
from moorage.resolve import RequestContext
from moorage.streams import CallersChunks, TranslatedReader, closing
from moorage.transfer import Place, copy_file, move_file

_ROOT = StoragePath("/")

_DIRECTORY = Stat(Kind.DIRECTORY)
"""A mount point, whatever its provider's state, or a directory above one: no time is known that would stay the same."""

Route = tuple[StoragePath, Mount, StoragePath]
"""Where it is mounted, what is mounted there, and the path within it."""


class MountRouter(Provider):
    """Routes by whole segments, longest mount first, and adds the directories above the mounts.

    What a mount shadows is hidden. Paths in results and errors are the tree's. A mount point and its ancestors cannot
    be removed, moved or replaced. A mount that fails is an entry with ``error`` in listings of what is above it.
    """

    scheme = "tree"

    def __init__(self, table: MountTable[Mount], *, bound: tuple[Mount, ...] | None = None) -> None:
        self._table = table
        self._bound = bound
        self._outer = table.hidden()

    def bound(self, context: RequestContext) -> MountRouter:
        """The same tree with every resolver bound to one request. It opens and closes what it bound, nothing else."""
        bound = {path: mount.bound(context) for path, mount in self._table.items()}
        own = tuple(mount for path, mount in bound.items() if mount is not self._table.get(path))
        return MountRouter(self._table.replaced(bound), bound=own)

    def mount_points(self) -> tuple[MountPoint, ...]:
        return tuple(mount.describe(path) for path, mount in self._table.items())

    async def start(self) -> None:
        """Start the mounts together; one that fails says so in its status, and the others work. A request's mounts wait
        for their first touch.
        """
        if self._bound is not None:
            return
        async with anyio.create_task_group() as tasks:
            for mount in self._table.values():
                mount.reopen()
                tasks.start_soon(_touch_quietly, mount)

    async def aclose(self) -> None:
        """Close every mount, last first.

        Raises:
            ExceptionGroup: the errors of those that failed to close; all were tried.
        """
        errors: list[Exception] = []
        own = self._bound if self._bound is not None else tuple(self._table.values())
        with anyio.CancelScope(shield=True):
            for mount in reversed(own):
                try:
                    await mount.aclose()
                except Exception as error:
                    errors.append(error)
        if errors:
            raise ExceptionGroup("some mounts failed to close", errors)

    def subtree(self, prefix: StoragePath) -> Provider:
        parts: dict[StoragePath, Mount] = {}
        if (found := self._table.route(prefix)) is not None:
            _, mount, inner = found
            parts[_ROOT] = mount.fresh() if inner.is_root else SubtreeMount(mount.fresh(), inner)
        for path, mount in self._table.below(prefix):
            parts[path.rebased(prefix, _ROOT)] = mount.fresh()
        if not parts:
            raise self._no_mount(prefix)
        return MountRouter(MountTable(parts, nested=True))

    async def capabilities(self, path: StoragePath) -> Capabilities:
        found = self._table.route(path)
        if found is None:
            writable = any(not mount.describe(at).read_only for at, mount in self._table.below(path))
            return Capabilities(writable=writable, conditional_write="none")
        try:
            return await (await self._enter(found, check=False)).capabilities(found[2])
        except MoorageError as error:
            self._fail(error, found)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        found = self._table.route(path)
        if found is None:
            return tuple(f"{self.scheme}:{id(self)}:{above}" for above in (path, *path.parents))
        try:
            return await (await self._enter(found, check=False)).lineage(found[2])
        except MoorageError as error:
            self._fail(error, found)

    async def stat(self, path: StoragePath) -> Stat:
        if self._table.is_protected(path):
            return _DIRECTORY
        found = self._table.route(path)
        if found is None:
            raise self._no_mount(path)
        try:
            return await (self._fast(found) or await self._enter(found)).stat(found[2])
        except MoorageError as error:
            self._fail(error, found)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        found = self._route_file(path)
        try:
            reader = await (self._fast(found) or await self._enter(found)).read(found[2], start=start, end=end)
        except MoorageError as error:
            self._fail(error, found)
        if reader.data is not None:
            return reader

        def failed(error: Exception) -> NoReturn:
            if isinstance(error, MoorageError):
                self._fail(error, found)
            raise error

        return TranslatedReader(reader, failed)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        found = await self._route_change(path)
        chunks = body if isinstance(body, bytes) else CallersChunks(body)
        try:
            return await (self._fast(found) or await self._enter(found)).write(found[2], chunks, options)
        except MoorageError as error:
            self._fail(error, found, chunks)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        found = await self._route_change(path)
        chunks = body if isinstance(body, bytes) else CallersChunks(body)
        try:
            return await (await self._enter(found)).append(found[2], chunks, options)
        except MoorageError as error:
            self._fail(error, found, chunks)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        found = await self._route_change(path)
        try:
            await (await self._enter(found, entry=True)).delete(found[2], options)
        except MoorageError as error:
            self._fail(error, found)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        source, target = self._route_file(src), await self._route_change(dst)
        if source[0] != target[0]:
            await self._check_writable(dst)
            return await copy_file(Place(self, src), Place(self, dst), options)
        try:
            await self._enter(target)
            return await (await self._enter(source)).copy(source[2], target[2], options)
        except MoorageError as error:
            self._fail(error, source)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        for path in (src, dst):
            if self._table.is_protected(path):
                raise await refusal(self, path, BusyError("a mount point or above one", path=str(path)))
        source, target = self._route_file(src), await self._route_change(dst)
        if source[0] != target[0]:
            await self._check_writable(src)
            await self._check_writable(dst)
            if (await self.stat(src)).is_dir:
                raise UnsupportedError("a directory moves to another mount file by file", path=str(src))
            return await move_file(Place(self, src), Place(self, dst), options)
        try:
            await self._enter(target, entry=True)
            return await (await self._enter(source, entry=True)).move(source[2], target[2], options)
        except MoorageError as error:
            self._fail(error, source)

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        if self._table.is_protected(path):
            await self._check_writable(path)
            if not options.exist_ok:
                raise PathExistsError("already exists", path=str(path))
            return
        found = self._table.route(path)
        if found is None:
            raise self._no_mount(path)
        try:
            await (await self._enter(found)).make_dir(found[2], options)
        except MoorageError as error:
            self._fail(error, found)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        if self._table.is_protected(path):
            raise await refusal(self, path, BusyError("a mount point or above one", path=str(path)))
        found = self._table.route(path)
        if found is None:
            raise self._no_mount(path)
        try:
            await (await self._enter(found)).remove_dir(found[2], recursive=recursive)
        except MoorageError as error:
            self._fail(error, found)

    async def sweep_leftovers(self, older_than: float) -> int:
        swept = 0
        for at, mount in self._table.items():
            if not mount.describe(at).read_only:
                swept += await (mount.ready or await mount.touch()).sweep_leftovers(older_than)
        return swept

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        found = self._table.route(path)
        if found is None and not self._table.is_virtual(path):
            raise self._no_mount(path)
        if found is not None:
            async with closing(self._stored(path, found, recursive)) as entries:
                async for entry in entries:
                    yield entry
        if not recursive:
            for child in self._table.children(path):
                yield self._above(child)
            return
        for above in self._table.virtual_below(path):
            yield self._above(above)
        for at, mount in self._table.below(path):
            async with closing(self._whole_mount(at, mount)) as entries:
                async for entry in entries:
                    yield entry

    async def _stored(self, path: StoragePath, found: Route, recursive: bool) -> AsyncIterator[Entry]:
        """What the mount itself holds below ``path``, without what other mounts shadow or add."""
        mount_path, _, inner = found
        crowded = any(True for _ in self._table.below(path))
        try:
            async with closing((await self._enter(found)).list(inner, recursive=recursive)) as entries:
                async for entry in entries:
                    if entry.error is not None:
                        self._correct(entry.error, found)
                    if entry.path is None:
                        yield entry
                        continue
                    at = self._table.unroute(mount_path, entry.path)
                    if crowded and (self._table.is_protected(at) or self._table.is_shadowed(at, mount_path)):
                        continue
                    point = None if entry.mount is None else replace(entry.mount, path=at)
                    yield Entry(at, entry.stat, mount=point, error=entry.error)
        except MoorageError as error:
            if isinstance(error, PathNotFoundError | PathNotDirectoryError) and self._table.is_virtual(path):
                return
            self._fail(error, found)

    async def _whole_mount(self, at: StoragePath, mount: Mount) -> AsyncIterator[Entry]:
        """A mount's own entry and what it holds; its error, if it fails, instead of the rest."""
        try:
            async with closing(self._stored(at, (at, mount, _ROOT), recursive=True)) as entries:
                first = await anext(entries, None)
                yield self._above(at)
                if first is not None:
                    yield first
                async for entry in entries:
                    yield entry
        except MoorageError as error:
            yield replace(self._above(at), error=error)

    def _fast(self, found: Route) -> Provider | None:
        """The provider, where it is open and nothing is mounted inside its mount."""
        return found[1].ready if found[0] not in self._outer else None

    async def _enter(self, found: Route, *, entry: bool = False, check: bool = True) -> Provider:
        """The open provider of a route. A link in it must not lead to what a mount inside it hides: that mount may be
        read-only, or another tenant's. ``entry``: the operation is on the entry itself and follows no last link.

        Raises:
            PathEscapeError: it does.
        """
        mount_path, mount, inner = found
        provider = mount.ready or await mount.touch()
        hidden = self._outer.get(mount_path)
        if hidden and check and (await provider.capabilities(inner)).symlinks:
            lineage = await provider.lineage(inner.parent if entry else inner)
            for below in hidden:
                if (await provider.lineage(below))[0] in lineage:
                    raise PathEscapeError("a link leads to what a mount hides", path=str(inner))
        return provider

    def _above(self, path: StoragePath) -> Entry:
        """The entry of a mount point or virtual directory."""
        mount = self._table.get(path)
        point = None if mount is None else mount.describe(path)
        return Entry(path, _DIRECTORY, mount=point)

    def _route_file(self, path: StoragePath) -> Route:
        """The route of what must be a file."""
        if self._table.is_protected(path):
            raise PathIsDirectoryError("is a directory", path=str(path))
        found = self._table.route(path)
        if found is None:
            raise self._no_mount(path)
        return found

    async def _route_change(self, path: StoragePath) -> Route:
        """The route of a file to be changed; read-only is said before anything else."""
        if self._table.is_protected(path):
            raise await refusal(self, path, PathIsDirectoryError("is a directory", path=str(path)))
        return self._route_file(path)

    async def _check_writable(self, path: StoragePath) -> None:
        """Before anything is read: a copy between mounts must not begin with its source."""
        if not (await self.capabilities(path)).writable:
            found = self._table.route(path)
            ready = None if found is None else found[1].ready
            raise ReadOnlyError("read-only", path=str(path), provider=None if ready is None else ready.scheme)

    def _no_mount(self, path: StoragePath) -> NoMountError:
        mounts = ", ".join(str(mount) for mount, _ in self._table.items())
        return NoMountError(f"outside every mount (mounts: {mounts})", path=str(path))

    def _correct(self, error: MoorageError, found: Route) -> None:
        """Say the tree's path in place of the mount's own."""
        mount_path, mount, _ = found
        if error.path is not None and not mount_path.is_root:
            error.path = str(self._table.unroute(mount_path, StoragePath.parse(error.path)))
        if mount.ready is not None:
            error.with_context(provider=mount.ready.scheme)

    def _fail(self, error: MoorageError, found: Route, body: Body = b"") -> NoReturn:
        if isinstance(body, CallersChunks) and body.error is error:
            raise error
        self._correct(error, found)
        if error.path is None:
            error.path = str(self._table.unroute(found[0], found[2]))
        raise error


async def _touch_quietly(mount: Mount) -> None:
    try:
        await mount.touch()
    except MoorageError:
        """Its status says so, and the next touch tries again."""
