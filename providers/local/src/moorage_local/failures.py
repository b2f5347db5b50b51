"""What the operating system says, in Moorage's words: the one table."""

from __future__ import annotations

import errno
import os
from types import TracebackType
from typing import Final

from moorage import (
    BusyError,
    ConflictError,
    DirectoryNotEmptyError,
    InvalidArgumentError,
    MoorageError,
    NameTooLongError,
    NoSpaceError,
    NotRegularFileError,
    OperationTimeoutError,
    PathEscapeError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    PermissionDeniedError,
    ReadOnlyError,
    StorageError,
    StoragePath,
    UnavailableError,
)

_TABLE: Final[dict[int, tuple[type[MoorageError], str]]] = {
    errno.ENOENT: (PathNotFoundError, "no such file or directory"),
    errno.EEXIST: (PathExistsError, "already exists"),
    errno.EISDIR: (PathIsDirectoryError, "is a directory"),
    errno.ENOTDIR: (PathNotDirectoryError, "not a directory"),
    errno.ENOTEMPTY: (DirectoryNotEmptyError, "directory is not empty"),
    errno.EBUSY: (BusyError, "in use by the system, for example as a mount point"),
    errno.ELOOP: (ConflictError, "a link was put in this place meanwhile"),
    errno.ESTALE: (ConflictError, "replaced on the server meanwhile"),
    errno.ENXIO: (NotRegularFileError, "not a regular file"),
    errno.ENODEV: (NotRegularFileError, "not a regular file"),
    errno.ENAMETOOLONG: (NameTooLongError, "the file system does not take a name of this length"),
    errno.EILSEQ: (InvalidArgumentError, "the file system does not take this name"),
    errno.EINVAL: (InvalidArgumentError, "the file system refuses this name or operation"),
    errno.ENOSPC: (NoSpaceError, "no space left"),
    errno.EDQUOT: (NoSpaceError, "quota used up"),
    errno.EFBIG: (NoSpaceError, "larger than the file system or the process may store"),
    errno.EACCES: (PermissionDeniedError, "the operating system refuses this process"),
    errno.EPERM: (PermissionDeniedError, "the operating system refuses this process"),
    errno.EROFS: (ReadOnlyError, "the file system is mounted read-only"),
    errno.EXDEV: (PathEscapeError, "leads out of the root"),
    errno.ETIMEDOUT: (OperationTimeoutError, "the file system did not answer in time"),
    errno.EMFILE: (UnavailableError, "too many open files in this process"),
    errno.ENFILE: (UnavailableError, "too many open files in this system"),
    errno.EHOSTDOWN: (UnavailableError, "the file system's server cannot be reached"),
    errno.ENOTCONN: (UnavailableError, "the file system's server cannot be reached"),
}


def without_names(error: OSError) -> OSError:
    """The same failure without the names that Python put into it."""
    code = error.errno or errno.EIO
    return OSError(code, os.strerror(code))


def mapped(error: OSError | MoorageError, path: StoragePath) -> MoorageError:
    """Our error for ``error``, with it as the cause; one that is ours already stays."""
    if isinstance(error, MoorageError):
        return error
    kind, message = _TABLE.get(error.errno or errno.EIO, (StorageError, "the file system failed"))
    ours = kind(message, path=str(path))
    ours.__cause__ = without_names(error)
    return ours


class failures_at:  # noqa: N801 - reads as the statement that it is
    """``with failures_at(path):`` turns every ``OSError`` of the block into ours, at ``path``."""

    __slots__ = ("_path",)

    def __init__(self, path: StoragePath) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, OSError) and not isinstance(exc, MoorageError):
            ours = mapped(exc, self._path)
            raise ours from ours.__cause__
