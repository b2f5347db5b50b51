"""The lock that every change holds around its last check and its rename: ``flock`` on the parent directory's handle.

It works between processes, is gone with the process, and leaves nothing behind. Within the process a short lock comes
first, so that threads do not poll. Nothing here waits long: what is contended is reported, and the waiting is done in
the event loop, where it costs no thread and can be cancelled.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from types import TracebackType
from typing import Final, Self

_STRIPES: Final = 64
_TURN: Final = 0.005  # seconds that a thread waits for another's last check and rename


class Contended(Exception):  # noqa: N818 - no failure: try again later
    """Somebody else is changing this directory right now."""


class Longer(Contended):
    """No lock is in the way: this turned out to be long work, and is to be attempted again as such."""


class _Stripes:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._locks = [threading.Lock() for _ in range(_STRIPES)]

    def of_one(self, st: os.stat_result) -> threading.Lock:
        return self._locks[hash(_identity(st)) % _STRIPES]

    def of(self, keys: list[tuple[int, int]]) -> list[threading.Lock]:
        return [self._locks[stripe] for stripe in sorted({hash(key) % _STRIPES for key in keys})]


def _identity(st: os.stat_result) -> tuple[int, int]:
    return st.st_dev, st.st_ino


_stripes: Final = _Stripes()
os.register_at_fork(after_in_child=_stripes.reset)


class DirectoryLock:
    """``with DirectoryLock(a, b):`` holds one or two directories, in the order of device and inode.

    Args:
        patient: whether the calling thread may wait for another thread's last check and rename.

    Raises:
        Contended: another thread or process holds one of them.
    """

    __slots__ = ("_flocked", "_handles", "_stripes", "_turn", "stats")

    def __init__(self, *handles: int, patient: bool = True) -> None:
        self._turn = _TURN if patient else 0
        self.stats = [os.fstat(handle) for handle in handles]
        """The stat of each directory, as given."""
        if len(handles) == 1:
            self._handles = list(handles)
            self._stripes = [_stripes.of_one(self.stats[0])]
        else:
            by_identity = {_identity(st): handle for st, handle in zip(self.stats, handles, strict=True)}
            keys = sorted(by_identity)
            self._handles = [by_identity[key] for key in keys]
            self._stripes = _stripes.of(keys)
        self._flocked: list[int] = []

    @property
    def is_one(self) -> bool:
        """Whether all handles given lead to one directory."""
        return len(self._handles) == 1

    def __enter__(self) -> Self:
        held: list[threading.Lock] = []
        try:
            for stripe in self._stripes:
                if not stripe.acquire(timeout=self._turn):
                    raise Contended
                held.append(stripe)
            for handle in self._handles:
                self._flock(handle)
        except BaseException:
            self._unflock()
            for stripe in held:
                stripe.release()
            raise
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._unflock()
        for stripe in self._stripes:
            stripe.release()

    def _flock(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
                raise Contended from None
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF):
                raise
        else:
            self._flocked.append(handle)

    def _unflock(self) -> None:
        """Explicitly: closing would not release a lock that a forked child's copy of the handle still holds."""
        while self._flocked:
            fcntl.flock(self._flocked.pop(), fcntl.LOCK_UN)
