"""Providers with one mistake each, of the kinds that real ones were found to make, and the tests that must notice."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote

import anyio

from moorage import (
    UNSET,
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    Kind,
    MakeDirOptions,
    MemoryProvider,
    NoMountError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    Reader,
    ReadOnly,
    StaleFileError,
    Stat,
    StoragePath,
    UnavailableError,
    WriteOptions,
)
from moorage.testing import Chunks

WRITE = WriteOptions()


async def bytes_of(body: Body) -> bytes:
    return body if isinstance(body, bytes) else b"".join([chunk async for chunk in body])


def unguarded(options: WriteOptions) -> WriteOptions:
    return replace(options, expected_version=UNSET, expected_mtime=UNSET)


class ChecksThenWrites(MemoryProvider):
    """Compares the version, and writes a moment later."""

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if options.has_expectation:
            found = await self.stat(path)
            if options.expected_version != found.version:
                raise StaleFileError("stale", path=str(path))
            await anyio.sleep(0.001)
        return await super().write(path, body, unguarded(options))


class ChecksThenCreates(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if not options.overwrite:
            with suppress(PathNotFoundError):
                await self.stat(path)
                raise PathExistsError("there", path=str(path))
        await anyio.sleep(0.001)
        return await super().write(path, body, replace(options, overwrite=True))


class IgnoresExpectations(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await super().write(path, body, unguarded(options))


class IgnoresExpectationsOfLargerBodies(MemoryProvider):
    """As a client does that knows conditions for a single request only."""

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        data = await bytes_of(body)
        return await super().write(path, data, unguarded(options) if len(data) > 100_000 else options)


class RefusesNothingAndSaysSo(IgnoresExpectations):
    """Declares that it has no conditional writes, and then drops the condition in silence."""

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return Capabilities(conditional_write="none")


class CreatesAgain(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        try:
            found: Stat | None = await self.stat(path)
        except PathNotFoundError:
            found = None
        return await super().write(path, body, options if found else unguarded(options))


class RefusesOnlyNewerTimes(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if options.expected_version is UNSET and options.expected_mtime is not UNSET:
            found = (await self.stat(path)).modified_at
            if found is not None and found <= options.expected_mtime:
                options = unguarded(options)
        return await super().write(path, body, options)


class Renames(MemoryProvider):
    """Stores every name under another."""

    def name(self, text: str) -> str:
        return text

    def at(self, path: StoragePath) -> StoragePath:
        return StoragePath(self.name(str(path)))

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await super().write(self.at(path), body, options)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        return await super().read(self.at(path), start=start, end=end)

    async def stat(self, path: StoragePath) -> Stat:
        return await super().stat(self.at(path))


class Decodes(Renames):
    def name(self, text: str) -> str:
        return "".join(mark for mark in unquote(text) if mark >= " ")


class Trims(Renames):
    def name(self, text: str) -> str:
        return text.rstrip()


class Normalises(Renames):
    def name(self, text: str) -> str:
        return unicodedata.normalize("NFC", text)


class FoldsCase(Renames):
    def name(self, text: str) -> str:
        return text.lower()


class CutsVersionIds(Renames):
    def name(self, text: str) -> str:
        return text.split("?versionId=")[0]


class ListsNothingForMissing(MemoryProvider):
    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        with suppress(PathNotFoundError):
            async for entry in super().list(path, recursive=recursive):
                yield entry


class ListsOnePage(MemoryProvider):
    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        count = 0
        async for entry in super().list(path, recursive=recursive):
            if (count := count + 1) <= 1_000:
                yield entry


class ListsFromMemory(MemoryProvider):
    """Remembers a listing, as caches do that nobody invalidates."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[StoragePath, bool], list[Entry]] = {}

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        key = (path, recursive)
        if key not in self.seen:
            self.seen[key] = [entry async for entry in super().list(path, recursive=recursive)]
        for entry in self.seen[key]:
            yield entry


class ListsTwice(MemoryProvider):
    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        async for entry in super().list(path, recursive=recursive):
            yield entry
            if entry.is_dir:
                yield entry


