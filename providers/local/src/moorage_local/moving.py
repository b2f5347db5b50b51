"""Deletes and moves."""

from __future__ import annotations

import errno
import os
import stat as posix
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from moorage import (
    BusyError,
    DeleteOptions,
    InvalidArgumentError,
    MoorageError,
    PathIsDirectoryError,
    PathNotFoundError,
    Stat,
    StoragePath,
    UnsupportedError,
    WriteOptions,
)
from moorage_local.changes import (
    Change,
    Disk,
    check_source_of_delete,
    destination,
    retried,
    same_object,
)
from moorage_local.containment import Place, is_link
from moorage_local.copying import Copy, check_entry_destination, leads_onto
from moorage_local.failures import failures_at
from moorage_local.kernel import rename_if_free
from moorage_local.locks import DirectoryLock, Longer
from moorage_local.opening import found
from moorage_local.stats import later_than, stat_from, version_of
from moorage_local.workers import Job


class Delete(Change[None]):
    """Remove one file; of a link, the link alone."""

    def __init__(self, disk: Disk, path: StoragePath, options: DeleteOptions) -> None:
        super().__init__(disk, path)
        self._options = options

    def make(self, job: Job[Any]) -> None:
        place = self._place()
        if place is None:
            check_source_of_delete(self.disk, self.path, self._options, None)
            return
        with place:
            with DirectoryLock(place.dir):
                check_source_of_delete(self.disk, self.path, self._options, place.lstat())
                job.commit()
                os.unlink(place.name, dir_fd=place.dir)
            self.disk.sync(place.dir)

    def _place(self) -> Place | None:
        try:
            return self.disk.root.place(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def release(self) -> None:
        """Nothing is kept between two attempts."""


class Move(Change[Stat]):
    """Rename one file, link or directory within this root."""

    def __init__(self, disk: Disk, src: StoragePath, dst: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, dst)
        self._src = src
        self._options = options
        self._across: Across | None = None

    def make(self, job: Job[Any]) -> Stat:
        if self._across is not None:
            return self._across.make(job)
        if self._src.is_root:
            raise BusyError("the root cannot be moved", path=str(self._src))
        if self.path.is_below(self._src):
            self._refuse_directory_into_itself()
        try:
            return retried(lambda: self._make_once(job), self.release, self.path)
        except OSError as error:
            if error.errno != errno.EXDEV or isinstance(error, MoorageError):
                raise
        self._across = Across(self.disk, self._src, self.path, self._options)
        raise Longer

    def _refuse_directory_into_itself(self) -> None:
        with self._source() as source:
            st = source.lstat()
            if st is not None and posix.S_ISDIR(st.st_mode):
                raise InvalidArgumentError("cannot be moved into itself", path=str(self.path))

    def _source(self) -> Place:
        with failures_at(self._src):
            return found(self.disk.root, self._src, follow=False)[0]

    def _make_once(self, job: Job[Any]) -> Stat:
        source = self._source()
        with source:
            if self._src == self.path:
                return self._stat(source)
            target = destination(self.disk, self.path, self._options, follow=False)
            with target:
                with DirectoryLock(source.dir, target.dir) as lock:
                    same_entry = lock.is_one and source.name == target.name
                    moved = self._stat(source) if same_entry else self._rename(source, target, job, one=lock.is_one)
                self.disk.sync(target.dir)
                self.disk.sync(source.dir)
                return moved

    def _rename(self, source: Place, target: Place, job: Job[Any], *, one: bool) -> Stat:
        moving, present = source.lstat(), target.lstat()
        if moving is None:
            raise PathNotFoundError("no such file or directory", path=str(self._src))
        if same_object(moving, present) and not posix.S_ISDIR(moving.st_mode):
            return self._same(source, target, moving, job, one=one)
        if is_link(moving) and present is not None and leads_onto(self.disk, self._src, present):
            return self._stat(target)
        if posix.S_ISDIR(moving.st_mode):
            self._rename_directory(source, target, present, job)
        else:
            self._rename_file(source, target, present, job)
            self._move_time_forward(target, moving, present)
        return self._stat(target)

    def _same(self, source: Place, target: Place, st: os.stat_result, job: Job[Any], *, one: bool) -> Stat:
        """Two names of one file: the source's goes. On a disk that ignores case they may be one name: rename it."""
        check_entry_destination(self.disk, self.path, self._options, st)
        job.commit()
        if st.st_nlink > 1 and not (one and _folded(source.name) == _folded(target.name)):
            os.unlink(source.name, dir_fd=source.dir)
        else:
            os.rename(source.name, target.name, src_dir_fd=source.dir, dst_dir_fd=target.dir)
        return self._stat(target)

    def _rename_directory(self, source: Place, target: Place, present: os.stat_result | None, job: Job[Any]) -> None:
        if present is not None:
            raise UnsupportedError("the directory's new place is not free", path=str(self._src))
        check_entry_destination(self.disk, self.path, self._options, None)
        job.commit()
        try:
            self._rename_if_free(source, target)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise UnsupportedError("not on one file system", path=str(self._src)) from None
            if error.errno == errno.EEXIST:
                raise UnsupportedError("the directory's new place is not free", path=str(self._src)) from None
            raise

    def _rename_file(self, source: Place, target: Place, present: os.stat_result | None, job: Job[Any]) -> None:
        check_entry_destination(self.disk, self.path, self._options, present)
        job.commit()
        try:
            if self._options.overwrite:
                os.rename(source.name, target.name, src_dir_fd=source.dir, dst_dir_fd=target.dir)
            else:
                self._rename_if_free(source, target)
        except OSError as error:
            if error.errno == errno.EISDIR:
                raise PathIsDirectoryError("is a directory", path=str(self.path)) from None
            raise

    @staticmethod
    def _move_time_forward(target: Place, moved: os.stat_result, replaced: os.stat_result | None) -> None:
        if replaced is not None and later_than(replaced.st_mtime_ns) > moved.st_mtime_ns:
            now = max(time.time_ns(), later_than(replaced.st_mtime_ns))
            with suppress(PermissionError):  # somebody else's: renaming it was allowed, its time is not ours to set
                os.utime(target.name, ns=(now, now), dir_fd=target.dir, follow_symlinks=False)

    @staticmethod
    def _rename_if_free(source: Place, target: Place) -> None:
        """Both directories are locked: without the system call, what is free now stays free for all who lock."""
        if not rename_if_free(source.dir, source.name, target.dir, target.name):
            if target.lstat() is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            os.rename(source.name, target.name, src_dir_fd=source.dir, dst_dir_fd=target.dir)

    def _stat(self, place: Place) -> Stat:
        st = os.stat(place.name, dir_fd=place.dir, follow_symlinks=False)
        return stat_from(st, self.disk.root.link_target(self.path, place) if is_link(st) else None)

    def release(self) -> None:
        if self._across is not None:
            self._across.release()


class Across(Change[Stat]):
    """Move one file or link between two file systems beneath this root: copy it, then delete what was copied.

    Raises:
        StaleFileError: the source changed meanwhile; both stay.
    """

    def __init__(self, disk: Disk, src: StoragePath, dst: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, dst)
        self._src = src
        self._copy = Copy(disk, src, dst, replace(options, follow_links=False))
        self._arrived: Stat | None = None

    def make(self, job: Job[Any]) -> Stat:
        if self._arrived is None:
            self._arrived = self._copy.make(job)
            self._copy.release()
        copied = self._copy.copied
        if copied is not None:
            expected = DeleteOptions(expected_version=version_of(copied))
            Delete(self.disk, self._src, expected).make(job)
        return self._arrived

    def release(self) -> None:
        self._copy.release()


def _folded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape").casefold()
