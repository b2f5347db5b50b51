"""Making directories, and naming what is at a path."""

from __future__ import annotations

import os
import stat as posix
from typing import Any

from moorage import MakeDirOptions, PathExistsError, StoragePath, WriteOptions
from moorage_local.changes import Disk, destination
from moorage_local.containment import Place, Root, is_link
from moorage_local.workers import Job


def make_dir(disk: Disk, path: StoragePath, options: MakeDirOptions, job: Job[Any]) -> None:
    """Make ``path``; a link to a directory counts as one."""
    place = destination(disk, path, WriteOptions(create_parents=options.parents), follow=False)
    with place:
        if not place.is_here and _made(disk, place, job):
            return
        st = place.lstat()
    if is_link(st):
        st = disk.followed_stat(path)
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


def identity(root: Root, path: StoragePath) -> str:
    """Device and inode of the nearest directory, and the names below it: the same from every root that shows it."""
    rest: list[bytes] = []
    place = _followed(root, path, rest)
    with place:
        st = place.lstat()
        if st is not None and posix.S_ISDIR(st.st_mode):
            name = b""
        else:
            name = place.name
            st = os.fstat(place.dir)
    below = b"/".join([part for part in (name, *reversed(rest)) if part])
    return f"local:{st.st_dev:x}:{st.st_ino:x}:{below.decode('utf-8', 'backslashreplace')}"


def _followed(root: Root, path: StoragePath, rest: list[bytes]) -> Place:
    """Where the nearest ancestor that can be reached leads; ``rest`` takes the names that are left, last first."""
    while True:
        try:
            return root.followed(path)
        except (FileNotFoundError, NotADirectoryError):
            if path.is_root:
                raise
            rest.append(path.name.encode())
            path = path.parent
