"""Opening a regular file to read it. What is not regular is never opened: a FIFO would block, a device would act."""

from __future__ import annotations

import errno
import os
import stat as posix
from typing import Final

from moorage import NotRegularFileError, PathIsDirectoryError, PathNotFoundError, StoragePath
from moorage_local.containment import Place, Root, is_link
from moorage_local.handles import Handle

_ATTEMPTS: Final = 16


def found(root: Root, path: StoragePath, *, follow: bool) -> tuple[Place, os.stat_result]:
    """The existing entry at ``path``; with ``follow`` the end of its links, or the last link when it dangles.

    Raises:
        PathNotFoundError: nothing is there, also when a parent is a file.
    """
    try:
        place = root.place(path).looked()
        if follow and is_link(place.seen):
            place.close()
            place = root.followed(path).looked()
    except NotADirectoryError:
        raise PathNotFoundError("no such file or directory", path=str(path)) from None
    if place.seen is None:
        place.close()
        raise PathNotFoundError("no such file or directory", path=str(path))
    return place, place.seen


def check_regular(path: StoragePath, st: os.stat_result) -> None:
    if posix.S_ISDIR(st.st_mode):
        raise PathIsDirectoryError("is a directory", path=str(path))
    if not posix.S_ISREG(st.st_mode):
        raise NotRegularFileError("not a regular file", path=str(path))


def open_regular(root: Root, path: StoragePath) -> tuple[Handle, os.stat_result]:
    """An open file and its stat, links followed."""
    for _ in range(_ATTEMPTS):
        place, st = found(root, path, follow=True)
        with place:
            if is_link(st):
                continue
            check_regular(path, st)
            try:
                handle = place.open_file()
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ELOOP):
                    raise
                continue
        st = os.fstat(handle.fd)
        try:
            check_regular(path, st)
        except BaseException:
            handle.close()
            raise
        return handle, st
    raise PathNotFoundError("no such file or directory", path=str(path))


def stat_path(root: Root, path: StoragePath) -> tuple[os.stat_result, str | None]:
    """The stat of what ``path`` leads to; of a dangling link, the link's own and its target."""
    try:
        place, st = found(root, path, follow=True)
        with place:
            return st, None
    except PathNotFoundError:
        pass
    except FileNotFoundError:  # a parent is missing, perhaps that of a dangling link's target
        pass
    place, st = found(root, path, follow=False)
    with place:
        return st, root.link_target(path, place) if is_link(st) else None
