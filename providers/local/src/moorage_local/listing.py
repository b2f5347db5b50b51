"""Listings: read in batches on a worker, by handles, links never entered."""

from __future__ import annotations

import os
import stat as posix
import sys
import threading
import time
from collections import deque
from typing import Any, Final

from moorage import Entry, InvalidPathError, PathNotDirectoryError, PathNotFoundError, Stat, StoragePath
from moorage_local.containment import RESERVED, Place, Root
from moorage_local.failures import mapped
from moorage_local.handles import Handle
from moorage_local.kernel import OPEN_DIR
from moorage_local.stats import stat_from
from moorage_local.workers import Job

_FIRST_BATCH: Final = 64
_BATCH: Final = 1024
_BATCH_TIME: Final = 0.01  # seconds
_OPEN_LEVELS: Final = 48
_STORED_IS_UTF8: Final = sys.getfilesystemencoding() == "utf-8"


class _Level:
    """A directory that is being read; far down, one that was read whole and has these subdirectories left."""

    __slots__ = ("entries", "handle", "identity", "path", "subdirectories")

    def __init__(self, path: StoragePath, handle: Handle) -> None:
        self.path = path
        self.handle: Handle | None = handle
        try:
            self.entries: Any = os.scandir(handle.fd)
        except OSError:
            handle.close()
            raise
        st = os.fstat(handle.fd)
        self.identity = (st.st_dev, st.st_ino)
        self.subdirectories: deque[StoragePath] = deque()

    def read_to_the_end(self) -> None:
        self.entries.close()
        self.entries = None

    def close(self) -> None:
        if self.entries is not None:
            self.read_to_the_end()
        if self.handle is not None:
            self.handle.close()
            self.handle = None


