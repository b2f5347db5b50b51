"""The reference provider: a tree in memory. The text to read before writing a provider of your own.

It has real directories, no links, and atomic compare-and-swap: the event loop runs one piece of code at a time, and
every check here is followed by its change with no ``await`` between. Different threads may not share one instance's
event loop, but may share the instance: a lock guards the same few lines.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio.lowlevel

from moorage.errors import (
    BusyError,
    DirectoryNotEmptyError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StaleFileError,
    UnsupportedError,
)
from moorage.models import (
    UNSET,
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
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider

_TICK: Final = timedelta(microseconds=1)
_PAGE: Final = 256


@dataclass(slots=True)
class _File:
    data: bytes
    stat: Stat


@dataclass(slots=True)
class _Directory:
    stat: Stat
    children: dict[str, _File | _Directory]


class MemoryProvider(Provider):
    """Files in this process, gone with it."""

    scheme = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes = 0
        self._last = datetime.fromtimestamp(0, UTC)
        self._root = _Directory(self._new_directory_stat(), {})

    async def start(self) -> None:
        """Nothing to connect."""

    async def aclose(self) -> None:
        """Nothing to give back; the content stays, so that it can be opened again."""

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return Capabilities(conditional_write="atomic", atomic_move=True, server_side_copy=True)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return tuple(f"{self.scheme}:{id(self)}:{above}" for above in (path, *path.parents))

    async def stat(self, path: StoragePath) -> Stat:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            return self._get(path).stat

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        pending = [path]
        while pending:
            current = pending.pop()
            with self._lock:
                try:
                    node = self._get(current)
                except PathNotFoundError:
                    if current == path:
                        raise
                    continue
                if isinstance(node, _File):
                    raise PathNotDirectoryError("not a directory", path=str(path))
                entries = [Entry(current.child(name), child.stat) for name, child in node.children.items()]
            for index, entry in enumerate(entries):
                if index % _PAGE == 0:
                    await anyio.lowlevel.checkpoint()
                yield entry
            if recursive:
                pending += [entry.path for entry in entries if entry.is_dir and entry.path is not None]

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            file = self._get_file(path)
            return Reader(file.stat, file.data[start:end])

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        with self._lock:
            self._check_destination(path, options)
        data = await _collect(body)
        with self._lock:
            return self._put(path, data, options)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        with self._lock:
            self._check_destination(path, options)
        data = await _collect(body)
        with self._lock:
            present = self._check_destination(path, options)
            before = present.data if present else b""
            kept = replace(options, media_type=options.media_type or (present.stat.media_type if present else None))
            return self._put(path, before + data, kept)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            file = self._find(path)
            if isinstance(file, _Directory):
                raise PathIsDirectoryError("is a directory; remove_dir removes it", path=str(path))
            _check_expectation(path, file, options)
            if file is None:
                raise PathNotFoundError("no such file", path=str(path))
            del self._parent_of(path).children[path.name]

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            file = self._get_file(src)
            if src == dst:
                return file.stat
            kept = replace(options, media_type=options.media_type or file.stat.media_type)
            return self._put(dst, file.data, kept)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            node = self._get(src)
            if src == dst:
                return node.stat
            if isinstance(node, _Directory) and (dst.is_below(src) or self._find(dst) is not None):
                raise UnsupportedError("cannot move this directory in one step", path=str(src))
            self._check_destination(dst, options)
            target = self._make_parents(dst, options.create_parents)
            del self._parent_of(src).children[src.name]
            target.children[dst.name] = node
            return node.stat

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            present = self._find(path)
            if isinstance(present, _File) or (present is not None and not options.exist_ok):
                raise PathExistsError("already exists", path=str(path))
            if present is None:
                parent = self._make_parents(path, options.parents)
                parent.children[path.name] = _Directory(self._new_directory_stat(), {})

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        await anyio.lowlevel.checkpoint()
        with self._lock:
            node = self._get(path)
            if path.is_root:
                raise BusyError("the root cannot be removed", path=str(path))
            if isinstance(node, _File):
                raise PathNotDirectoryError("not a directory", path=str(path))
            if node.children and not recursive:
                raise DirectoryNotEmptyError("directory is not empty", path=str(path))
            del self._parent_of(path).children[path.name]

    # What follows runs under the lock.

    def _find(self, path: StoragePath) -> _File | _Directory | None:
        node: _File | _Directory = self._root
        for name in path.parts:
            if isinstance(node, _File) or name not in node.children:
                return None
            node = node.children[name]
        return node

    def _get(self, path: StoragePath) -> _File | _Directory:
        node = self._find(path)
        if node is None:
            raise PathNotFoundError("no such file or directory", path=str(path))
        return node

    def _get_file(self, path: StoragePath) -> _File:
        node = self._get(path)
        if isinstance(node, _Directory):
            raise PathIsDirectoryError("is a directory", path=str(path))
        return node

    def _parent_of(self, path: StoragePath) -> _Directory:
        parent = self._get(path.parent)
        if isinstance(parent, _File):
            raise PathNotDirectoryError("a file stands where a directory is needed", path=str(path.parent))
        return parent

    def _check_destination(self, path: StoragePath, options: WriteOptions) -> _File | None:
        """The file that is there now, once every refusal of :meth:`Provider.write` has been ruled out."""
        present = self._find(path)
        if isinstance(present, _Directory):
            raise PathIsDirectoryError("is a directory", path=str(path))
        for parent in path.parents:
            above = self._find(parent)
            if isinstance(above, _File):
                raise PathNotDirectoryError("a file stands where a directory is needed", path=str(parent))
        _check_expectation(path, present, options)
        if present is not None and not options.overwrite:
            raise PathExistsError("already exists", path=str(path))
        if not options.create_parents and self._find(path.parent) is None:
            raise PathNotFoundError("no such directory", path=str(path.parent))
        return present

    def _make_parents(self, path: StoragePath, create: bool) -> _Directory:
        if create:
            for parent in reversed(path.parents[:-1]):
                self._parent_of(parent).children.setdefault(parent.name, _Directory(self._new_directory_stat(), {}))
        return self._parent_of(path)

    def _put(self, path: StoragePath, data: bytes, options: WriteOptions) -> Stat:
        from hashlib import sha256  # loads OpenSSL: not before something is written

        present = self._check_destination(path, options)
        parent = self._make_parents(path, options.create_parents)
        now = self._next_time()
        self._changes += 1
        stat = Stat(
            Kind.FILE,
            size=len(data),
            version=str(self._changes),
            modified_at=now,
            created_at=present.stat.created_at if present else now,
            checksum=f"sha256:{sha256(data).hexdigest()}",
            media_type=options.media_type,
        )
        parent.children[path.name] = _File(data, stat)
        return stat

    def _new_directory_stat(self) -> Stat:
        now = self._next_time()
        return Stat(Kind.DIRECTORY, modified_at=now, created_at=now)

    def _next_time(self) -> datetime:
        """Now, but always later than the last time given out."""
        self._last = max(datetime.now(UTC), self._last + _TICK)
        return self._last


def _check_expectation(path: StoragePath, present: _File | None, options: WriteOptions | DeleteOptions) -> None:
    if options.expected_version is not UNSET:
        actual_version = present.stat.version if present else None
        if actual_version != options.expected_version:
            raise StaleFileError(
                "changed since it was seen" if present else "gone since it was seen",
                path=str(path),
                expected=options.expected_version,
                actual=actual_version,
            )
    elif options.expected_mtime is not UNSET:
        actual_time = present.stat.modified_at if present else None
        if actual_time != options.expected_mtime:
            raise StaleFileError(
                "changed since it was seen" if present else "gone since it was seen",
                path=str(path),
                expected=options.expected_mtime,
                actual=actual_time,
            )


async def _collect(body: Body) -> bytes:
    if isinstance(body, bytes):
        await anyio.lowlevel.checkpoint()
        return body
    return b"".join([chunk async for chunk in body])
