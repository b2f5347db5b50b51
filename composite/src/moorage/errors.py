"""Every error that Moorage raises, as one tree.

::

    MoorageError
    ├── InvalidPathError          (ValueError)             invalid_path
    ├── InvalidArgumentError      (ValueError)             invalid_argument
    ├── EncodingError             (UnicodeError)           encoding
    ├── ConfigError               (ValueError)             config
    ├── PathNotFoundError         (FileNotFoundError)      not_found
    │   └── NoMountError                                   no_mount
    ├── PathExistsError           (FileExistsError)        exists
    ├── PathIsDirectoryError      (IsADirectoryError)      is_directory
    ├── PathNotDirectoryError     (NotADirectoryError)     not_directory
    ├── DirectoryNotEmptyError    (OSError)                not_empty
    ├── BusyError                 (OSError)                busy
    ├── LinkLoopError             (OSError)                link_loop
    ├── NotRegularFileError       (OSError)                not_regular
    ├── NameTooLongError          (OSError)                name_too_long
    ├── InexpressibleNameError    (OSError)                inexpressible_name
    ├── NoSpaceError              (OSError)                no_space
    ├── PermissionDeniedError     (PermissionError)        permission_denied
    │   ├── PathEscapeError                                path_escape
    │   └── ReadOnlyError                                  read_only
    ├── StaleFileError            (OSError)                stale
    ├── ConflictError             (OSError)                conflict         retryable
    ├── LimitExceededError        (OSError)                limit_exceeded
    ├── OperationTimeoutError     (TimeoutError)           timeout          retryable
    ├── UnsupportedError          (NotImplementedError)    unsupported
    ├── ContextRequiredError      (KeyError)               context_required
    ├── ClosedError               (RuntimeError)           closed
    ├── UnavailableError          (ConnectionError)        unavailable      retryable
    ├── StorageError              (OSError)                storage
    └── TransferError             (OSError)                transfer

A class that has a builtin of the same meaning is that builtin too, so ``except FileNotFoundError`` works.
Messages name tree paths, never host paths, and never secrets. Cancellation is never wrapped in any of these.
"""

from __future__ import annotations

import errno as _errno
from datetime import datetime
from typing import ClassVar, Self


class MoorageError(Exception):
    """The root of the tree.

    Attributes:
        code: stable identifier of the kind of failure; one per class.
        operation: the operation that failed, e.g. ``"write"``; ``None`` where none was under way.
        path: the path **as the caller wrote it**.
        provider: the scheme of the provider that refused, e.g. ``"s3"``.
        retryable: whether the same call may succeed later without the caller changing anything.

    Fields are keyword-only so that instances survive pickling.
    """

    code: ClassVar[str] = "error"
    errno_value: ClassVar[int | None] = None
    retryable_by_default: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        operation: str | None = None,
        path: str | None = None,
        provider: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.operation = operation
        self.path = path
        self.provider = provider
        self.retryable = self.retryable_by_default if retryable is None else retryable
        if self.errno_value is not None:
            object.__setattr__(self, "errno", self.errno_value)

    def __str__(self) -> str:
        where = f" [{self.operation}]" if self.operation else ""
        at = f": {self.path!r}" if self.path is not None else ""
        by = f" ({self.provider})" if self.provider else ""
        return f"{self.message}{at}{where}{by}"

    def with_context(
        self, *, operation: str | None = None, path: str | None = None, provider: str | None = None
    ) -> Self:
        """Fill in what is known further out; ``path`` replaces, ``operation`` and ``provider`` only fill gaps."""
        if path is not None:
            self.path = path
        self.operation = self.operation or operation
        self.provider = self.provider or provider
        return self


class InvalidPathError(MoorageError, ValueError):
    """The string is no path: ``..``, NUL, a control character, or not encodable as UTF-8."""

    code = "invalid_path"


class InvalidArgumentError(MoorageError, ValueError):
    """An argument other than the path makes no sense, e.g. ``expected_mtime=None`` or a negative offset."""

    code = "invalid_argument"


class EncodingError(MoorageError, UnicodeError):
    """Text and bytes do not match the encoding that was asked for."""

    code = "encoding"


class ConfigError(MoorageError, ValueError):
    """A configuration file, URL or option is wrong; the message names the file, the key and the nearest valid key."""

    code = "config"


class PathNotFoundError(MoorageError, FileNotFoundError):
    """Nothing is at this path."""

    code = "not_found"
    errno_value = _errno.ENOENT


class NoMountError(PathNotFoundError):
    """The path lies outside every mount; the message lists the mounts."""

    code = "no_mount"


class PathExistsError(MoorageError, FileExistsError):
    """Something is already at this path, and overwriting was not asked for or is not possible."""

    code = "exists"
    errno_value = _errno.EEXIST


