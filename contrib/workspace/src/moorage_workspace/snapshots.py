"""Listing a tree of a store that has no directories: in one pass, as long as the tree is small enough to remember."""

from __future__ import annotations

from collections import defaultdict
from contextlib import aclosing
from typing import Final

from moorage import Entry, Filesystem, StoragePath

REMEMBERED: Final = 10_000
"""Entries of a tree that is listed in one pass; in pages of an object store, ten requests."""


class Snapshot:
    """Every entry below a directory, by the directory that holds it."""

    def __init__(self, top: StoragePath, entries: list[Entry]) -> None:
        self.top = top
        self.paths = frozenset(entry.path for entry in entries if entry.path is not None)
        self._children: defaultdict[StoragePath, list[Entry]] = defaultdict(list)
        for entry in entries:
            self._children[top if entry.path is None else entry.path.parent].append(entry)

    def children(self, path: StoragePath) -> list[Entry]:
        return self._children.get(path, [])


async def take_snapshot(files: Filesystem, top: StoragePath) -> Snapshot | None:
    """All of a tree, where one pass is cheaper than a listing of each directory; ``None`` otherwise.

    Raises:
        MoorageError: why it cannot be listed.
    """
    if (await files.capabilities(top)).real_directories:
        return None
    found: list[Entry] = []
    async with aclosing(files.scan_dir(top, recursive=True)) as entries:
        async for entry in entries:
            if len(found) == REMEMBERED or entry.error is not None:
                return None
            found.append(entry)
    return Snapshot(top, found)
