"""From pages of keys to entries: directories that keys imply, markers that are not shown, names that fit no path."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final

from moorage.models import Entry
from moorage.objects.client import ListOptions, ObjectClient, ObjectInfo, ObjectPage
from moorage.objects.keys import KeyMap
from moorage.objects.lookup import DIRECTORY, Lookup, at, stat_of
from moorage.paths import StoragePath

_FLAT: Final = ListOptions()
_FOLDED: Final = ListOptions(delimiter="/")


async def entries(
    client: ObjectClient, keys: KeyMap, lookup: Lookup, path: StoragePath, *, recursive: bool
) -> AsyncGenerator[Entry, None]:
    """What is below the directory; one request a page, and one more only where no key is.

    Raises:
        PathNotFoundError, PathNotDirectoryError: at the first item.
    """
    prefix = keys.directory(path)
    exists = path.is_root
    if path.is_root or keys.fits(prefix):
        reading = _Page(keys, path)
        with at(path):
            async with aclosing(client.list(prefix, _FLAT if recursive else _FOLDED)) as pages:
                async for page in pages:
                    exists = exists or bool(page.objects or page.prefixes)
                    for entry in reading.entries(page):
                        yield entry
    if not exists:
        await lookup.check_directory(path)


class _Page:
    """Turns pages of one listing into entries; remembers the directories that it has shown, and nothing else.

    Stores promise no order, so that a directory shown long ago may turn up again: the memory of a listing grows
    with its directories, not with its files.
    """

    def __init__(self, keys: KeyMap, top: StoragePath) -> None:
        self._keys = keys
        self._top = top
        self._shown: set[str] = {str(top)}
        self._odd_prefixes: set[str] = set()

    def entries(self, page: ObjectPage) -> Iterator[Entry]:
        for prefix in page.prefixes:
            yield from self._of_prefix(prefix)
        for info in page.objects:
            yield from self._of_object(info)

    def _of_prefix(self, prefix: str) -> Iterator[Entry]:
        located = self._keys.locate(prefix, None)
        if located.path is not None:
            yield from self._directories(located.path)
        elif prefix not in self._odd_prefixes:
            self._odd_prefixes.add(prefix)
            yield Entry(None, DIRECTORY, raw_name=self._keys.raw_name(prefix))

    def _of_object(self, info: ObjectInfo) -> Iterator[Entry]:
        located = self._keys.locate(info.key, info.size)
        if located.path is None:
            if located.reached is not None and located.reached.is_below(self._top):
                yield from self._directories(located.reached)
            yield Entry(None, stat_of(info), raw_name=self._keys.raw_name(info.key))
        elif located.is_marker:
            yield from self._directories(located.path)
        else:
            parent = located.path.parent
            if str(parent) not in self._shown:
                yield from self._directories(parent)
            yield Entry(located.path, stat_of(info))

    def _directories(self, path: StoragePath) -> Iterator[Entry]:
        """The directory and those above it, outermost first, except the ones that were shown."""
        if str(path) in self._shown:
            return
        new: list[StoragePath] = []
        while str(path) not in self._shown and path.is_below(self._top):
            self._shown.add(str(path))
            new.append(path)
            path = path.parent
        for directory in reversed(new):
            yield Entry(directory, DIRECTORY)
