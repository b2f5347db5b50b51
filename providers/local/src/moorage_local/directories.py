"""Making directories."""

from __future__ import annotations

import errno
import os
import stat as posix
from typing import Any

from moorage import MakeDirOptions, PathExistsError, StoragePath, WriteOptions
from moorage_local.changes import Disk, destination, retried
from moorage_local.containment import Place, is_link
from moorage_local.workers import Job


def make_dir(disk: Disk, path: StoragePath, options: MakeDirOptions, job: Job[Any]) -> None:
    """Make ``path``; a link to a directory counts as one."""
    retried(lambda: _make_dir(disk, path, options, job), lambda: None, path)


def _make_dir(disk: Disk, path: StoragePath, options: MakeDirOptions, job: Job[Any]) -> None:
    place = destination(disk, path, WriteOptions(create_parents=options.parents), follow=False)
    with place:
        if not place.is_here and _made(disk, place, job):
            return
        st = place.lstat()
    if is_link(st):
        st = disk.followed_stat(path)
    elif st is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not options.exist_ok or st is None or not posix.S_ISDIR(st.st_mode):
        raise PathExistsError("already exists", path=str(path))


def _made(disk: Disk, place: Place, job: Job[Any]) -> bool:
    job.commit()
    try:
        os.mkdir(place.name, dir_fd=place.dir)
    except FileExistsError:
        return False
    disk.sync(place.dir)
    return True
