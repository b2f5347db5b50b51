"""Files written from outside into what commands may use, and never through a link that a command has laid."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import Final

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.places import Located, Places

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(places: Places, path: str, data: bytes) -> None:
    """Create or replace a file whole, with the directories above it. A replaced file keeps its mode; a link that
    leads to what commands may use stays, and its target is replaced.

    Raises:
        SandboxError: the path leads out or into what is read-only, or it cannot be written.
    """
    located = places.locate(path)
    if path.rpartition("/")[2] in {"", ".", ".."} or not located.names:
        raise SandboxError("this names no file", path=path)
    if located.place.read_only:
        raise SandboxError("this part of the sandbox is read-only", path=path)
    try:
        _write(Located(located.place, located.names[:-1]), located.names[-1], data)
    except OSError as error:
        raise SandboxError(f"it cannot be written: {os.strerror(error.errno or 0)}", path=path) from None


def _write(above: Located, name: str, data: bytes) -> None:
    directory = open_directory(above)
    temporary = f".{secrets.token_hex(16)}.new"
    try:
        mode = _mode(directory, name)
        file = os.open(temporary, _NEW_FILE, 0o666 if mode is None else 0o600, dir_fd=directory)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                if mode is not None:
                    os.fchmod(stream.fileno(), mode)
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            raise
    finally:
        os.close(directory)


def open_directory(located: Located) -> int:
    """A descriptor of the directory, which is made where it is missing.

    Step by step: a link that comes in between the check and now is an error, not a way out.
    """
    directory = os.open(located.place.host, _DIRECTORY)
    for name in located.names:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=directory)
            below = os.open(name, _DIRECTORY, dir_fd=directory)
        finally:
            os.close(directory)
        directory = below
    return directory


def _mode(directory: int, name: str) -> int | None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found.st_mode) & 0o777 if stat.S_ISREG(found.st_mode) else None
