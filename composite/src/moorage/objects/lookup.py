"""Questions about one path, each with as few requests as the store can answer it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from moorage.errors import (
    MoorageError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from moorage.models import Kind, Stat
from moorage.objects.client import ListOptions, ObjectClient, ObjectInfo, ObjectPage
from moorage.objects.keys import FOLDER_SUFFIX, KeyMap, has_folder_suffix
from moorage.objects.recent import RecentNames
from moorage.objects.together import both, every, unless
from moorage.paths import StoragePath

PATIENCE: Final = 0.25
"""Seconds for which the answer about a file is awaited alone. Longer than a store in another region takes, so that the
``stat`` of a file costs one request there, too; a ``stat`` that is slower than that is hedged."""

DIRECTORY = Stat(Kind.DIRECTORY)
"""What is known of any directory: the time of a marker says nothing about what the directory holds."""


def stat_of(info: ObjectInfo) -> Stat:
    """The stat of the file that this object is."""
    return Stat(
        Kind.FILE,
        size=info.size or 0,
        version=info.version,
        modified_at=info.modified_at,
        created_at=info.created_at,
        checksum=info.checksum,
        media_type=info.media_type,
    )


@contextmanager
def at(path: StoragePath) -> Generator[None, None, None]:
    """Errors of the client, which knows keys only, get this path."""
    try:
        yield
    except MoorageError as error:
        if error.path is None:
            error.path = str(path)
        raise


@dataclass(frozen=True, slots=True)
class Beside:
    """What carries one name: a file, a directory, both, or neither."""

    file: ObjectInfo | None
    is_directory: bool


class Lookup:
    """What is at a path: an object under the key, keys or markers below it."""

    def __init__(self, client: ObjectClient, keys: KeyMap, recent: RecentNames) -> None:
        self._client = client
        self._keys = keys
        self._recent = recent

    async def head(self, path: StoragePath) -> ObjectInfo | None:
        """The object of the file at this path, or ``None``; one request."""
        with at(path):
            try:
                info = await self._client.head(self._keys.key(path))
            except PathNotFoundError:
                return None
        return None if info.size == 0 and has_folder_suffix(path) else info

    async def any_below(self, path: StoragePath) -> bool:
        """Whether a key starts with the path as a directory, its own marker included; one request."""
        prefix = self._keys.directory(path)
        if not self._keys.fits(prefix):
            return False
        with at(path):
            page = await self._page(prefix, ListOptions(limit=1))
        return bool(page.objects or page.prefixes)

    async def beside(self, path: StoragePath) -> Beside:
        """What carries this name, markers of both styles included.

        One request for one page of the names that begin with this one, which is nearly always all of them; two
        rounds only where more than a page of them exist.
        """
        key = self._keys.key(path)
        with at(path):
            page = await self._page(key, ListOptions(delimiter="/"))
        objects = {info.key: info for info in page.objects}
        file = objects.get(key)
        if file is not None and file.size == 0 and has_folder_suffix(path):
            file = None
        foreign = objects.get(key + FOLDER_SUFFIX)
        has_foreign = foreign is not None and self._keys.locate(foreign.key, foreign.size).is_marker
        is_directory = has_foreign or f"{key}/" in page.prefixes
        if not page.more:
            return Beside(file, is_directory)
        return Beside(*await both(partial(self.head, path), partial(self._is_directory, path)))

    async def stat(self, path: StoragePath) -> Stat:
        """The stat of the file, else of the directory.

        A file costs one request. Whether it is a directory is asked as soon as it is known to be no file, or when
        that takes longer than :data:`PATIENCE`; at once where this process made a directory there lately.
        """
        if path.is_root:
            return DIRECTORY
        patience = 0.0 if self._recent.kind(path) is Kind.DIRECTORY else PATIENCE
        file, beside = await unless(partial(self.head, path), partial(self.beside, path), patience)
        if file is not None:
            return stat_of(file)
        if beside is not None and beside.is_directory:
            return DIRECTORY
        raise PathNotFoundError("no such file or directory", path=str(path))

    async def no_file(self, path: StoragePath) -> MoorageError:
        """The error to raise once no file was found at this path."""
        if (await self.beside(path)).is_directory:
            return PathIsDirectoryError("is a directory", path=str(path))
        return PathNotFoundError("no such file", path=str(path))

    async def check_directory(self, path: StoragePath) -> None:
        """Refuse what is no directory, once no key was found below it."""
        beside = await self.beside(path)
        if beside.is_directory:
            return
        if beside.file is not None:
            raise PathNotDirectoryError("not a directory", path=str(path))
        raise PathNotFoundError("no such directory", path=str(path))

    async def check_names(self, path: StoragePath) -> None:
        """Refuse to put a file where a directory is, or below a file; one round of concurrent requests.

        Best effort: others may write between this check and what follows. What this process wrote lately is known.
        """
        calls: list[Callable[[], Awaitable[None]]] = []
        if self._recent.kind(path) is not Kind.FILE:
            calls.append(partial(self._check_no_directory, path))
        calls += self.ancestor_checks(path)
        if calls:
            await every(calls)

    def ancestor_checks(self, path: StoragePath) -> list[Callable[[], Awaitable[None]]]:
        """One check that it is no file for each ancestor that is not known to be a directory, nearest first."""
        unknown = [above for above in path.parents[:-1] if self._recent.kind(above) is not Kind.DIRECTORY]
        return [partial(self._check_no_file, above) for above in unknown]

    async def check_parent(self, path: StoragePath) -> None:
        """Refuse a missing parent directory."""
        parent = path.parent
        if parent.is_root or await self.any_below(parent):
            return
        beside = await self.beside(parent)
        if beside.file is not None:
            raise PathNotDirectoryError("a file stands where a directory is needed", path=str(parent))
        if not beside.is_directory:
            raise PathNotFoundError("no such directory", path=str(parent))

    async def _check_no_directory(self, path: StoragePath) -> None:
        if await self.any_below(path):
            raise PathIsDirectoryError("is a directory", path=str(path))

    async def _check_no_file(self, path: StoragePath) -> None:
        if await self.head(path) is not None:
            raise PathNotDirectoryError("a file stands where a directory is needed", path=str(path))

    async def _is_directory(self, path: StoragePath) -> bool:
        below, foreign = await both(partial(self.any_below, path), partial(self._foreign_marker, path))
        return below or foreign

    async def _foreign_marker(self, path: StoragePath) -> bool:
        key = self._keys.key(path) + FOLDER_SUFFIX
        if not self._keys.fits(key):
            return False
        with at(path):
            try:
                return self._keys.locate(key, (await self._client.head(key)).size).is_marker
            except PathNotFoundError:
                return False

    async def _page(self, prefix: str, options: ListOptions) -> ObjectPage:
        async with aclosing(self._client.list(prefix, options)) as pages:
            async for page in pages:
                return page
        return ObjectPage()
