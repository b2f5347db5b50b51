"""How every change runs: prepared without a lock, checked and made under it, undone when it does not come about."""

from __future__ import annotations

import errno
import os
import stat as posix
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from moorage import (
    ConflictError,
    DeleteOptions,
    MoorageError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
    WriteOptions,
)
from moorage_local.containment import Place, Root, is_link
from moorage_local.failures import failures_at
from moorage_local.locks import Contended
from moorage_local.stats import check_expectation
from moorage_local.temporaries import Sweeper
from moorage_local.workers import DECIDED, Job, Withdrawn

T = TypeVar("T")

_RETRIES: Final = 16
_WAIT_PREPARED: Final = 32
"""How many changes of one provider may keep their handles while they wait for a lock."""


class Disk:
    """What the changes of one provider share."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.sweeper = Sweeper()
        self._seats = deque(range(_WAIT_PREPARED))  # no lock in it that a forked child could inherit taken

    def followed_stat(self, path: StoragePath) -> os.stat_result | None:
        """What the link at ``path`` leads to; ``None`` when that cannot be said."""
        try:
            place = self.root.followed(path)
        except OSError:
            return None
        with place:
            return place.lstat()

    def take_seat(self) -> bool:
        """Whether one more change may keep what it prepared while it waits."""
        try:
            self._seats.pop()
        except IndexError:
            return False
        return True

    def leave_seat(self) -> None:
        self._seats.append(0)

    def sync(self, directory: int) -> None:
        if self.root.durable:
            os.fsync(directory)


class Change(ABC, Generic[T]):
    """One change, attempted on a worker until its lock is free. At most one thread is in it at a time."""

    def __init__(self, disk: Disk, path: StoragePath) -> None:
        self.disk = disk
        self.path = path
        self._turn = threading.Lock()
        self._over = False
        self._seated = False
        self.contended = False
        """Whether it met a lock once: then it looks for the lock before it prepares anything anew."""
        self.inline = False
        """Whether it is attempted in the event loop, where nothing may wait."""

    @property
    def is_over(self) -> bool:
        """Made or undone: nothing is left to undo."""
        return self._over

    @property
    def is_prepared(self) -> bool:
        """Of a change that waits: whether it keeps what it prepared. Few may; the others begin anew each time."""
        return self._seated

    def attempt(self, job: Job[T]) -> T:
        """Make the change.

        Raises:
            Contended: nothing happened yet; what was prepared is kept for the next attempt, or begun anew in it.
        """
        with self._turn:
            if self._over:
                raise Withdrawn
            try:
                result = self.make(job)
            except Contended:
                self._rest()
                raise
            except BaseException:
                self._end()
                raise
            self._end()
            return result

    def attempt_inline(self) -> T | None:
        """Make the change in the event loop; ``None`` when a worker has to attempt it, for which nothing is lost."""
        self.inline = True
        try:
            return self.attempt(DECIDED)
        except Contended:
            return None
        finally:
            self.inline = False

    def _rest(self) -> None:
        self.contended = True
        self._seated = self._seated or self.disk.take_seat()
        if not self._seated:
            self.unprepare()

    def unprepare(self) -> None:
        """Give back what was prepared, so that :meth:`make` begins anew; nothing where that cannot be."""
        self.release()

    def abandon(self, job: Job[None]) -> None:
        """Undo what was prepared, unless the change is made already."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            if self._seated:
                self.disk.leave_seat()
            self.release()

    @contextmanager
    def turn(self) -> Generator[None]:
        """Prepare more of the change from a worker, never while it is being undone."""
        with self._turn:
            if self._over:
                raise Withdrawn
            yield

    @abstractmethod
    def make(self, job: Job[Any]) -> T:
        """Prepare what is not prepared yet, lock, check, ``job.commit()``, change."""

    @abstractmethod
    def release(self) -> None:
        """Close what is open and remove what was prepared and not used."""


def retried(make: Callable[[], T], undo: Callable[[], None], path: StoragePath) -> T:
    """Make it again when a directory on the way vanished or a link appeared between two steps."""
    for _ in range(_RETRIES):
        try:
            return make()
        except OSError as error:
            if isinstance(error, MoorageError) or error.errno not in (errno.ENOENT, errno.ELOOP):
                raise
            undo()
    raise ConflictError("the directory keeps changing", path=str(path))


def destination(disk: Disk, path: StoragePath, options: WriteOptions, *, follow: bool = True) -> Place:
    """Where something for ``path`` goes, missing parents made when that is allowed.

    ``follow``: a link at the end is followed, as content needs, and what is there is ``seen``; an entry that
    replaces the link itself is put beside it.
    """
    root = disk.root
    try:
        return _followed(root.place, root.followed, path) if follow else root.place(path)
    except FileNotFoundError as error:
        if isinstance(error, MoorageError):
            raise
        check_expectation(path, options, None)
        if not options.create_parents:
            raise PathNotFoundError("no such directory", path=str(path.parent)) from None
    except NotADirectoryError:
        raise _file_as_parent(root, path) from None
    try:
        return _followed(root.made, root.made_followed, path) if follow else root.made(path)
    except NotADirectoryError:
        raise _file_as_parent(root, path) from None


def _followed(
    place: Callable[[StoragePath], Place], followed: Callable[[StoragePath], Place], path: StoragePath
) -> Place:
    here = place(path).looked()
    if not is_link(here.seen):
        return here
    here.close()
    end = followed(path).looked()
    end.link = here.seen
    return end


def _file_as_parent(root: Root, path: StoragePath) -> MoorageError:
    for parent in reversed(path.parents[:-1]):
        try:
            with failures_at(parent):
                root.open_dir(parent).close()
        except PathNotDirectoryError:
            return PathNotDirectoryError("a file stands where a directory is needed", path=str(parent))
        except MoorageError:
            break
    return PathNotDirectoryError("a file stands where a directory is needed", path=str(path.parent))


def check_destination(
    path: StoragePath, options: WriteOptions, present: os.stat_result | None, link: os.stat_result | None = None
) -> None:
    """Every refusal of ``write`` that depends on what is there. ``link``: the link that leads there.

    Expected is what ``stat`` says: the content; a link that dangles stands for itself.
    """
    if present is not None and posix.S_ISDIR(present.st_mode):
        raise PathIsDirectoryError("is a directory", path=str(path))
    check_expectation(path, options, link if present is None else present)
    check_free_or_regular(path, options, present, link)


def check_free_or_regular(
    path: StoragePath, options: WriteOptions, present: os.stat_result | None, link: os.stat_result | None = None
) -> None:
    if not options.overwrite and (present is not None or link is not None):
        raise PathExistsError("already exists", path=str(path))
    if present is not None and not posix.S_ISREG(present.st_mode) and not is_link(present):
        raise NotRegularFileError("not a regular file", path=str(path))


def check_source_of_delete(
    disk: Disk, path: StoragePath, options: DeleteOptions, present: os.stat_result | None
) -> None:
    """Every refusal of ``delete`` that depends on what is there."""
    if present is not None and posix.S_ISDIR(present.st_mode):
        raise PathIsDirectoryError("is a directory; remove_dir removes it", path=str(path))
    if options.has_expectation:
        led_to = disk.followed_stat(path) if is_link(present) else None
        check_expectation(path, options, present, led_to)
    if present is None:
        raise PathNotFoundError("no such file", path=str(path))


def same_object(a: os.stat_result | None, b: os.stat_result | None) -> bool:
    return a is not None and b is not None and (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
