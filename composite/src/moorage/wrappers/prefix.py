"""A subtree of a provider as a root of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import replace

from moorage.errors import BusyError, MoorageError, PathIsDirectoryError, PathNotFoundError
from moorage.models import Body, Capabilities, DeleteOptions, Entry, Kind, MakeDirOptions, Reader, Stat, WriteOptions
from moorage.paths import PathLike, StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
from moorage.streams import CallersChunks, closing

_ROOT = StoragePath("/")


class Prefix(Provider):
    """Everything below ``prefix``, seen as ``/``; nothing else can be reached.

    The root always exists, also before anything was written below the prefix, and cannot be removed. Where the inner
    provider has links, it confines the subtree itself (:meth:`moorage.Provider.subtree`).
    """

    def __init__(self, inner: Provider, prefix: PathLike) -> None:
        wanted = StoragePath.parse(prefix)
        confined = inner.subtree(wanted)
        self.inner = confined or inner
        self.prefix = _ROOT if confined is not None else wanted
        self.scheme = inner.scheme

    async def start(self) -> None:
        await self.inner.start()

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return await self.inner.capabilities(self._inward(path))

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(self._inward(path))

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(self._inward(prefix))
        return None if inner is None else Prefix(inner, _ROOT)

    async def stat(self, path: StoragePath) -> Stat:
        with self._outward():
            try:
                return await self.inner.stat(self._inward(path))
            except PathNotFoundError:
                if path.is_root:
                    return Stat(Kind.DIRECTORY)
                raise

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        entries = self.inner.list(self._inward(path), recursive=recursive)
        async with closing(entries):
            while True:
                with self._outward():
                    try:
                        entry = await anext(entries, None)
                    except PathNotFoundError:
                        if not path.is_root:
                            raise
                        return
                if entry is None:
                    return
                yield self._outward_entry(entry)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        if path.is_root:
            raise PathIsDirectoryError("is a directory", path=str(path))
        with self._outward():
            return await self.inner.read(self._inward(path), start=start, end=end)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(path)
        chunks = body if isinstance(body, bytes) else CallersChunks(body)
        with self._outward(chunks):
            return await self.inner.write(self._inward(path), chunks, _below_root(path, options))

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(path)
        chunks = body if isinstance(body, bytes) else CallersChunks(body)
        with self._outward(chunks):
            return await self.inner.append(self._inward(path), chunks, _below_root(path, options))

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        _refuse_root(path)
        with self._outward():
            await self.inner.delete(self._inward(path), options)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        _refuse_root(src)
        _refuse_root(dst)
        with self._outward():
            return await self.inner.copy(self._inward(src), self._inward(dst), _below_root(dst, options))

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        if src.is_root:
            raise BusyError("the root cannot be moved", path=str(src))
        _refuse_root(dst)
        with self._outward():
            return await self.inner.move(self._inward(src), self._inward(dst), _below_root(dst, options))

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        with self._outward():
            top = path.is_root or path.parent.is_root
            await self.inner.make_dir(self._inward(path), replace(options, parents=True) if top else options)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        if path.is_root:
            raise BusyError("the root cannot be removed", path=str(path))
        with self._outward():
            await self.inner.remove_dir(self._inward(path), recursive=recursive)

    async def sweep_leftovers(self, older_than: float) -> int:
        """Only where the store confines the prefix itself: elsewhere the sweep would reach beyond it."""
        return await self.inner.sweep_leftovers(older_than) if self.prefix.is_root else 0

    def _inward(self, path: StoragePath) -> StoragePath:
        return path.rebased(_ROOT, self.prefix)

    def _outward_entry(self, entry: Entry) -> Entry:
        if self.prefix.is_root:
            return entry
        if entry.error is not None:
            self._correct(entry.error)
        path = None if entry.path is None else entry.path.rebased(self.prefix, _ROOT)
        return replace(entry, path=path)

    @contextmanager
    def _outward(self, body: Body = b"") -> Generator[None]:
        try:
            yield
        except MoorageError as error:
            if not (isinstance(body, CallersChunks) and body.error is error):
                self._correct(error)
            raise

    def _correct(self, error: MoorageError) -> None:
        if error.path is None or self.prefix.is_root:
            return
        inner = StoragePath.parse(error.path)
        error.path = str(inner.rebased(self.prefix, _ROOT)) if inner.is_within(self.prefix) else "/"


def _refuse_root(path: StoragePath) -> None:
    if path.is_root:
        raise PathIsDirectoryError("is a directory", path=str(path))


def _below_root(path: StoragePath, options: WriteOptions) -> WriteOptions:
    """The root exists, so a write directly below it never lacks its parent."""
    return replace(options, create_parents=True) if path.parent.is_root and not options.create_parents else options
