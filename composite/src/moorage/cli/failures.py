"""What a failure is to the shell and to a machine that reads ``--json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from moorage.errors import (
    ConfigError,
    InvalidArgumentError,
    InvalidPathError,
    MoorageError,
    PathNotFoundError,
    ReadOnlyError,
    StaleFileError,
    TransferError,
)

FAILED: Final = 1
USAGE: Final = 2
STALE: Final = 3
READ_ONLY: Final = 4
NOT_FOUND: Final = 5
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_CODES: Final[tuple[tuple[type[MoorageError], int], ...]] = (
    (StaleFileError, STALE),
    (ReadOnlyError, READ_ONLY),
    (PathNotFoundError, NOT_FOUND),
    (InvalidPathError, USAGE),
    (InvalidArgumentError, USAGE),
    (ConfigError, USAGE),
)

_WORST_FIRST: Final = (FAILED, READ_ONLY, STALE, USAGE, NOT_FOUND)


def exit_code(error: MoorageError) -> int:
    """The exit code of a command that ended with this error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def worst(codes: Iterable[int]) -> int:
    """The exit code of a command of which several parts failed: not found only if that is all there was."""
    return min(codes, key=_WORST_FIRST.index)


def error_document(error: MoorageError) -> dict[str, object]:
    """``{"error": {…}}``: what ``--json`` prints for a failure."""
    document: dict[str, object] = {
        "code": error.code,
        "message": error.message,
        "path": error.path,
        "operation": error.operation,
        "provider": error.provider,
        "retryable": error.retryable,
    }
    if isinstance(error, StaleFileError):
        document |= {"expected": _text(error.expected), "actual": _text(error.actual)}
    if isinstance(error, TransferError):
        document["done"] = list(error.done)
        document["failed"] = [{"path": path, **error_document(inner)} for path, inner in error.failed]
    return {"error": document}


def error_lines(error: MoorageError) -> list[str]:
    """The same for people: one line, and one for each file of a tree that did not arrive."""
    if not isinstance(error, TransferError):
        return [str(error)]
    counts = error.message.partition("; first: ")[0]
    listed = [f"  {path}: {inner.message}" for path, inner in error.failed]
    return [str(error).replace(error.message, counts, 1), *listed]


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The errors in a group, at any depth."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


def _text(value: object) -> str | None:
    return None if value is None else str(value)