class PathIsDirectoryError(MoorageError, IsADirectoryError):
    """A file was needed, a directory is there."""

    code = "is_directory"
    errno_value = _errno.EISDIR


class PathNotDirectoryError(MoorageError, NotADirectoryError):
    """A directory was needed, something else is there; also a file in the place of a parent."""

    code = "not_directory"
    errno_value = _errno.ENOTDIR


class DirectoryNotEmptyError(MoorageError, OSError):
    """The directory has entries and removal was not recursive."""

    code = "not_empty"
    errno_value = _errno.ENOTEMPTY


class BusyError(MoorageError, OSError):
    """The root, a mount point or an ancestor of one cannot be removed, moved or replaced."""

    code = "busy"
    errno_value = _errno.EBUSY


class LinkLoopError(MoorageError, OSError):
    """Following symbolic links does not end."""

    code = "link_loop"
    errno_value = _errno.ELOOP


class NotRegularFileError(MoorageError, OSError):
    """A FIFO, socket or device: never opened, never read."""

    code = "not_regular"
    errno_value = _errno.EINVAL


class NameTooLongError(MoorageError, OSError):
    """The store does not take a name of this length."""

    code = "name_too_long"
    errno_value = _errno.ENAMETOOLONG


class InexpressibleNameError(MoorageError, OSError):
    """A tree holds a stored name that no path can express; the operation refused before it started."""

    code = "inexpressible_name"
    errno_value = _errno.EILSEQ


class NoSpaceError(MoorageError, OSError):
    """The store is full or a quota is used up."""

    code = "no_space"
    errno_value = _errno.ENOSPC


class PermissionDeniedError(MoorageError, PermissionError):
    """The store refuses these credentials, or the operating system refuses this process."""

    code = "permission_denied"
    errno_value = _errno.EACCES


class PathEscapeError(PermissionDeniedError):
    """A symbolic link on the way leads out of the root; nothing outside was touched."""

    code = "path_escape"


class ReadOnlyError(PermissionDeniedError):
    """The filesystem or mount is read-only."""

    code = "read_only"
    errno_value = _errno.EROFS


class StaleFileError(MoorageError, OSError):
    """The file is not what the caller expected: changed, replaced or gone since it was seen.

    Attributes:
        expected: the version or modification time that the caller passed.
        actual: what the store has now; ``None`` when the file is gone or the store did not say.
    """

    code = "stale"
    errno_value = _errno.ESTALE

    def __init__(
        self,
        message: str,
        *,
        expected: str | datetime | None = None,
        actual: str | datetime | None = None,
        operation: str | None = None,
        path: str | None = None,
        provider: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message, operation=operation, path=path, provider=provider, retryable=retryable)
        self.expected = expected
        self.actual = actual


class ConflictError(MoorageError, OSError):
    """Two writers met and the store asks to try again, but the body cannot be sent a second time."""

    code = "conflict"
    errno_value = _errno.EAGAIN
    retryable_by_default = True


class LimitExceededError(MoorageError, OSError):
    """A configured limit was reached; nothing was written."""

    code = "limit_exceeded"
    errno_value = _errno.EDQUOT


class OperationTimeoutError(MoorageError, TimeoutError):
    """A wait reached its time limit; the operation did not happen."""

    code = "timeout"
    errno_value = _errno.ETIMEDOUT
    retryable_by_default = True


class UnsupportedError(MoorageError, NotImplementedError):
    """This store cannot do this; see :class:`moorage.Capabilities`."""

    code = "unsupported"


class ContextRequiredError(MoorageError, KeyError):
    """The request's context lacks a value, or there is no request where a mount is chosen for each one: use
    ``async with tree.resolve(RequestContext(...))``.
    """

    code = "context_required"


class ClosedError(MoorageError, RuntimeError):
    """The filesystem was closed; ``init()`` opens it again."""

    code = "closed"


class UnavailableError(MoorageError, ConnectionError):
    """The store cannot be reached, or a provider failed to start."""

    code = "unavailable"
    errno_value = _errno.EHOSTUNREACH
    retryable_by_default = True


class StorageError(MoorageError, OSError):
    """The store failed in a way that no other class describes; the cause says how."""

    code = "storage"
    errno_value = _errno.EIO


class TransferError(MoorageError, OSError):
    """A copy or move of a tree ended part-way.

    Attributes:
        done: source paths that arrived (for a move: and whose source is gone).
        failed: source path and error of each that did not.
    """

    code = "transfer"
    errno_value = _errno.EIO

    def __init__(
        self,
        message: str,
        *,
        done: tuple[str, ...] = (),
        failed: tuple[tuple[str, MoorageError], ...] = (),
        operation: str | None = None,
        path: str | None = None,
        provider: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message, operation=operation, path=path, provider=provider, retryable=retryable)
        self.done = done
        self.failed = failed
