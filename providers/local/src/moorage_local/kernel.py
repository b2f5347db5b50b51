"""Linux calls that Python does not wrap, and what can be done without them.

Everything here answers ``None`` or raises ``OSError`` where the kernel, the C library or a sandbox's system call filter
lacks the call; callers have a second road.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)
"""Opens a name without opening what is behind it."""

ENTER: Final = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OPEN_DIR: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

RESOLVE_NO_XDEV: Final = 0x01
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_BENEATH: Final = 0x08
RESOLVE_CACHED: Final = 0x20

BENEATH: Final = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
BENEATH_CACHED: Final = BENEATH | RESOLVE_NO_XDEV | RESOLVE_CACHED

_OPENAT2: Final = 437  # the same on every architecture that Linux gained since 2019's unification, and on x86 and ARM
_RENAME_NOREPLACE: Final = 1

REMOTE: Final = frozenset(
    {
        0x6969,  # NFS
        0x517B,  # SMB
        0xFF534D42,  # CIFS
        0xFE534D42,  # SMB2
        0x65735546,  # FUSE
        0x01021997,  # 9P
        0x00C36400,  # Ceph
        0x5346414F,  # AFS
        0x73757245,  # Coda
        0x0BD00BD0,  # Lustre
        0x7461636F,  # OCFS2
        0x01161970,  # GFS2
        0x47504653,  # GPFS
        0x786F4256,  # VirtualBox shared folders
        0xBACBACBC,  # VMware shared folders
    }
)
"""``f_type`` of file systems behind a network or another process."""

IN_MEMORY: Final = frozenset({0x01021994, 0x858458F6})
"""``f_type`` of tmpfs and ramfs, where no read waits for a disk."""


class _OpenHow(ctypes.Structure):
    """``struct open_how`` of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


OpenHow = Any
"""A reference to the C structure: made once per kind of open, never changed."""

SIZE_OF_HOW: Final = ctypes.sizeof(_OpenHow)


def how(flags: int, resolve: int) -> OpenHow:
    return ctypes.byref(_OpenHow(flags, 0, resolve))


last_error: Final = ctypes.get_errno
"""Why the last call of this thread answered -1."""

_Open = Callable[[int, bytes, OpenHow, int], int]
"""Directory, name, how, the size of that: the descriptor, or -1."""


def _load(kind: type[ctypes.CDLL]) -> Any:
    return kind(None, use_errno=True)


def _bind_openat2(library: Any) -> _Open | None:
    """``openat2`` through one way of calling C; ``None`` where there is no such call."""
    if not sys.platform.startswith("linux"):
        return None
    call = library.syscall
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
    call.restype = ctypes.c_long
    return partial(call, _OPENAT2)


_MISSING: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})


def openat2_works(open_: _Open | None, directory: int, resolve: int) -> bool:
    """Whether this kernel knows the call with these flags, and no filter refuses it."""
    if open_ is None:
        return False
    handle = open_(directory, b".", how(ENTER, resolve), SIZE_OF_HOW)
    if handle < 0:
        return last_error() not in _MISSING
    os.close(handle)
    return True


openat2: Final = _bind_openat2(_load(ctypes.CDLL))
"""For a worker thread: other threads run while it waits for a disk."""

openat2_inline: Final = _bind_openat2(_load(ctypes.PyDLL))
"""For the event loop's own thread, with ``RESOLVE_CACHED`` or within a file system in memory only: it
cannot wait, so no other thread gets a turn.
"""


def _bind_renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    call: Any = getattr(_load(ctypes.CDLL), "renameat2", None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call.restype = ctypes.c_int
    bound: Callable[[int, bytes, int, bytes, int], int] = call
    return bound


_renameat2: Final = _bind_renameat2()


def rename_if_free(source_dir: int, source: bytes, target_dir: int, target: bytes) -> bool:
    """Rename unless something is at ``target`` (``FileExistsError``), in one step; False where that cannot be done."""
    if _renameat2 is None:
        return False
    if _renameat2(source_dir, source, target_dir, target, _RENAME_NOREPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code))


def file_system(handle: int) -> int:
    """``f_type`` of the file system of ``handle`` (statfs(2)); 0 where unknown."""
    call: Any = getattr(_load(ctypes.CDLL), "fstatfs", None) if sys.platform.startswith("linux") else None
    answer = ctypes.create_string_buffer(256)
    if call is None or call(ctypes.c_int(handle), answer) != 0:
        return 0
    return ctypes.c_long.from_buffer(answer).value & 0xFFFFFFFF
