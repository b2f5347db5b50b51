"""Writes and appends."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from moorage import UNSET, ConflictError, MoorageError, PathExistsError, Stat, StoragePath, WriteOptions
from moorage_local.changes import Change, Disk, check_destination, destination, retried, same_object
from moorage_local.containment import Place, is_link
from moorage_local.handles import Handle
from moorage_local.kernel import rename_if_free
from moorage_local.locks import DirectoryLock, Longer
from moorage_local.sources import BytesSource, FileSource, Source
from moorage_local.stats import later_than, stat_from
from moorage_local.temporaries import KEPT_MODE, Temporary
from moorage_local.workers import Job

_NEW_FILE: Final = 0o666
_PRIVATE: Final = 0o600
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def place_without_overwriting(directory: int, name: bytes, final: bytes) -> None:
    """Rename within one directory; FileExistsError when something is at ``final``."""
    if not rename_if_free(directory, name, directory, final):
        os.link(name, final, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        os.unlink(name, dir_fd=directory)


class Replace(Change[Stat]):
    """Put new content in the place of a file, or make the file."""

    def __init__(
        self, disk: Disk, path: StoragePath, options: WriteOptions, source: Source, *, mode: int = _NEW_FILE
    ) -> None:
        super().__init__(disk, path)
        self.options = options
        self._source = source
        self._mode = mode
        self._place: Place | None = None
        self._temporary: Temporary | None = None
        self._present: os.stat_result | None = None
        self._link: os.stat_result | None = None
        self._dressed = False

    def write_at(self, place: Place) -> Stat | None:
        """Attempt it in the event loop, at a place where nothing waits for a disk; ``None``: a worker goes on."""
        self._place = place
        return self.attempt_inline()

    def make(self, job: Job[Any]) -> Stat:
        if not self.inline:
            return retried(lambda: self._make_once(job), self.release, self.path)
        try:
            return self._make_once(job)
        except OSError as error:
            if isinstance(error, MoorageError):
                raise
            self.release()
            raise Longer from None

    def _make_once(self, job: Job[Any]) -> Stat:
        if self._temporary is None:
            self.open()
            self.pour(self._source, job)
        return self._put(job)

    def open(self) -> None:
        """Find the place, refuse what can be refused now, and start a temporary there."""
        place = self._place if self.inline else None
        if place is None:
            place = self._place = destination(self.disk, self.path, self.options)
        present = self._present = place.seen
        self._link = self.link_to(place)
        if is_link(present):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.check(place, present)
        if self.contended:
            with DirectoryLock(place.dir):
                pass
        self._temporary = Temporary(place.dir, self._mode if present is None else present.st_mode & KEPT_MODE)
        self._dressed = False

    def check(self, place: Place, present: os.stat_result | None) -> None:
        check_destination(self.path, self.options, present, self._link)

    def pour(self, source: Source, job: Job[Any]) -> None:
        temporary = self._temporary
        if temporary is not None:
            source.pour(temporary.fd, job)

    def link_to(self, place: Place) -> os.stat_result | None:
        """The link that the path itself is: something is there then, even when it dangles."""
        return place.link

    def _put(self, job: Job[Any]) -> Stat:
        place, temporary = self._place, self._temporary
        if place is None or temporary is None:
            raise RuntimeError("not open")
        if not self._dressed:
            temporary.dress(self._present, self.options.mode)
            self._dressed = True
            self.disk.sync(temporary.fd)
        with DirectoryLock(place.dir, patient=not self.inline) as lock:
            present = place.lstat()
            if is_link(present):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            self.check(place, present)
            if _garb(present) != _garb(self._present):
                temporary.dress(present, self.options.mode)
            if self.inline and self.disk.sweeper.is_due(lock.stats[0]):
                raise Longer
            job.commit()
            if self.options.overwrite:
                os.rename(temporary.name, place.name, src_dir_fd=place.dir, dst_dir_fd=place.dir)
            else:
                place_without_overwriting(place.dir, temporary.name, place.name)
            written = os.fstat(temporary.fd)
            temporary.close()
        self.disk.sync(place.dir)
        if not self.inline:
            self.disk.sweeper.after_write(place.dir, lock.stats[0])
        return stat_from(written)

    def release(self) -> None:
        if self._temporary is not None:
            self._temporary.discard()
            self._temporary = None
        if self._place is not None:
            self._place.close()
            self._place = None


def _garb(st: os.stat_result | None) -> tuple[int, int, int, int] | None:
    """What the new file takes over; two stats as such compare equal within one second."""
    return None if st is None else (st.st_mtime_ns, st.st_mode, st.st_uid, st.st_gid)


class ReplaceByStream(Replace):
    """As ``Replace``, its content arriving in pieces that can be had once only."""

    def __init__(self, disk: Disk, path: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, path, options, BytesSource(b""))

    def begin(self, job: Job[None]) -> None:
        with self.turn():
            retried(self._begin_once, self.release, self.path)

    def _begin_once(self) -> Stat:
        self.open()
        return stat_from(os.fstat(self._temporary.fd if self._temporary else -1))

    def add(self, source: Source, job: Job[None]) -> None:
        with self.turn():
            self.pour(source, job)

    def unprepare(self) -> None:
        """What arrived cannot be had again."""

    def make(self, job: Job[Any]) -> Stat:
        try:
            return self._put(job)
        except OSError as error:
            if isinstance(error, MoorageError) or error.errno not in (errno.ENOENT, errno.ELOOP):
                raise
            raise ConflictError("the directory was changed meanwhile", path=str(self.path)) from None


class _Create(Replace):
    """Make a file that must not be there yet, also at the end of a dangling link."""

    def link_to(self, place: Place) -> os.stat_result | None:
        return None


class Append(Change[Stat]):
    """Add to the end of a file in place, under the lock; a missing file is made in one step."""

    def __init__(self, disk: Disk, path: StoragePath, options: WriteOptions, source: Source) -> None:
        super().__init__(disk, path)
        self.options = options
        self._source = source
        self._new: _Create | None = None

    def make(self, job: Job[Any]) -> Stat:
        return retried(lambda: self._make_once(job), self.release, self.path)

    def _make_once(self, job: Job[Any]) -> Stat:
        if self._new is None:
            place = destination(self.disk, self.path, self.options)
            with place:
                if place.seen is not None:
                    return self._extend(place, job)
            check_destination(self.path, self.options, None, place.link)
            new = replace(self.options, overwrite=False, expected_mtime=UNSET, expected_version=UNSET)
            self._new = _Create(self.disk, self.path, new, self._source)
            self._new.contended = self.contended
        try:
            return self._new.make(job)
        except PathExistsError:  # somebody else made it meanwhile
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT)) from None

    def _extend(self, place: Place, job: Job[Any]) -> Stat:
        with DirectoryLock(place.dir):
            present = place.lstat()
            if is_link(present):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            check_destination(self.path, self.options, present)
            with Handle(os.open(place.name, _APPEND, dir_fd=place.dir)) as file:
                before = os.fstat(file.fd)
                if not same_object(before, present):
                    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
                self._add(file.fd, before, job)
                return stat_from(os.fstat(file.fd))

    def _add(self, fd: int, before: os.stat_result, job: Job[Any]) -> None:
        try:
            self._source.pour(fd, job)
            self.disk.sync(fd)
            job.commit()
        except BaseException:
            os.ftruncate(fd, before.st_size)
            raise
        now = max(time.time_ns(), later_than(before.st_mtime_ns))
        with suppress(PermissionError):  # writable, but somebody else's: the write itself has set the time
            os.utime(fd, ns=(now, now))

    def release(self) -> None:
        if self._new is not None:
            self._new.release()
            self._new = None


class AppendByStream(Append):
    """As ``Append``, its content first gathered in a nameless file beside the target: no lock is held meanwhile."""

    def __init__(self, disk: Disk, path: StoragePath, options: WriteOptions) -> None:
        super().__init__(disk, path, options, BytesSource(b""))
        self._gathered: Handle | None = None

    def begin(self, job: Job[None]) -> None:
        with self.turn():
            self._gathered = retried(self._nameless, self.release, self.path)

    def _nameless(self) -> Handle:
        with destination(self.disk, self.path, self.options) as place:
            check_destination(self.path, self.options, place.seen, place.link)
            temporary = Temporary(place.dir, _PRIVATE)
            try:
                return Handle(os.dup(temporary.fd))
            finally:
                temporary.discard()

    def add(self, source: Source, job: Job[None]) -> None:
        with self.turn():
            if self._gathered is not None:
                source.pour(self._gathered.fd, job)

    def make(self, job: Job[Any]) -> Stat:
        if self._gathered is not None:  # poured under the lock: others wait, no longer than their lock_timeout
            self._source = FileSource(self._gathered, os.fstat(self._gathered.fd).st_size, offload=True)
        return super().make(job)

    def _end(self) -> None:
        super()._end()
        if self._gathered is not None:
            self._gathered.close()