class ShowsHalfAWrite(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if isinstance(body, bytes):
            middle = len(body) // 2
            body = Chunks([body[:middle], body[middle:]])
        stat = await super().write(path, b"", options)
        async for chunk in body:
            stat = await super().append(path, chunk)
        return stat


class LeavesTemporaries(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        temporary = StoragePath(f"{path}.tmp")
        await super().write(temporary, b"", replace(WRITE, create_parents=options.create_parents))
        stat = await super().write(path, body, options)
        await super().delete(temporary)
        return stat


class SwallowsCancellation(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        try:
            return await super().write(path, body, options)
        except anyio.get_cancelled_exc_class():
            return Stat(Kind.FILE)


class WrapsCancellation(MemoryProvider):
    async def delete(self, path: StoragePath, options: DeleteOptions = DeleteOptions()) -> None:
        try:
            await super().delete(path, options)
        except BaseException as error:
            if isinstance(error, anyio.get_cancelled_exc_class()):
                raise UnavailableError("interrupted", path=str(path)) from error
            raise


class MovesInTwoSteps(MemoryProvider):
    """And gives up the file between them when it is cancelled."""

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        async with await self.read(src) as reader:
            data = await reader.read()
        await super().delete(src)
        return await self.write(dst, data, options)


class CountsTheEndIn(MemoryProvider):
    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        return await super().read(path, start=start, end=None if end is None else end + 1)


class LosesAppends(MemoryProvider):
    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        try:
            async with await self.read(path) as reader:
                before = await reader.read()
        except PathNotFoundError:
            before = b""
        return await self.write(path, before + await bytes_of(body), options)


class AppendsLines(MemoryProvider):
    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await super().append(path, (await bytes_of(body)).replace(b"\r\n", b"\n"), options)


class SaysItsOwnKindOfMissing(MemoryProvider):
    async def stat(self, path: StoragePath) -> Stat:
        try:
            return await super().stat(path)
        except PathNotFoundError as error:
            raise NoMountError("none", path=str(path)) from error


class RaisesForeignErrors(MemoryProvider):
    async def stat(self, path: StoragePath) -> Stat:
        try:
            return await super().stat(path)
        except PathNotFoundError:
            raise FileNotFoundError(2, "No such file", f"/srv/data{path}") from None


class SaysInnerPaths(MemoryProvider):
    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        try:
            return await super().read(path, start=start, end=end)
        except PathNotFoundError:
            raise PathNotFoundError("no such key", path=f"/bucket{path}") from None


class DeletesTrees(MemoryProvider):
    async def delete(self, path: StoragePath, options: DeleteOptions = DeleteOptions()) -> None:
        try:
            await super().delete(path, options)
        except PathIsDirectoryError:
            await super().remove_dir(path, recursive=True)


class RemovesNeighbours(MemoryProvider):
    """Takes a prefix of text for a directory."""

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        await super().remove_dir(path, recursive=recursive)
        async for entry in super().list(path.parent):
            if recursive and entry.is_dir and entry.path is not None and str(entry.path).startswith(str(path)):
                await super().remove_dir(entry.path, recursive=True)


class RemovesEmptyParents(MemoryProvider):
    """Declares real directories, and behaves as if there were none."""

    async def delete(self, path: StoragePath, options: DeleteOptions = DeleteOptions()) -> None:
        await super().delete(path, options)
        if not path.parent.is_root and not [entry async for entry in super().list(path.parent)]:
            await super().remove_dir(path.parent)


class MakesNoDirectories(MemoryProvider):
    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MakeDirOptions()) -> None:
        """As a store does that has no directories and no markers."""


class VersionsBySize(MemoryProvider):
    async def stat(self, path: StoragePath) -> Stat:
        found = await super().stat(path)
        return replace(found, version=str(found.size)) if found.is_file else found

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        stat = await super().write(path, body, unguarded(options))
        return replace(stat, version=str(stat.size))


class LosesWhatMovesOntoItself(MemoryProvider):
    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        stat = await super().move(src, dst, options)
        if src == dst and stat.is_file:
            await super().delete(src)
        return stat


class CopiesLate(MemoryProvider):
    """Forgets that a copy must not replace what is there."""

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        return await super().copy(src, dst, replace(options, overwrite=True))


class LosesTheCallersError(MemoryProvider):
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        try:
            return await super().write(path, body, options)
        except Exception as error:
            if type(error).__module__.startswith("moorage.testing"):
                raise UnavailableError("upload failed", path=str(path)) from error
            raise


class LetsAppendsThrough(ReadOnly):
    """A read-only wrapper with one primitive forgotten."""

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await self.inner.append(path, body, options)


class HoldsAllOfIt(MemoryProvider):
    """Claims to stream; see how the class that tests it is made."""


CAUGHT: dict[type[MemoryProvider], tuple[str, ...]] = {
    ChecksThenWrites: ("test_of_many_writers_with_one_version_exactly_one_wins",),
    ChecksThenCreates: ("test_of_many_creators_exactly_one_wins",),
    IgnoresExpectations: (
        "test_any_other_version_is_stale",
        "test_gone_is_stale_and_not_created_again",
        "test_any_sequence_of_operations_agrees_with_a_dict",
    ),
    IgnoresExpectationsOfLargerBodies: ("test_a_guarded_write_of_a_larger_body",),
    RefusesNothingAndSaysSo: ("test_any_other_version_is_stale",),
    CreatesAgain: ("test_gone_is_stale_and_not_created_again",),
    RefusesOnlyNewerTimes: ("test_an_earlier_or_a_later_time_is_stale",),
    Decodes: ("test_odd_names_round_trip_and_stay_apart", "test_nothing_is_trimmed_folded_or_decoded"),
    Trims: ("test_odd_names_round_trip_and_stay_apart", "test_nothing_is_trimmed_folded_or_decoded"),
    Normalises: ("test_composed_and_decomposed_twins_are_kept_apart_or_refused",),
    FoldsCase: ("test_case_is_kept",),
    CutsVersionIds: ("test_odd_names_round_trip_and_stay_apart",),
    ListsNothingForMissing: ("test_what_is_missing_or_a_file_is_refused_and_not_empty",),
    ListsOnePage: ("test_a_large_directory_is_listed_whole",),
    ListsFromMemory: ("test_what_another_program_stored_is_listed",),
    ListsTwice: ("test_a_recursive_listing_is_everything_below_once",),
    ShowsHalfAWrite: (
        "test_a_reader_sees_one_version_and_never_a_mixture",
        "test_a_body_that_fails_leaves_what_was_there_and_its_own_error_comes_out",
        "test_cancelled_at_any_await_a_change_is_whole_or_not_at_all",
    ),
    LeavesTemporaries: (
        "test_cancelled_at_any_await_a_change_is_whole_or_not_at_all",
        "test_a_task_that_asyncio_cancels_is_no_different",
    ),
    SwallowsCancellation: (
        "test_cancelled_at_any_await_a_change_is_whole_or_not_at_all",
        "test_a_task_that_asyncio_cancels_is_no_different",
        "test_a_write_that_is_cancelled_while_it_waits_for_its_body_ends_at_once",
    ),
    WrapsCancellation: ("test_cancelled_at_any_await_a_change_is_whole_or_not_at_all",),
    MovesInTwoSteps: ("test_cancelled_at_any_await_a_change_is_whole_or_not_at_all",),
    CountsTheEndIn: ("test_a_range_is_half_open_and_clipped",),
    LosesAppends: ("test_concurrent_appends_lose_nothing",),
    AppendsLines: ("test_bytes_are_added_at_the_end_and_stay_bytes",),
    SaysItsOwnKindOfMissing: ("test_missing_is_said_by_every_method_with_the_path_as_it_was_written",),
    RaisesForeignErrors: ("test_missing_is_said_by_every_method_with_the_path_as_it_was_written",),
    SaysInnerPaths: ("test_missing_and_directories_are_refused",),
    DeletesTrees: ("test_a_directory_is_refused_full_or_empty", "test_any_sequence_of_operations_agrees_with_a_dict"),
    RemovesNeighbours: ("test_a_full_directory_is_removed_only_when_asked",),
    RemovesEmptyParents: (
        "test_the_parent_of_the_last_file_stays_where_directories_are_real",
        "test_any_sequence_of_operations_agrees_with_a_dict",
    ),
    MakesNoDirectories: ("test_an_empty_directory_exists_and_is_listed_once",),
    VersionsBySize: ("test_every_content_has_its_own_version",),
    LosesWhatMovesOntoItself: ("test_a_primitive_does_nothing_onto_itself_either",),
    CopiesLate: ("test_a_file_is_replaced_or_refused", "test_of_many_copies_without_overwrite_exactly_one_wins"),
    LosesTheCallersError: ("test_a_primitive_lets_the_error_of_a_body_pass",),
    HoldsAllOfIt: ("test_a_large_file_is_written_read_and_copied_in_bounded_memory",),
}
"""Each of them with tests of the suite that must fail for it."""
