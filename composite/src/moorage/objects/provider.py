"""The provider that is written once for every flat object store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Literal, Self

from moorage.append import LargeAppend, append_by_rewrite
from moorage.errors import (
    BusyError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    UnsupportedError,
)
from moorage.models import (
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    Kind,
    MakeDirOptions,
    Reader,
    Stat,
    WriteOptions,
)
from moorage.objects.client import (
    ABSENT,
    EXISTS,
    Condition,
    GetOptions,
    KeyDeleteOptions,
    Matches,
    ObjectBody,
    ObjectClient,
    ObjectFeatures,
    PreconditionFailed,
    PutOptions,
)
from moorage.objects.conditions import NOTHING, Conditions, Expected
from moorage.objects.entries import entries
from moorage.objects.keys import KeyMap, has_folder_suffix
from moorage.objects.lookup import Lookup, at, stat_of
from moorage.objects.placement import Placement
from moorage.objects.recent import RecentNames
from moorage.objects.removal import Removal
from moorage.objects.together import KeyLocks, every
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider


class ObjectStoreProvider(Provider):
    """Files and directories over an :class:`moorage.objects.ObjectClient`.

    A directory is a prefix that keys have, or a marker: a zero-byte object ``p/`` (what ``make_dir`` writes) or
    ``p_$folder$`` (what older Hadoop tools write; read and removed, and refused as a new file's name). Markers are in
    no listing. Where both ``a`` and ``a/b`` are keys, ``stat`` of ``a`` tells the file, listings show both, ``delete``
    removes the file alone and ``remove_dir`` the directory alone. Keys that no path can express are listed with
    ``path=None``, refused by recursive removal, and otherwise out of reach.

    Arguments:
        client: the store; started and closed with this provider.
        prefix: the part of the bucket that is the root, written like a path.
        name_checks: look, before a file is made without an expectation, that it replaces no directory and stands
            below no file: one round of concurrent requests, best effort. Without, such pairs can be made.
        check_then_write: where the store enforces no conditions, check expectations just before writing instead of
            refusing them; ``conditional_write`` is ``"guarded"`` then.
        concurrency: most batches of one recursive removal under way at once.
    """

    def __init__(
        self,
        client: ObjectClient,
        *,
        prefix: str = "",
        name_checks: bool = True,
        check_then_write: bool = False,
        concurrency: int = 8,
    ) -> None:
        self.scheme = client.scheme
        self.client = client
        self._name_checks = name_checks
        self._check_then_write = check_then_write
        self._concurrency = concurrency
        self._keys = KeyMap(prefix, client.features.max_key_bytes)
        self._recent = RecentNames()
        self._locks = KeyLocks()
        self._lookup = Lookup(client, self._keys, self._recent)
        self._conditions = Conditions(client, self._lookup, check_then_write=check_then_write)
        self._placement = Placement(client, self._keys, self._lookup, self._conditions)

    async def start(self) -> None:
        await self.client.start()

    async def aclose(self) -> None:
        await self.client.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        features = self.client.features
        return Capabilities(
            conditional_write=self._conditional_write(features),
            real_directories=False,
            server_side_copy=True,
            mtime_resolution=features.mtime_resolution,
            max_object_size=features.max_object_size,
        )

    def _conditional_write(self, features: ObjectFeatures) -> Literal["atomic", "guarded", "none"]:
        if features.conditional_put:
            return "atomic"
        return "guarded" if self._check_then_write else "none"

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        parts = f"{self._keys.prefix}{path.relative}".rstrip("/").split("/")
        above = ("/".join(parts[:length]) for length in range(len(parts), -1, -1))
        return tuple(dict.fromkeys(f"{self.scheme}:{self.client.identity}/{key}" for key in above))

    async def stat(self, path: StoragePath) -> Stat:
        return await self._lookup.stat(path)

    def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        return entries(self.client, self._keys, self._lookup, path, recursive=recursive)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        _refuse_root(path)
        if end is not None and end <= start:
            return Reader(await self._stat_file(path), b"")
        with at(path):
            try:
                body = await self.client.get(self._keys.key(path), GetOptions(start, end))
            except PathNotFoundError:
                raise await self._lookup.no_file(path) from None
        reader = _reader(path, body)
        if body.info.size == 0 and has_folder_suffix(path):
            await reader.aclose()
            raise await self._lookup.no_file(path)
        return reader

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(path)
        key = self._keys.new_key(path)
        async with self._held(path):
            expected = await self._prepare(path, options)
            info = await self._conditions.put(path, key, body, expected, options.media_type)
        self._recent.wrote(path)
        return stat_of(info)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(path)
        native_from = self.client.features.native_append_from
        natively = partial(self._append_natively, path)
        # One's own tasks wait for each other here, rather than refuse each other at the store.
        async with self._locks.hold(f"append {path}"):
            if native_from == 0 and options.overwrite:
                return await natively(body, options)
            large = LargeAppend(native_from, natively) if native_from else None
            return await append_by_rewrite(self, path, body, options, large=large)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        _refuse_root(path)
        async with self._held(path):
            expected = await self._conditions.of_delete(path, options)
            await self._delete_file(path, expected)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(src)
        if src == dst:
            return await self._stat_file(src)
        _refuse_root(dst)
        async with self._held(dst):
            placed = await self._placement.copy(src, dst, options, partial(self._prepare, dst, options))
        self._recent.wrote(dst)
        return placed.stat

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        """As the contract says; a directory is never moved in one step.

        A store without conditional deletes is asked for the source's version just before the source is deleted.
        """
        if src == dst:
            return await self.stat(src)
        if src.is_root:
            raise UnsupportedError("the root cannot be moved", path=str(src))
        _refuse_root(dst)
        async with self._held(src, dst):
            try:
                stat = await self._move_file(src, dst, options)
            except PathIsDirectoryError as error:
                if error.path != str(src):
                    raise
                raise UnsupportedError("a directory cannot be moved in one step here", path=str(src)) from None
        self._recent.forget(src)
        self._recent.wrote(dst)
        return stat

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        if path.is_root:
            if not options.exist_ok:
                raise PathExistsError("already exists", path=str(path))
            return
        marker = self._keys.directory(path)
        self._keys.new_key(path)
        if not self._keys.fits(marker):
            self._keys.key(path / "x")  # raises: a directory in which no name fits
        await self._check_new_directory(path, options)
        with at(path):
            condition = ABSENT if (await self.client.probe()).conditional_put else None
            try:
                await self.client.put(marker, b"", PutOptions(condition))
            except PreconditionFailed:
                if not options.exist_ok:
                    raise PathExistsError("already exists", path=str(path)) from None
        self._recent.wrote(path, Kind.DIRECTORY)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        if path.is_root:
            raise BusyError("the root cannot be removed", path=str(path))
        removal = Removal(self.client, self._keys, self._lookup, path, concurrency=self._concurrency)
        try:
            await (removal.of_tree() if recursive else removal.of_empty())
        finally:
            self._recent.forget_all()

    async def _prepare(self, path: StoragePath, options: WriteOptions) -> Expected:
        """Everything that is to be found out before a file is placed, in one round of concurrent requests."""
        if options.has_expectation:
            return await self._conditions.of_write(path, options)
        calls: list[Callable[[], Awaitable[None]]] = []
        if self._name_checks:
            calls.append(partial(self._lookup.check_names, path))
        if not options.create_parents:
            calls.append(partial(self._lookup.check_parent, path))
        if calls:
            await every(calls)
        return NOTHING if options.overwrite else Expected(condition=ABSENT)

    async def _append_natively(self, path: StoragePath, body: Body, options: WriteOptions) -> Stat:
        key = self._keys.new_key(path)
        expected = await self._prepare(path, options)
        with at(path):
            try:
                condition = await self._conditions.enforced(path, expected.condition, _puts_conditionally)
                append = partial(self.client.append, key, body, PutOptions(condition, options.media_type))
                info = await self._conditions.settled(path, condition, append, can_repeat=isinstance(body, bytes))
            except PreconditionFailed as failed:
                raise await self._conditions.refusal(path, expected, failed) from None
        self._recent.wrote(path)
        return stat_of(info)

    async def _move_file(self, src: StoragePath, dst: StoragePath, options: WriteOptions) -> Stat:
        prepare = partial(self._prepare, dst, options)
        if self.client.features.native_move:
            return await self._placement.move(src, dst, options, prepare)
        placed = await self._placement.copy(src, dst, options, prepare, pinned=True)
        version = placed.source_version or ""
        await self._delete_file(src, Expected(version, Matches(version)), check_first=True)
        return placed.stat

    async def _delete_file(self, path: StoragePath, expected: Expected, *, check_first: bool = False) -> None:
        try:
            with at(path):
                condition = await self._delete_condition(path, expected, check_first=check_first)
                delete = partial(self.client.delete, self._keys.key(path), KeyDeleteOptions(condition))
                await self._conditions.settled(path, expected.condition, delete, can_repeat=True)
        except PreconditionFailed as failed:
            raise await self._conditions.refusal(path, expected, failed) from None
        except PathNotFoundError:
            raise await self._lookup.no_file(path) from None
        self._recent.forget(path)

    async def _delete_condition(self, path: StoragePath, expected: Expected, *, check_first: bool) -> Condition | None:
        if expected.condition is not None:
            return await self._conditions.enforced(
                path, expected.condition, _deletes_conditionally, check_first=check_first
            )
        if self.client.features.delete_reports_missing and not has_folder_suffix(path):
            return EXISTS
        await self._stat_file(path)
        return None

    async def _check_new_directory(self, path: StoragePath, options: MakeDirOptions) -> None:
        calls: list[Callable[[], Awaitable[None]]] = [partial(self._check_free, path, options.exist_ok)]
        if self._name_checks:
            calls += self._lookup.ancestor_checks(path)
        if not options.parents:
            calls.append(partial(self._lookup.check_parent, path))
        await every(calls)

    async def _check_free(self, path: StoragePath, exist_ok: bool) -> None:
        beside = await self._lookup.beside(path)
        if beside.file is not None or (beside.is_directory and not exist_ok):
            raise PathExistsError("already exists", path=str(path))

    async def _stat_file(self, path: StoragePath) -> Stat:
        info = await self._lookup.head(path)
        if info is None:
            raise await self._lookup.no_file(path)
        return stat_of(info)

    def _held(self, *paths: StoragePath) -> AbstractAsyncContextManager[None]:
        """Where expectations are checked before writing: nobody else of this process comes in between."""
        return self._locks.hold(*map(str, paths)) if self._check_then_write else nullcontext()


class _Served:
    """The chunks of one response; its errors get the path."""

    def __init__(self, path: StoragePath, chunks: AsyncIterator[bytes]) -> None:
        self._path = path
        self._chunks = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with at(self._path):
            return await anext(self._chunks)


def _reader(path: StoragePath, body: ObjectBody) -> Reader:
    chunks = body.chunks if isinstance(body.chunks, bytes) else _Served(path, body.chunks)
    return Reader(stat_of(body.info), chunks, body.aclose)


def _refuse_root(path: StoragePath) -> None:
    if path.is_root:
        raise PathIsDirectoryError("is a directory", path=str(path))


def _puts_conditionally(features: ObjectFeatures) -> bool:
    return features.conditional_put


def _deletes_conditionally(features: ObjectFeatures) -> bool:
    return features.conditional_delete
