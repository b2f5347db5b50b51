"""The user's class: the pleasant methods, written once over the primitives of any provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import NoReturn, Self

from moorage import listing
from moorage.calls import (
    CallersCallback,
    OpenRead,
    check_expectations,
    decoded,
    encoded,
    fail,
    one_file,
    refusal,
    refuse_expectation,
    refuse_stale,
    write_options,
)
from moorage.errors import (
    BusyError,
    EncodingError,
    InvalidArgumentError,
    MoorageError,
    NoMountError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    ReadOnlyError,
    UnsupportedError,
)
from moorage.lifecycle import Lifecycle
from moorage.models import (
    UNSET,
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    FilesystemInfo,
    Labels,
    MakeDirOptions,
    OnProgress,
    ProviderStatus,
    Reader,
    Stat,
    Unset,
    Usage,
    WriteOptions,
)
from moorage.paths import PathLike, StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
from moorage.streams import CallersChunks, closing
from moorage.transfer import copy_tree, move_tree
from moorage.wrappers import is_read_only

Instructions = str | Callable[[str, Mapping[str, object] | None], str]
"""A text for models in place of the default one, or a function of the default text and the request's context."""

_READY = ProviderStatus.READY


class Filesystem:
    """One storage, or a tree of them, as users see it. All methods are coroutines or async iterators.

    Paths are ``str`` or :class:`moorage.StoragePath`. Every failure is a :class:`moorage.MoorageError` that carries
    the path as it was written here. The checks run in this order: path, read-only, root or mount point, expectation,
    provider. It opens at first use; ``async with`` or ``init()`` and ``aclose()`` make that explicit.

    Expectations: ``expected_version`` or ``expected_mtime`` (from :meth:`stat` or a write's result) make a write or
    delete happen only if the file is still that one, else :class:`moorage.StaleFileError`; also when it is gone. The
    version wins when both are given. ``None`` is refused.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        labels: Labels = Labels(),  # noqa: B008 (frozen)
        instructions: Instructions | None = None,
    ) -> None:
        self.provider = provider
        self.labels = labels
        self.lifecycle = Lifecycle(provider)
        self._instructions = instructions
        self._leased = False

    # Opening and closing

    async def init(self) -> None:
        """Open. Idempotent; opens again after :meth:`aclose`.

        Raises:
            MoorageError: why the provider did not start.
        """
        if self._leased:
            await self.lifecycle.ensure()
            return
        self._leased = True
        try:
            await self.lifecycle.lease()
        except BaseException:
            self._leased = False
            raise

    async def aclose(self) -> None:
        """Close, unless a tree that was opened over this filesystem still uses it. Idempotent."""
        if self._leased:
            self._leased = False
            await self.lifecycle.release()
        else:
            await self.lifecycle.close_if_unused()

    async def __aenter__(self) -> Self:
        await self.init()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    # Asking

    async def stat(self, path: PathLike) -> Stat:
        """What the store says of this path; links are followed, a dangling link answers ``kind=link``."""
        try:
            target = StoragePath.parse(path)
            if self.lifecycle.status is not _READY:
                await self.lifecycle.ensure()
            return await self.provider.stat(target)
        except Exception as error:
            fail(error, self.provider, "stat", path)

    async def exists(self, path: PathLike) -> bool:
        """Whether anything is there. A refusal is an error, never ``False``."""
        try:
            await self.stat(path)
        except (PathNotFoundError, PathNotDirectoryError):
            return False
        return True

    async def is_file(self, path: PathLike) -> bool:
        try:
            return (await self.stat(path)).is_file
        except (PathNotFoundError, PathNotDirectoryError):
            return False

    async def is_dir(self, path: PathLike) -> bool:
        try:
            return (await self.stat(path)).is_dir
        except (PathNotFoundError, PathNotDirectoryError):
            return False

    async def capabilities(self, path: PathLike = "/") -> Capabilities:
        """What this object can do, through wrappers and mounts."""
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            return await self.provider.capabilities(target)
        except Exception as error:
            fail(error, self.provider, "capabilities", path)

    def info(self) -> FilesystemInfo:
        """What this is and how it fares. No I/O."""
        error = self.lifecycle.error
        return FilesystemInfo(
            provider=self.provider.scheme,
            read_only=is_read_only(self.provider),
            status=self.lifecycle.status,
            labels=self.labels,
            error=error.message if error else None,
        )

    def instructions(self, context: Mapping[str, object] | None = None) -> str:
        """A text for a model's system message. No I/O."""
        if isinstance(self._instructions, str):
            return self._instructions
        default = self._default_instructions()
        return default if self._instructions is None else self._instructions(default, context)

    def _default_instructions(self) -> str:
        info = self.info()
        name = info.labels.display_name or info.provider
        access = "read-only" if info.read_only else "read-write"
        described = f" {info.labels.description}" if info.labels.description else ""
        return f"Files are in {name} ({info.provider}, {access}).{described}"

    # Reading

    async def read_bytes(self, path: PathLike, start: int = 0, end: int | None = None) -> bytes:
        """The half-open range ``[start, end)`` in bytes; clipped at the end of the file."""
        try:
            reader = await self._open(path, start, end)
            data = reader.data
            if data is not None:
                await reader.aclose()
                return data
            async with reader:
                return await reader.read()
        except Exception as error:
            fail(error, self.provider, "read", path)

    async def read_text(self, path: PathLike, encoding: str = "utf-8") -> str:
        """The whole file as text, strictly decoded; line ends stay as they are.

        Raises:
            EncodingError: the bytes are not of that encoding.
        """
        return decoded(await self.read_bytes(path), encoding, self.provider, path)

    def open_read(self, path: PathLike, start: int = 0, end: int | None = None) -> OpenRead:
        """``async with fs.open_read(path) as reader``: its ``stat``, and the bytes as chunks in bounded memory."""
        return OpenRead(partial(self._open, path, start, end), partial(self._failed_read, path))

    def _failed_read(self, path: PathLike, error: Exception) -> NoReturn:
        fail(error, self.provider, "read", path)

    async def _open(self, path: PathLike, start: int, end: int | None) -> Reader:
        target = StoragePath.parse(path)
        if start < 0 or (end is not None and end < 0):
            raise InvalidArgumentError("a range counts from the start of the file; negative offsets have no meaning")
        if self.lifecycle.status is not _READY:
            await self.lifecycle.ensure()
        return await self.provider.read(target, start=start, end=end)

    # Writing

    async def write_bytes(
        self,
        path: PathLike,
        data: bytes | bytearray | memoryview,
        *,
        overwrite: bool = True,
        create_parents: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
        media_type: str | None = None,
    ) -> Stat:
        """Create or replace, all or nothing; the new stat.

        Raises:
            StaleFileError, PathExistsError (``overwrite=False``), PathIsDirectoryError, PathNotDirectoryError,
            PathNotFoundError (``create_parents=False``), ReadOnlyError.
        """
        body = data if type(data) is bytes else bytes(memoryview(data))
        options = write_options(overwrite, create_parents, expected_mtime, expected_version, media_type)
        return await self._write("write", path, body, options)

    async def write_text(
        self,
        path: PathLike,
        text: str,
        *,
        encoding: str = "utf-8",
        overwrite: bool = True,
        create_parents: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
        media_type: str | None = None,
    ) -> Stat:
        """:meth:`write_bytes` of the encoded text; line ends stay as they are."""
        options = write_options(overwrite, create_parents, expected_mtime, expected_version, media_type)
        return await self._write("write", path, await self._encoded(path, text, encoding), options)

    async def write_stream(
        self,
        path: PathLike,
        chunks: AsyncIterable[bytes],
        *,
        overwrite: bool = True,
        create_parents: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
        media_type: str | None = None,
    ) -> Stat:
        """:meth:`write_bytes` in bounded memory. An error of ``chunks`` itself comes out as it is; nothing lands.

        ``chunks`` is closed, if it can be, also when the write fails before its end.
        """
        options = write_options(overwrite, create_parents, expected_mtime, expected_version, media_type)
        async with closing(CallersChunks(chunks)) as body:
            try:
                return await self._write("write", path, body, options)
            except MoorageError:
                if body.error is not None:
                    raise body.error from None
                raise

    async def append_bytes(
        self,
        path: PathLike,
        data: bytes | bytearray | memoryview,
        *,
        create_parents: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
    ) -> Stat:
        """Add to the end, creating the file if it is missing. Concurrent appends lose nothing."""
        body = data if type(data) is bytes else bytes(memoryview(data))
        options = write_options(True, create_parents, expected_mtime, expected_version, None)
        return await self._write("append", path, body, options)

    async def append_text(
        self,
        path: PathLike,
        text: str,
        *,
        encoding: str = "utf-8",
        create_parents: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
    ) -> Stat:
        """:meth:`append_bytes` of the encoded text."""
        options = write_options(True, create_parents, expected_mtime, expected_version, None)
        return await self._write("append", path, await self._encoded(path, text, encoding), options)

    async def _encoded(self, path: PathLike, text: str, encoding: str) -> bytes:
        try:
            return encoded(text, encoding)
        except EncodingError as error:
            fail(await self._refusal(path, error), self.provider, "write", path)

    async def _refusal(self, path: PathLike, error: MoorageError) -> MoorageError:
        """What is wrong comes after a wrong path and after read-only."""
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            return await refusal(self.provider, target, error)
        except MoorageError as first:
            return first

    async def _write(self, operation: str, path: PathLike, body: Body, options: WriteOptions) -> Stat:
        try:
            target = StoragePath.parse(path)
            if self.lifecycle.status is not _READY:
                await self.lifecycle.ensure()
            if target.is_root:
                raise await refusal(self.provider, target, PathIsDirectoryError("is the root", path=str(target)))
            if options is not WRITE:
                await check_expectations(self.provider, target, options)
            if operation == "append":
                return await self.provider.append(target, body, options)
            return await self.provider.write(target, body, options)
        except Exception as error:
            fail(error, self.provider, operation, path)

    # Removing, copying, moving

    async def delete(
        self,
        path: PathLike,
        *,
        missing_ok: bool = False,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
    ) -> None:
        """Remove one file, or a link and not its target. Never a directory."""
        options = DELETE
        if expected_mtime is not UNSET or expected_version is not UNSET:
            options = DeleteOptions(expected_mtime, expected_version)
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            if target.is_root:
                raise await refusal(self.provider, target, PathIsDirectoryError("is the root", path=str(target)))
            await check_expectations(self.provider, target, options)
            await self.provider.delete(target, options)
        except Exception as error:
            if missing_ok and isinstance(error, PathNotFoundError) and not isinstance(error, NoMountError):
                return
            fail(error, self.provider, "delete", path)

    async def copy(
        self,
        src: PathLike,
        dst: PathLike,
        *,
        overwrite: bool = True,
        recursive: bool = False,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> Stat:
        """Copy a file, or with ``recursive`` a tree, which merges into an existing directory. The stat of ``dst``.

        ``expected_*`` speak of ``dst`` and need a file. Onto itself: nothing happens.

        Raises:
            PathIsDirectoryError: ``src`` is a directory and ``recursive`` is false.
            InvalidArgumentError: a directory into itself.
            TransferError: some files of a tree failed; the others arrived.
        """
        options = write_options(overwrite, True, expected_mtime, expected_version, None)
        report = None if progress is None else CallersCallback(progress)
        try:
            source, target = StoragePath.parse(src), StoragePath.parse(dst)
            await self.lifecycle.ensure()
            await check_expectations(self.provider, target, options)
            if source == target:
                return await self._unchanged(source, options, recursive)
            if source.is_root or target.is_root:
                error = PathIsDirectoryError("is the root", path=str(source if source.is_root else target))
                return await self._copy_tree(source, target, options, recursive, report, error)
            try:
                return await one_file(self.provider, self.provider.copy, source, target, options, report)
            except PathIsDirectoryError as error:
                return await self._copy_tree(source, target, options, recursive, report, error)
        except Exception as error:
            if report is not None and report.error is error:
                raise
            fail(error, self.provider, "copy", src, dst)

    async def move(
        self,
        src: PathLike,
        dst: PathLike,
        *,
        overwrite: bool = True,
        expected_mtime: datetime | Unset = UNSET,
        expected_version: str | Unset = UNSET,
        progress: OnProgress | None = None,
    ) -> Stat:
        """Move a file, link or directory. The stat of ``dst``. Onto itself: nothing happens.

        Across stores each file is copied, verified, and its source deleted with the version that was copied.

        Raises:
            StaleFileError: the source changed meanwhile (both stay), or ``dst`` is not what was expected.
            BusyError: the root, or a mount point or an ancestor of one.
            TransferError: part of a tree was moved; it names what was and what was not.
        """
        options = write_options(overwrite, True, expected_mtime, expected_version, None)
        report = None if progress is None else CallersCallback(progress)
        try:
            source, target = StoragePath.parse(src), StoragePath.parse(dst)
            await self.lifecycle.ensure()
            if source.is_root or target.is_root:
                root = BusyError("the root cannot be moved or replaced", path=str(source if source.is_root else target))
                raise await refusal(self.provider, source, root)
            await check_expectations(self.provider, target, options)
            if source == target:
                return await self._unchanged(source, options, recursive=True)
            try:
                return await one_file(self.provider, self.provider.move, source, target, options, report)
            except UnsupportedError:
                if not (await self.provider.stat(source)).is_dir:
                    raise
            await refuse_expectation(self.provider, target, options)
            await move_tree(self.provider, source, target, options, report)
            return await self.provider.stat(target)
        except Exception as error:
            if report is not None and report.error is error:
                raise
            fail(error, self.provider, "move", src, dst)

    async def _copy_tree(
        self,
        source: StoragePath,
        target: StoragePath,
        options: WriteOptions,
        recursive: bool,
        progress: OnProgress | None,
        refused: PathIsDirectoryError,
    ) -> Stat:
        if not recursive or not (await self.provider.stat(source)).is_dir:
            raise await refusal(self.provider, target, refused)
        await refuse_expectation(self.provider, target, options)
        await copy_tree(self.provider, source, target, options, progress)
        return await self.provider.stat(target)

    async def _unchanged(self, path: StoragePath, options: WriteOptions, recursive: bool) -> Stat:
        if not (await self.provider.capabilities(path)).writable:
            raise ReadOnlyError("read-only", path=str(path))
        stat = await self.provider.stat(path)
        if stat.is_dir and not recursive:
            raise PathIsDirectoryError("is a directory; recursive=True copies it", path=str(path))
        refuse_stale(path, stat, options)
        return stat

    # Directories

    async def make_dir(self, path: PathLike, *, parents: bool = True, exist_ok: bool = True) -> None:
        """Make an empty directory, which then exists on every store."""
        options = MAKE_DIR if parents and exist_ok else MakeDirOptions(parents, exist_ok)
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            await self.provider.make_dir(target, options)
        except Exception as error:
            fail(error, self.provider, "make_dir", path)

    async def remove_dir(self, path: PathLike, *, recursive: bool = False, missing_ok: bool = False) -> None:
        """Remove an empty directory, or with ``recursive`` everything below it. Links below go, their targets stay.

        Raises:
            DirectoryNotEmptyError, PathNotDirectoryError (a file or link), BusyError (the root, a mount point or an
            ancestor of one).
        """
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            if target.is_root:
                raise await refusal(self.provider, target, BusyError("the root cannot be removed", path=str(target)))
            await self.provider.remove_dir(target, recursive=recursive)
        except Exception as error:
            if missing_ok and isinstance(error, PathNotFoundError) and not isinstance(error, NoMountError):
                return
            fail(error, self.provider, "remove_dir", path)

    async def list_dir(
        self,
        path: PathLike = "/",
        *,
        recursive: bool = False,
        max_depth: int | None = None,
        pattern: str | None = None,
    ) -> list[Entry]:
        """:meth:`scan_dir`, collected and sorted by name."""
        stream = self.scan_dir(path, recursive=recursive, max_depth=max_depth, pattern=pattern)
        return sorted([entry async for entry in stream], key=listing.sort_key)

    async def scan_dir(
        self,
        path: PathLike = "/",
        *,
        recursive: bool = False,
        max_depth: int | None = None,
        pattern: str | None = None,
    ) -> AsyncGenerator[Entry]:
        """Stream the entries of a directory with their stat, in the store's order, in bounded memory.

        Args:
            recursive: everything below, too; links are not entered.
            max_depth: levels to descend, 1 being the directory itself; implies ``recursive``.
            pattern: a glob: of names, or of paths relative to ``path`` when it has a slash.

        A directory below that cannot be listed is an entry with ``error``; the rest goes on.
        """
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            async with closing(listing.scan(self.provider, target, recursive, max_depth, pattern)) as entries:
                async for entry in entries:
                    yield entry
        except Exception as error:
            fail(error, self.provider, "list", path)

    async def walk(
        self, path: PathLike = "/", *, max_depth: int | None = None, hidden: bool = False
    ) -> AsyncGenerator[Entry]:
        """Stream everything below ``path``, a directory before what it holds, each directory's entries together.

        Args:
            hidden: also names that begin with a dot, and what is below them.
        """
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            async with closing(listing.descend(self.provider, target, max_depth, hidden)) as entries:
                async for entry in entries:
                    yield entry
        except Exception as error:
            fail(error, self.provider, "walk", path)

    async def glob(self, pattern: str, *, hidden: bool = False) -> AsyncGenerator[Entry]:
        """Stream the entries that match ``pattern``, which is written from the root.

        ``*``, ``?``, ``[…]`` within a segment, ``**`` any number of them, ``{a,b}``. A segment that exists literally
        wins over its reading as a pattern. A directory that could not be searched is an entry with ``error``.
        """
        try:
            await self.lifecycle.ensure()
            async with closing(listing.glob(self.provider, pattern, hidden)) as entries:
                async for entry in entries:
                    yield entry
        except Exception as error:
            fail(error, self.provider, "glob", pattern)

    async def du(self, path: PathLike = "/") -> Usage:
        """Files, directories and bytes of a file or tree. Links count as files of their own size."""
        try:
            target = StoragePath.parse(path)
            await self.lifecycle.ensure()
            return await listing.usage(self.provider, target)
        except Exception as error:
            fail(error, self.provider, "du", path)
