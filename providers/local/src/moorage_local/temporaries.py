"""Temporaries beside their target, and what killed processes leave of them.

A temporary has a reserved random name, and its writer holds a lock on it. One that is old and not locked is a leftover:
swept from a directory when that is next written to, or from the whole tree by :func:`sweep_tree`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat as posix
import threading
import time
from collections import OrderedDict
from typing import Final

from moorage_local.containment import RESERVED
from moorage_local.handles import Handle
from moorage_local.kernel import OPEN_DIR, OPEN_FILE

OLD: Final = 3600.0
"""Seconds after which an abandoned temporary may be swept."""

KEPT_MODE: Final = 0o1777
"""Of a replaced file: not set-user-ID and set-group-ID, which a write takes away."""

_PREFIX: Final = RESERVED.encode()
_SWEEP_EVERY: Final = 0.1  # seconds, and more for a large directory, so that looking through it stays a small cost
_SWEEP_EVERY_BYTE: Final = 25e-6  # of its size as stat tells
_REMEMBERED: Final = 4096
_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS: Final = 16


def is_reserved(name: str | bytes) -> bool:
    return name.startswith(RESERVED) if isinstance(name, str) else name.startswith(_PREFIX)


def temporary_name() -> bytes:
    return b"%s%s" % (_PREFIX, os.urandom(8).hex().encode())


class Temporary:
    """A file that is not there yet: written under a reserved name, then renamed or discarded."""

    __slots__ = ("_directory", "_handle", "name")

    def __init__(self, directory: int, mode: int) -> None:
        """``directory`` stays the caller's and must stay open until the end."""
        self._directory = directory
        self.name, fd = _create(directory, mode)
        self._handle = Handle(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a file system without locks: age alone has to tell
            return

    @property
    def fd(self) -> int:
        return self._handle.fd

    def dress(self, replaced: os.stat_result | None, mode: int | None) -> None:
        """Give it owner, mode and time: those of the file that it replaces where there is one."""
        fd = self._handle.fd
        now = time.time_ns()
        if replaced is not None:
            mine = os.fstat(fd)
            if (mine.st_uid, mine.st_gid) != (replaced.st_uid, replaced.st_gid):
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, replaced.st_uid, replaced.st_gid)
            mode = replaced.st_mode & KEPT_MODE
            if posix.S_IMODE(mine.st_mode) == mode:
                mode = None
            now = max(now, (replaced.st_mtime_ns // 1_000 + 1) * 1_000)
        if mode is not None:
            os.fchmod(fd, mode)
        os.utime(fd, ns=(now, now))

    def close(self) -> None:
        """After the rename: it is no temporary any more."""
        self._handle.close()

    def discard(self) -> None:
        """Remove it; what it was to replace is as it was."""
        if self._handle.fd >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self.name, dir_fd=self._directory)
            self._handle.close()


def write_all(fd: int, data: bytes | memoryview) -> None:
    written = os.write(fd, data)
    if written < len(data):
        view = memoryview(data)
        while written < len(data):
            written += os.write(fd, view[written:])


def _create(directory: int, mode: int) -> tuple[bytes, int]:
    for _ in range(_ATTEMPTS):
        name = temporary_name()
        try:
            return name, os.open(name, _CREATE, mode, dir_fd=directory)
        except FileExistsError:
            continue
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


class Sweeper:
    """Sweeps a directory when it is written to, but not more often than its size allows."""

    def __init__(self) -> None:
        self._next: OrderedDict[tuple[int, int], float] = OrderedDict()
        self._lock = threading.Lock()

    def after_write(self, directory: int, st: os.stat_result) -> None:
        if self._take_turn(st):
            with contextlib.suppress(OSError):
                sweep_directory(directory, OLD)

    def is_due(self, st: os.stat_result) -> bool:
        """Whether a write to this directory would sweep it."""
        return self._next.get((st.st_dev, st.st_ino), 0.0) <= time.monotonic()

    def _take_turn(self, st: os.stat_result) -> bool:
        key = (st.st_dev, st.st_ino)
        now = time.monotonic()
        with self._lock:
            if self._next.get(key, 0.0) > now:
                return False
            self._next[key] = now + max(_SWEEP_EVERY, st.st_size * _SWEEP_EVERY_BYTE)
            self._next.move_to_end(key)
            if len(self._next) > _REMEMBERED:
                self._next.popitem(last=False)
            return True


def sweep_directory(directory: int, older_than: float) -> int:
    """Remove the leftovers of one directory; how many there were."""
    with Handle(os.open(b".", OPEN_DIR, dir_fd=directory)) as own:
        leftovers = [os.fsencode(name) for name in os.listdir(own.fd) if is_reserved(name)]
    return sum(_sweep_one(directory, name, older_than) for name in leftovers)


def _sweep_one(directory: int, name: bytes, older_than: float) -> bool:
    try:
        st = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if time.time() - max(st.st_mtime, 0.0) < older_than or posix.S_ISDIR(st.st_mode):
            return False
        if posix.S_ISREG(st.st_mode):
            with Handle(os.open(name, OPEN_FILE, dir_fd=directory)) as handle:
                fcntl.flock(handle.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)
    except OSError:  # in use, gone, or not ours to remove
        return False
    return True
