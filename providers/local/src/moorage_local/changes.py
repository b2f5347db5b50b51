"""How every change runs: prepared without a lock, checked and made under it, undone when it does not come about."""

from __future__ import annotations

import os
import stat as posix
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from moorage import (
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
from moorage_local.workers import Job, Withdrawn

T = TypeVar("T")


class Disk:
    """What the changes of one provider share."""

    def __init__(self, root: Root, *, durable: bool) -> None:
        self.root = root
        self.durable = durable
        self.sweeper = Sweeper()

    def followed_stat(self, path: StoragePath) -> os.stat_result | None:
        """What the link at ``path`` leads to; ``None`` when that cannot be said."""
        try:
            place = self.root.followed(path)
        except OSError:
            return None
        with place:
            return place.lstat()

    def sync(self, directory: int) -> None:
        if self.durable:
            os.fsync(directory)


class Change(ABC, Generic[T]):
    """One change, attempted on a worker until its lock is free. At most one thread is in it at a time."""

    def __init__(self, disk: Disk, path: StoragePath) -> None:
        self.disk = disk
        self.path = path
        self._turn = threading.Lock()
        self._over = False

    @property
    def is_over(self) -> bool:
        """Made or undone: nothing is left to undo."""
        return self._over

    def attempt(self, job: Job[T]) -> T:
        """Make the change.

        Raises:
            Contended: nothing happened yet; what was prepared is kept for the next attempt.
        """
        with self._turn:
            if self._over:
                raise Withdrawn
            try:
                result = self.make(job)
            except Contended:
                raise
            except BaseException:
                self._end()
                raise
            self._end()
            return result

    def abandon(self, job: Job[None]) -> None:
        """Undo what was prepared, unless the change is made already."""
        with self._turn:
            self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
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
    here = place(path)
    try:
        here.look()
        if not is_link(here.seen):
            return here
    except BaseException:
        here.close()
        raise
    here.close()
    end = followed(path)
    end.link = here.seen
    try:
        end.look()
    except BaseException:
        end.close()
        raise
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
    path: StoragePath, options: WriteOptions, present: os.stat_result | None, *links: os.stat_result | None
) -> None:
    """Every refusal of ``write`` that depends on what is there. ``links``: a link that leads there."""
    if present is not None and posix.S_ISDIR(present.st_mode):
        raise PathIsDirectoryError("is a directory", path=str(path))
    check_expectation(path, options, *links, present)
    if not options.overwrite and (present is not None or any(link is not None for link in links)):
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
