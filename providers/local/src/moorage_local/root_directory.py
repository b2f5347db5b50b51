"""Opening the directory that becomes the root, and what its file system can do."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from moorage import PathNotDirectoryError, StoragePath
from moorage_local.containment import Root
from moorage_local.failures import mapped
from moorage_local.handles import Handle
from moorage_local.kernel import OPEN_DIR, REMOTE, file_system

_NAMES_PROBED: Final = 64
_TOP: Final = StoragePath("/")


@dataclass(frozen=True, slots=True)
class RootDirectory:
    """An open root.

    Attributes:
        real: its host path when it was opened, links resolved.
        conditional_write: ``guarded`` where other machines may change files without this one's locks.
    """

    root: Root
    real: str
    conditional_write: Literal["atomic", "guarded"]
    case_sensitive: bool


def open_root(base: str, *, durable: bool) -> RootDirectory:
    """Open ``base``; a missing one is made."""
    handle, real = _open_base(base)
    return _described(handle, real, base, durable=durable)


def open_below(above: RootDirectory, base: str, prefix: StoragePath, *, make: bool = False) -> RootDirectory:
    """Open the directory ``prefix`` confined beneath ``above``, which was opened as ``base``.

    Raises:
        FileNotFoundError: it is missing, and is not to be made.
    """
    if make:
        above.root.made_dir(prefix)
    handle = above.root.open_dir(prefix)
    real = _path_of(handle, above.real + str(prefix))
    return _described(handle, real, base + str(prefix), durable=above.root.durable)


def _described(handle: Handle, real: str, alias: str, *, durable: bool) -> RootDirectory:
    root = Root(handle, os.fsencode(real), os.fsencode(alias), durable=durable)
    guarded = file_system(handle.fd) in REMOTE
    return RootDirectory(root, real, "guarded" if guarded else "atomic", _is_case_sensitive(handle, real))


def _open_base(base: str) -> tuple[Handle, str]:
    try:
        os.makedirs(base, exist_ok=True)
        real = os.path.realpath(base)
        return Handle(os.open(real, OPEN_DIR)), real
    except (FileExistsError, NotADirectoryError):
        raise PathNotDirectoryError("the base path is not a directory", path=str(_TOP)) from None
    except OSError as error:
        ours = mapped(error, _TOP)
        ours.message = f"the base directory cannot be opened: {ours.message}"
        raise ours from ours.__cause__


def _path_of(handle: Handle, guess: str) -> str:
    """The host path of an open directory, where the system tells; else ``guess``."""
    try:
        told = os.readlink(f"/proc/self/fd/{handle.fd}")
    except OSError:
        return guess
    return told if told.startswith("/") else guess


def _is_case_sensitive(handle: Handle, real: str) -> bool:
    """Whether two names may differ by case alone; found out without writing anything."""
    with os.scandir(handle.fd) as entries:
        names = [entry.name for entry in islice(entries, _NAMES_PROBED)]
    for name in names:
        swapped = name.swapcase()
        if swapped != name and swapped not in names:
            return not _exists(swapped, handle.fd)
    parent, name = os.path.split(real)
    if sys.platform == "darwin" and name.swapcase() != name:
        return not os.path.exists(os.path.join(parent, name.swapcase()))
    return True


def _exists(name: str, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True
