"""The one place where read-only is enforced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import NoReturn

from moorage.errors import ReadOnlyError
from moorage.models import Body, Capabilities, DeleteOptions, Entry, MakeDirOptions, Reader, Stat, WriteOptions
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider


class ReadOnly(Provider):
    """Reads pass; every mutating primitive raises :class:`moorage.ReadOnlyError` and touches nothing.

    ``native_path`` is withheld: a host path bound into a sandbox would be writable there.
    """

    def __init__(self, inner: Provider) -> None:
        self.inner = inner
        self.scheme = inner.scheme

    async def start(self) -> None:
        await self.inner.start()

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return replace(await self.inner.capabilities(path), writable=False, native_path=None)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(path)

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(prefix)
        return None if inner is None else ReadOnly(inner)

    async def stat(self, path: StoragePath) -> Stat:
        return await self.inner.stat(path)

    def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        return self.inner.list(path, recursive=recursive)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        return await self.inner.read(path, start=start, end=end)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse("write", path)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        _refuse("append", path)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        _refuse("delete", path)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        _refuse("copy", dst)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        _refuse("move", src)

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        _refuse("make_dir", path)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        _refuse("remove_dir", path)

    async def sweep_leftovers(self, older_than: float) -> int:
        _refuse("sweep_leftovers", StoragePath("/"))


def is_read_only(provider: Provider) -> bool:
    """Whether a :class:`ReadOnly` stands anywhere in this chain of wrappers (each shows what it wraps as ``inner``)."""
    layer: object = provider
    while isinstance(layer, Provider):
        if isinstance(layer, ReadOnly):
            return True
        layer = getattr(layer, "inner", None)
    return False


def _refuse(operation: str, path: StoragePath) -> NoReturn:
    raise ReadOnlyError("read-only", operation=operation, path=str(path))
