"""Copies within one root."""

from __future__ import annotations

import os
import stat as posix
from contextlib import suppress
from typing import Any

from moorage import PathIsDirectoryError, PathNotFoundError, Stat, StoragePath, WriteOptions
from moorage_local.changes import Change, Disk, check_destination, destination, same_object
from moorage_local.containment import is_link
from moorage_local.failures import failures_at
from moorage_local.handles import Handle
from moorage_local.locks import DirectoryLock
from moorage_local.opening import open_regular
from moorage_local.sources import FileSource
from moorage_local.stats import stat_from
from moorage_local.temporaries import temporary_name
from moorage_local.workers import Job
from moorage_local.writing import Replace, place_without_overwriting, retried


class Copy(Change[Stat]):
    """Copy one file, or recreate one link, in another place of the same root."""

    def __init__(self, disk: Disk, src: StoragePath, dst: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, dst)
        self._src = src
        self._options = options
        self._original: Handle | None = None
        self._copy: Replace | _CopyLink | None = None

    def make(self, job: Job[Any]) -> Stat:
        if self._copy is None:
            made = self._begin()
            if isinstance(made, Stat):
                return made
            self._copy = made
        return self._copy.make(job)

    def _begin(self) -> Stat | Replace | _CopyLink:
        if not self._options.follow_links:
            target = self._link_target()
            if target is not None:
                return _CopyLink(self.disk, self.path, self._options, target)
        with failures_at(self._src):
            self._original, st = open_regular(self.disk.root, self._src)
        place = destination(self.disk, self.path, self._options)
        with place:
            if same_object(place.seen, st):
                return stat_from(st)
        source = FileSource(self._original, st.st_size, offload=True)
        return Replace(self.disk, self.path, self._options, source, mode=st.st_mode & 0o777)

    def _link_target(self) -> bytes | None:
        with failures_at(self._src):
            try:
                place = self.disk.root.place(self._src)
            except NotADirectoryError:
                raise PathNotFoundError("no such file or directory", path=str(self._src)) from None
            with place:
                return os.readlink(place.name, dir_fd=place.dir) if is_link(place.lstat()) else None

    def release(self) -> None:
        if self._copy is not None:
            self._copy.release()
        if self._original is not None:
            self._original.close()


class _CopyLink(Change[Stat]):
    """Make a link with a given target."""

    def __init__(self, disk: Disk, path: StoragePath, options: WriteOptions, target: bytes) -> None:
        super().__init__(disk, path)
        self._options = options
        self._target = target

    def make(self, job: Job[Any]) -> Stat:
        return retried(lambda: self._make_once(job), self.release, self.path)

    def _make_once(self, job: Job[Any]) -> Stat:
        place = destination(self.disk, self.path, self._options, follow=False)
        with place:
            name = temporary_name()
            os.symlink(self._target, name, dir_fd=place.dir)
            try:
                with DirectoryLock(place.dir):
                    check_entry_destination(self.disk, self.path, self._options, place.lstat())
                    job.commit()
                    if self._options.overwrite:
                        os.rename(name, place.name, src_dir_fd=place.dir, dst_dir_fd=place.dir)
                    else:
                        place_without_overwriting(place.dir, name, place.name)
                    made = os.stat(place.name, dir_fd=place.dir, follow_symlinks=False)
            except BaseException:
                with suppress(OSError):
                    os.unlink(name, dir_fd=place.dir)
                raise
            self.disk.sync(place.dir)
            return stat_from(made, self.disk.root.link_target(self.path, place))

    def release(self) -> None:
        """Nothing is kept between two attempts."""


def check_entry_destination(
    disk: Disk, path: StoragePath, options: WriteOptions, present: os.stat_result | None
) -> None:
    """As ``check_destination`` for an entry that replaces a link rather than what it leads to."""
    if not is_link(present):
        check_destination(path, options, present)
        return
    led_to = disk.followed_stat(path)
    if led_to is not None and posix.S_ISDIR(led_to.st_mode):
        raise PathIsDirectoryError("is a directory", path=str(path))
    check_destination(path, options, led_to, present)
