"""What every call of a user passes through: options from arguments, expectations checked, context for errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import NoReturn

from moorage.errors import (
    EncodingError,
    InvalidArgumentError,
    InvalidPathError,
    MoorageError,
    ReadOnlyError,
    StaleFileError,
    StorageError,
)
from moorage.models import UNSET, DeleteOptions, OnProgress, Progress, Reader, Stat, Unset, WriteOptions
from moorage.paths import PathLike, StoragePath
from moorage.provider import WRITE, Provider
from moorage.streams import TranslatedReader

FilePrimitive = Callable[[StoragePath, StoragePath, WriteOptions], Awaitable[Stat]]
"""``copy`` or ``move`` of a provider."""


def write_options(
    overwrite: bool,
    create_parents: bool,
    expected_mtime: datetime | Unset,
    expected_version: str | Unset,
    media_type: str | None,
) -> WriteOptions:
    """The options object of a write; the shared default one where nothing differs."""
    if overwrite and create_parents and expected_mtime is UNSET and expected_version is UNSET and media_type is None:
        return WRITE
    return WriteOptions(overwrite, create_parents, expected_mtime, expected_version, media_type)


async def check_expectations(provider: Provider, path: StoragePath, options: WriteOptions | DeleteOptions) -> None:
    """Refuse an expectation that cannot be one, so that a missing time never makes a guarded write unguarded.

    Raises:
        InvalidArgumentError: ``None``, a naive time, or a wrong type.
    """
    if not options.has_expectation:
        return
    wrong = _wrong_expectation(options.expected_version, options.expected_mtime)
    if wrong is not None:
        raise await refusal(provider, path, InvalidArgumentError(wrong, path=str(path)))


def _wrong_expectation(version: object, mtime: object) -> str | None:
    if version is not UNSET and not isinstance(version, str):
        return f"expected_version must be the text that stat gave, not {version!r}; leave it out for no check"
    if mtime is not UNSET and not isinstance(mtime, datetime):
        return f"expected_mtime must be the time that stat gave, not {mtime!r}; leave it out for no check"
    if isinstance(mtime, datetime) and mtime.utcoffset() is None:
        return "expected_mtime must be aware of its time zone, as stat gives it"
    return None


def refuse_stale(path: StoragePath, stat: Stat, options: WriteOptions) -> None:
    """What a provider does when nothing is to be changed and the expectation is all that is left to check.

    Raises:
        StaleFileError: ``stat`` is not what was expected.
    """
    expected: str | datetime | Unset = options.expected_version
    actual: str | datetime | None = stat.version
    if expected is UNSET:
        expected, actual = options.expected_mtime, stat.modified_at
    if expected is not UNSET and expected != actual:
        raise StaleFileError("changed since it was seen", path=str(path), expected=expected, actual=actual)


async def refuse_expectation(provider: Provider, path: StoragePath, options: WriteOptions) -> None:
    """Before a tree is touched: an expectation speaks of one file.

    Raises:
        InvalidArgumentError: one was given.
    """
    if options.has_expectation:
        error = InvalidArgumentError("an expectation needs a single file, not a directory", path=str(path))
        raise await refusal(provider, path, error)


async def refusal(provider: Provider, path: StoragePath, error: MoorageError) -> MoorageError:
    """``error``, unless the provider is read-only there: that comes first."""
    if (await provider.capabilities(path)).writable:
        return error
    return ReadOnlyError("read-only", path=str(path))


async def one_file(
    provider: Provider,
    primitive: FilePrimitive,
    source: StoragePath,
    target: StoragePath,
    options: WriteOptions,
    progress: OnProgress | None,
) -> Stat:
    """Copy or move one file and report how far it has come."""
    if progress is None:
        return await primitive(source, target, options)
    sent, total = 0, (await provider.stat(source)).size

    def on_bytes(count: int) -> None:
        nonlocal sent
        sent += count
        progress(Progress(source, bytes_done=sent, files_total=1, bytes_total=total))

    stat = await primitive(source, target, replace(options, on_bytes=on_bytes))
    progress(Progress(source, files_done=1, bytes_done=stat.size, files_total=1, bytes_total=stat.size))
    return stat


def encoded(text: str, encoding: str) -> bytes:
    """The text as bytes, strictly.

    Raises:
        EncodingError: a character does not exist in that encoding, or the encoding does not exist.
    """
    try:
        return text.encode(encoding)
    except (UnicodeError, LookupError) as error:
        raise EncodingError(f"cannot be encoded: {error}") from error


def decoded(data: bytes, encoding: str, provider: Provider, path: PathLike) -> str:
    """The bytes as text, strictly; line ends stay as they are.

    Raises:
        EncodingError: the bytes are not of that encoding, or the encoding does not exist.
    """
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        fail(EncodingError(f"cannot be decoded: {error}"), provider, "read", path)


def fail(error: Exception, provider: Provider, operation: str, *paths: PathLike) -> NoReturn:
    """Raise ``error`` with its context, and with paths as the caller wrote them; anything foreign as StorageError."""
    if isinstance(error, MoorageError):
        ours: MoorageError = error
    else:
        ours = StorageError(f"the provider failed: {type(error).__name__}")
        ours.__cause__ = error
    if ours.path is None:
        ours.path = str(paths[0])
    else:
        ours.path = next((str(path) for path in paths if _same_path(path, ours.path)), ours.path)
    raise ours.with_context(operation=operation, provider=provider.scheme)


def _same_path(written: PathLike, canonical: str) -> bool:
    try:
        return str(StoragePath.parse(written)) == canonical
    except InvalidPathError:
        return False


class CallersCallback:
    """The caller's own progress callback; remembers the error that it raised, which comes out as it is."""

    def __init__(self, callback: OnProgress) -> None:
        self._callback = callback
        self.error: Exception | None = None

    def __call__(self, progress: Progress) -> None:
        try:
            self._callback(progress)
        except Exception as error:
            self.error = error
            raise


class OpenRead:
    """A read about to be opened: use it as an async context manager, or ``await`` it for a reader to close yourself."""

    def __init__(self, opening: Callable[[], Awaitable[Reader]], failed: Callable[[Exception], NoReturn]) -> None:
        self._opening = opening
        self._failed = failed
        self._reader: Reader | None = None

    def __await__(self) -> Generator[object, None, Reader]:
        return self._open().__await__()

    async def __aenter__(self) -> Reader:
        self._reader = await self._open()
        return self._reader

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._reader is not None:
            await self._reader.aclose()

    async def _open(self) -> Reader:
        try:
            reader = await self._opening()
        except Exception as error:
            self._failed(error)
        if reader.data is not None:
            return reader
        return TranslatedReader(reader, self._failed)
