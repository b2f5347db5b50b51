"""Removing directories: by handles, never through a link, in steps that stay short."""

from __future__ import annotations

import errno
import os
import stat as posix
from itertools import islice
from typing import Any, Final

from moorage import (
    BusyError,
    ConflictError,
    DirectoryNotEmptyError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
)
from moorage_local.changes import Change, Disk
from moorage_local.containment import Place
from moorage_local.handles import Handle
from moorage_local.kernel import OPEN_DIR
from moorage_local.locks import DirectoryLock
from moorage_local.temporaries import sweep_directory
from moorage_local.workers import Job, Withdrawn

_BATCH: Final = 512
_OPEN_LEVELS: Final = 64
_REFILLS: Final = 64
"""How often a directory may turn out to be filled again while it is removed."""


def find_directory(disk: Disk, path: StoragePath) -> Place:
    if path.is_root:
        raise BusyError("the root cannot be removed", path=str(path))
    try:
        place = disk.root.place(path).looked()
    except NotADirectoryError:
        raise PathNotFoundError("no such file or directory", path=str(path)) from None
    st = place.seen
    if st is not None and posix.S_ISDIR(st.st_mode):
        return place
    place.close()
    if st is None:
        raise PathNotFoundError("no such file or directory", path=str(path))
    raise PathNotDirectoryError("not a directory", path=str(path))


def remove_empty(disk: Disk, path: StoragePath, job: Job[None]) -> None:
    """Remove a directory that holds nothing but what killed processes left."""
    with find_directory(disk, path).handle as parent:
        name = path.name.encode()
        job.commit()
        try:
            os.rmdir(name, dir_fd=parent.fd)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            with Handle(os.open(name, OPEN_DIR, dir_fd=parent.fd)) as directory:
                sweep_directory(directory.fd, older_than=0.0)
            try:
                os.rmdir(name, dir_fd=parent.fd)
            except OSError:
                raise DirectoryNotEmptyError("directory is not empty", path=str(path)) from None
        disk.sync(parent.fd)


class _Level:
    """One directory on the way down. Its handle may be closed while work goes on far below."""

    __slots__ = ("handle", "identity", "is_read", "name", "refills", "subdirectories")

    def __init__(self, handle: Handle, name: bytes) -> None:
        st = os.fstat(handle.fd)
        self.handle: Handle | None = handle
        self.identity = (st.st_dev, st.st_ino)
        self.name = name
        self.subdirectories: list[bytes] = []
        self.is_read = False
        self.refills = 0


class TreeRemoval(Change[None]):
    """Removes a directory and everything below it, a step at a time. Memory and handles stay bounded."""

    def __init__(self, disk: Disk, path: StoragePath) -> None:
        super().__init__(disk, path)
        self._levels: list[_Level] = []

    def make(self, job: Job[Any]) -> None:
        """All of it, or as much as can be done before a lock is met; a new attempt goes on from there."""
        if not self._levels:
            place = find_directory(self.disk, self.path)
            self._levels.append(_Level(place.handle, b""))
            self._levels.append(_Level(place.open_dir(), place.name))
        while len(self._levels) > 1:
            if job.withdrawn:
                raise Withdrawn
            level = self._levels[-1]
            if level.subdirectories:
                self._descend(level)
            elif not level.is_read:
                self._empty(level)
            else:
                self._leave()
        self.disk.sync(self._handle(self._levels[0]))

    def release(self) -> None:
        for level in self._levels:
            if level.handle is not None:
                level.handle.close()
        self._levels = []

    def _handle(self, level: _Level) -> int:
        if level.handle is None:
            raise RuntimeError("closed")
        return level.handle.fd

    def _empty(self, level: _Level) -> None:
        """Unlink one batch of what a directory holds, and remember its subdirectories."""
        handle = self._handle(level)
        with os.scandir(handle) as entries:
            batch = [(os.fsencode(e.name), e.is_dir(follow_symlinks=False)) for e in islice(entries, _BATCH)]
        files = [name for name, is_dir in batch if not is_dir]
        subdirectories = [name for name, is_dir in batch if is_dir]
        if files:
            with DirectoryLock(handle):
                for name in files:
                    self._unlink(level, name)
        level.subdirectories += subdirectories
        level.is_read = len(batch) < _BATCH

    def _unlink(self, level: _Level, name: bytes) -> None:
        try:
            os.unlink(name, dir_fd=self._handle(level))
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError):
            st = os.stat(name, dir_fd=self._handle(level), follow_symlinks=False)
            if not posix.S_ISDIR(st.st_mode):
                raise
            level.subdirectories.append(name)

    def _descend(self, level: _Level) -> None:
        name = level.subdirectories.pop()
        try:
            os.rmdir(name, dir_fd=self._handle(level))
            return
        except FileNotFoundError:
            return
        except NotADirectoryError:
            self._unlink(level, name)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        try:
            below = Handle(os.open(name, OPEN_DIR, dir_fd=self._handle(level)))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                level.is_read = False
                self._count_refill(level)
                return
            raise
        self._levels.append(_Level(below, name))
        self._limit_handles()

    def _limit_handles(self) -> None:
        if len(self._levels) > _OPEN_LEVELS:
            far = self._levels[-_OPEN_LEVELS]
            if far.handle is not None and far is not self._levels[0]:
                far.handle.close()
                far.handle = None

    def _leave(self) -> None:
        """Remove the directory that is empty now, from its parent."""
        level = self._levels[-1]
        above = self._levels[-2]
        if above.handle is None:
            above.handle = self._reopened(level, above)
        try:
            os.rmdir(level.name, dir_fd=self._handle(above))
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            level.is_read = False
            self._count_refill(level)
            return
        self._levels.pop()
        if level.handle is not None:
            level.handle.close()

    def _reopened(self, level: _Level, above: _Level) -> Handle:
        """The parent again, by ``..``, which counts only when it is the very directory that was left."""
        handle = Handle(os.open(b"..", OPEN_DIR, dir_fd=self._handle(level)))
        st = os.fstat(handle.fd)
        if (st.st_dev, st.st_ino) != above.identity:
            handle.close()
            raise ConflictError("a directory was moved while it was removed", path=str(self.path))
        return handle

    def _count_refill(self, level: _Level) -> None:
        level.refills += 1
        if level.refills > _REFILLS:
            raise DirectoryNotEmptyError("the directory is being filled while it is removed", path=str(self.path))
