"""Copies within one root."""

from __future__ import annotations

import os
import stat as posix
from contextlib import suppress
from typing import Any

from moorage import PathIsDirectoryError, PathNotFoundError, Stat, StoragePath, WriteOptions
from moorage_local.changes import (
    Change,
    Disk,
    check_destination,
    check_free_or_regular,
    destination,
    retried,
    same_object,
)
from moorage_local.containment import Place, is_link
from moorage_local.failures import failures_at
from moorage_local.handles import Handle
from moorage_local.locks import DirectoryLock
from moorage_local.opening import open_regular
from moorage_local.sources import FileSource
from moorage_local.stats import check_expectation, stat_from
from moorage_local.temporaries import temporary_name
from moorage_local.workers import Job
from moorage_local.writing import Replace, place_without_overwriting


class Copy(Change[Stat]):
    """Copy one file, or recreate one link, in another place of the same root."""

    def __init__(self, disk: Disk, src: StoragePath, dst: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, dst)
        self._src = src
        self._options = options
        self.copied: os.stat_result | None = None
        """Of the source: what was copied."""
        self._original: Handle | None = None
        self._copy: Replace | _CopyLink | None = None

    def make(self, job: Job[Any]) -> Stat:
        if self._copy is None:
            made = retried(self._begin, self.release, self.path)
            if isinstance(made, Stat):
                return made
            self._copy = made
        return self._copy.make(job)

    def _begin(self) -> Stat | Replace | _CopyLink:
        if not self._options.follow_links:
            link = self._link()
            if link is not None:
                return _CopyLink(self.disk, self._src, self.path, self._options, link)
        with failures_at(self._src):
            self._original, st = open_regular(self.disk.root, self._src)
        self.copied = st
        place = destination(self.disk, self.path, self._options)
        with place:
            if same_object(place.seen, st):
                return stat_from(st)
        source = FileSource(self._original, st.st_size, offload=True)
        copy = Replace(self.disk, self.path, self._options, source, mode=st.st_mode & 0o777)
        copy.contended = self.contended
        return copy

    def _link(self) -> bytes | None:
        with failures_at(self._src):
            try:
                place = self.disk.root.place(self._src)
            except NotADirectoryError:
                raise PathNotFoundError("no such file or directory", path=str(self._src)) from None
            with place:
                st = place.lstat()
                if not is_link(st):
                    return None
                self.copied = st
                return os.readlink(place.name, dir_fd=place.dir)

    def release(self) -> None:
        if self._copy is not None:
            self._copy.release()
            self._copy = None
        if self._original is not None:
            self._original.close()
            self._original = None


class _CopyLink(Change[Stat]):
    """Make a link with a given target, that of ``src``."""

    def __init__(self, disk: Disk, src: StoragePath, path: StoragePath, options: WriteOptions, target: bytes) -> None:
        super().__init__(disk, path)
        self._src = src
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
                    present = place.lstat()
                    if present is not None and leads_onto(self.disk, self._src, present):
                        os.unlink(name, dir_fd=place.dir)
                        return self._stat(present, place)
                    check_entry_destination(self.disk, self.path, self._options, present)
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
            return self._stat(made, place)

    def _stat(self, st: os.stat_result, place: Place) -> Stat:
        return stat_from(st, self.disk.root.link_target(self.path, place) if is_link(st) else None)

    def release(self) -> None:
        """Nothing is kept between two attempts."""


def leads_onto(disk: Disk, link: StoragePath, present: os.stat_result) -> bool:
    """Whether ``link`` needs the entry that it would replace: putting it there would lose what it leads to."""
    return not posix.S_ISDIR(present.st_mode) and disk.root.leads_through(link, present)


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
    check_expectation(path, options, present, led_to)
    check_free_or_regular(path, options, led_to, present)