class Listing:
    """One listing under way. ``step`` runs on a worker; ``close`` may be called from anywhere, at any time."""

    def __init__(self, root: Root, path: StoragePath, *, recursive: bool) -> None:
        self._root = root
        self._path = path
        self._recursive = recursive
        self._levels: list[_Level] | None = None
        self._size = _FIRST_BATCH
        self._base: Handle | None = None
        self._turn = threading.Lock()
        self._closing = False

    def step(self, job: Job[Any]) -> list[Entry]:
        """The next entries; none when the listing is complete."""
        try:
            with self._turn:
                return self._next()
        finally:
            if self._closing:
                self.close()

    def _next(self) -> list[Entry]:
        if self._closing:
            return []
        if self._levels is None:
            self._levels = [self._open()]
        entries = self._batch(self._levels)
        self._size = _BATCH
        return entries

    def close(self) -> None:
        """Give the handles back: now, or when the step that is running ends."""
        self._closing = True
        if self._turn.acquire(blocking=False):
            try:
                for level in self._levels or ():
                    level.close()
                self._levels = []
                if self._base is not None:
                    self._base.close()
            finally:
                self._turn.release()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> _Level:
        try:
            handle = self._root.open_dir(self._path)
        except NotADirectoryError:
            raise self._not_a_directory() from None
        if self._recursive:
            self._base = Handle(os.open(b".", OPEN_DIR, dir_fd=handle.fd))
        return _Level(self._path, handle)

    def _not_a_directory(self) -> Exception:
        try:
            with self._root.place(self._path):
                return PathNotDirectoryError("not a directory", path=str(self._path))
        except NotADirectoryError:
            return PathNotFoundError("no such directory", path=str(self._path))

    def _batch(self, levels: list[_Level]) -> list[Entry]:
        found: list[Entry] = []
        end = time.monotonic() + _BATCH_TIME
        while levels and len(found) < self._size:
            level = levels[-1]
            if level.entries is None:
                self._next_far(levels, level)
            elif len(levels) > _OPEN_LEVELS:
                found += self._read_whole(level)
            else:
                self._read_some(levels, level, found)
            if found and time.monotonic() > end:
                break
        return found

    def _read_some(self, levels: list[_Level], level: _Level, found: list[Entry]) -> None:
        """Entries of one directory, up to a full batch or to the first subdirectory, which comes next."""
        room = self._size - len(found)
        for item in level.entries:
            entry = self._entry(level, item)
            if entry is None:
                continue
            if self._recursive and entry.is_dir and entry.path is not None:
                entry, below = self._entered(level, item, entry, entry.path)
                found.append(entry)
                if below is not None:
                    levels.append(below)
                return
            found.append(entry)
            room -= 1
            if room <= 0:
                return
        level.close()
        levels.pop()

    def _entered(
        self, level: _Level, item: os.DirEntry[str], entry: Entry, path: StoragePath
    ) -> tuple[Entry, _Level | None]:
        directory = level.handle.fd if level.handle is not None else -1
        try:
            handle = Handle(os.open(os.fsencode(item.name), OPEN_DIR, dir_fd=directory))
        except (FileNotFoundError, NotADirectoryError):
            return entry, None
        except OSError as error:
            return Entry(path, entry.stat, error=mapped(error, path)), None
        return entry, _Level(path, handle)

    def _read_whole(self, level: _Level) -> list[Entry]:
        """Far down, a directory is not held open for long: all entries at once, subdirectories remembered by path."""
        found: list[Entry] = []
        for item in level.entries:
            entry = self._entry(level, item)
            if entry is None:
                continue
            if entry.is_dir and entry.path is not None:
                path = entry.path
                entry, below = self._entered(level, item, entry, path)
                if below is not None:
                    below.close()
                    level.subdirectories.append(path)
            found.append(entry)
        level.read_to_the_end()
        return found

    def _next_far(self, levels: list[_Level], level: _Level) -> None:
        if not level.subdirectories:
            levels.pop()
            above = levels[-1]
            if above.handle is None and level.handle is not None:
                above.handle = _above(level.handle, above.identity)
            level.close()
            return
        path = level.subdirectories.popleft()
        try:
            if level.handle is None:
                level.handle = self._reopened(level.path)
            handle = Handle(os.open(path.name.encode(), OPEN_DIR, dir_fd=level.handle.fd))
        except OSError:  # moved or removed since it was listed
            return
        levels.append(_Level(path, handle))
        forgotten = levels[max(_OPEN_LEVELS, len(levels) - 1 - _OPEN_LEVELS)]
        if forgotten.entries is None and forgotten.handle is not None:
            forgotten.handle.close()
            forgotten.handle = None

    def _reopened(self, path: StoragePath) -> Handle:
        """A directory below the listed one, step by step and without links."""
        at = Handle(os.open(b".", OPEN_DIR, dir_fd=self._base.fd if self._base is not None else -1))
        for name in path.parts[len(self._path.parts) :]:
            with at:
                below = Handle(os.open(name.encode(), OPEN_DIR, dir_fd=at.fd))
            at = below
        return at

    def _entry(self, level: _Level, item: os.DirEntry[str]) -> Entry | None:
        name = item.name
        if name.startswith(RESERVED):
            return None
        try:
            st = item.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        stored = name if _STORED_IS_UTF8 else os.fsencode(name).decode("utf-8", "surrogateescape")
        try:
            path = level.path.child(stored)
        except InvalidPathError:
            return Entry(None, stat_from(st), raw_name=os.fsencode(name))
        return Entry(path, self._link_stat(level, path, name, st) if posix.S_ISLNK(st.st_mode) else stat_from(st))

    def _link_stat(self, level: _Level, path: StoragePath, name: str, st: os.stat_result) -> Stat:
        if level.handle is None:
            return stat_from(st)
        place = Place(level.handle, os.fsencode(name))
        return stat_from(st, self._root.link_target(path, place))


def _above(handle: Handle, identity: tuple[int, int]) -> Handle | None:
    """The parent, if it is the directory that was come from; it is not when the one below was moved meanwhile."""
    try:
        parent = Handle(os.open(b"..", OPEN_DIR, dir_fd=handle.fd))
    except OSError:
        return None
    st = os.fstat(parent.fd)
    if (st.st_dev, st.st_ino) == identity:
        return parent
    parent.close()
    return None
