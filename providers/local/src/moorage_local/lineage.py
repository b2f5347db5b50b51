"""Which stored object a path is, and which directories hold it, also above the root."""

from __future__ import annotations

import os
import stat as posix
from typing import Final

from moorage import StoragePath
from moorage_local.containment import Place, Root
from moorage_local.handles import Handle
from moorage_local.kernel import ENTER

_DEEPEST: Final = 1 << 16


def lineage(root: Root, path: StoragePath) -> tuple[str, ...]:
    """Device and inode of the nearest directory with the names below it, then the directories above, up to the top.

    Nothing but numbers tells what lies above; a directory that this process may not pass ends the list.
    """
    names: list[bytes] = []
    with _nearest(root, path, names) as at:
        first, *above = _upwards(at)
    below = [first]
    for name in reversed(names):
        below.append(f"{below[-1]}/{name.decode('utf-8', 'backslashreplace')}")
    return (*reversed(below), *above)


def _nearest(root: Root, path: StoragePath, names: list[bytes]) -> Handle:
    """The nearest directory to where ``path`` leads; ``names`` takes what is below it, last first."""
    with _followed(root, path, names) as place:
        st = place.lstat()
        if st is not None and posix.S_ISDIR(st.st_mode):
            return Handle(os.open(place.name, ENTER, dir_fd=place.dir))
        names.append(place.name)
        return Handle(os.open(b".", ENTER, dir_fd=place.dir))


def _followed(root: Root, path: StoragePath, names: list[bytes]) -> Place:
    while True:
        try:
            return root.followed(path)
        except (FileNotFoundError, NotADirectoryError):
            if path.is_root:
                raise
            names.append(path.name.encode())
            path = path.parent


def _upwards(at: Handle) -> list[str]:
    found: list[tuple[int, int]] = []
    for _ in range(_DEEPEST):
        st = os.fstat(at.fd)
        if found and found[-1] == (st.st_dev, st.st_ino):
            break
        found.append((st.st_dev, st.st_ino))
        try:
            above = Handle(os.open(b"..", ENTER, dir_fd=at.fd))
        except OSError:
            break
        at.close()
        at = above
    at.close()
    return [f"local:{device:x}:{inode:x}:" for device, inode in found]
