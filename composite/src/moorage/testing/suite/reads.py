"""Reading: whole, in ranges, and what stands in the way."""

from __future__ import annotations

import pytest

from moorage import (
    Filesystem,
    InvalidArgumentError,
    Kind,
    PathIsDirectoryError,
    PathNotFoundError,
    Provider,
    StoragePath,
)
from moorage.testing.bodies import pattern
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused

RANGES = (
    (0, None),
    (0, 0),
    (0, 1),
    (1, None),
    (3, 7),
    (9, 10),
    (9, 99),
    (10, None),
    (11, 20),
    (99, None),
    (5, 5),
    (7, 3),
)


class Reads(Harness):
    async def test_a_read_serves_exactly_the_bytes(self, fs: Filesystem) -> None:
        for size in (0, 1, 4_096, 65_537, self.larger + 1):
            data = pattern(size)
            await self.put("/file", data)
            assert await fs.read_bytes("/file") == data

    async def test_what_another_program_stored_is_read(self, fs: Filesystem) -> None:
        data = pattern(1_000)
        await self.poke(StoragePath("/by/another"), data)
        assert await fs.read_bytes("/by/another") == data
        assert (await fs.stat("/by/another")).size == len(data)

    async def test_a_range_is_half_open_and_clipped(self, fs: Filesystem) -> None:
        data = b"0123456789"
        await self.put("/digits", data)
        for start, end in RANGES:
            wanted = data[start:end]
            assert await fs.read_bytes("/digits", start, end) == wanted, (start, end)
            async with fs.open_read("/digits", start, end) as reader:
                assert b"".join([chunk async for chunk in reader]) == wanted, (start, end)

    async def test_a_range_of_a_larger_file(self, fs: Filesystem) -> None:
        data = pattern(self.larger)
        await self.put("/larger", data)
        middle = self.larger // 2
        for start, end in ((middle - 3, middle + 70_001), (1, None), (self.larger - 1, None)):
            assert await fs.read_bytes("/larger", start, end) == data[start:end]

    async def test_an_empty_file_has_no_ranges_but_can_be_read(self, fs: Filesystem) -> None:
        await self.put("/empty", b"")
        for start, end in ((0, None), (0, 1), (1, None), (0, 0)):
            assert await fs.read_bytes("/empty", start, end) == b""

    async def test_a_negative_offset_is_refused(self, fs: Filesystem) -> None:
        await self.put("/file", b"data")
        for start, end in ((-1, None), (0, -1)):
            with refused(InvalidArgumentError):
                await fs.read_bytes("/file", start, end)

    async def test_text_is_utf_8(self, fs: Filesystem) -> None:
        await self.put("/text", "naïve – 日本語\r\n".encode())
        assert await fs.read_text("/text") == "naïve – 日本語\r\n"

    async def test_the_reader_tells_the_stat_of_what_it_serves(self, fs: Filesystem) -> None:
        await self.put("/file", b"twelve bytes")
        seen = await fs.stat("/file")
        async with fs.open_read("/file") as reader:
            assert (reader.stat.kind, reader.stat.size) == (Kind.FILE, 12)
            assert reader.stat.version == seen.version
            assert reader.stat.modified_at == seen.modified_at

    async def test_a_reader_can_be_left_early_and_closed_twice(self, opened: Provider) -> None:
        await self.put("/file", pattern(self.larger))
        reader = await opened.read(StoragePath("/file"))
        async for chunk in reader:
            assert chunk
            break
        await reader.aclose()
        await reader.aclose()
        async with await opened.read(StoragePath("/file")) as again:
            assert await again.read() == pattern(self.larger)

    async def test_an_open_reader_is_not_mixed_with_a_replacement(self, opened: Provider) -> None:
        size = self.larger * 4
        await self.put("/file", b"o" * size)
        async with await opened.read(StoragePath("/file")) as reader:
            seen = await anext(reader)
            await self.put("/file", b"n" * size)
            rest = b"".join([chunk async for chunk in reader])
        assert (seen + rest) == b"o" * size
        assert await self.peek(StoragePath("/file")) == b"n" * size

    async def test_missing_and_directories_are_refused(self, fs: Filesystem) -> None:
        await self.put("/dir/file")
        for missing in ("/missing", "/dir/missing", "/no/such/parent", "/dir/file/below"):
            with refused(PathNotFoundError, path=missing):
                await fs.read_bytes(missing)
            with refused(PathNotFoundError, path=missing):
                await fs.stat(missing)
        for directory in ("/dir", "/"):
            with refused(PathIsDirectoryError, path=directory):
                await fs.read_bytes(directory)

    async def test_stat_tells_files_from_directories(self, fs: Filesystem) -> None:
        await self.put("/dir/file", b"12345")
        file, directory = await fs.stat("/dir/file"), await fs.stat("/dir")
        assert (file.kind, file.size) == (Kind.FILE, 5)
        assert file.version
        assert (directory.kind, directory.size, directory.version) == (Kind.DIRECTORY, 0, None)
        assert (await fs.stat("/dir")).modified_at == directory.modified_at, "the time of a directory is not stable"

    async def test_exists_is_file_and_is_dir_agree_with_stat(self, fs: Filesystem) -> None:
        await self.put("/dir/file")
        for path, is_file, is_dir in (("/dir/file", True, False), ("/dir", False, True), ("/", False, True)):
            assert (await fs.exists(path), await fs.is_file(path), await fs.is_dir(path)) == (True, is_file, is_dir)
        for path in ("/missing", "/dir/file/below", "/di", "/dir/fil"):
            assert not await fs.exists(path)
            assert not await fs.is_file(path)
            assert not await fs.is_dir(path)

    async def test_the_identity_of_a_path_is_stable_and_its_own(self, opened: Provider) -> None:
        one, two = StoragePath("/one"), StoragePath("/two")
        before = await opened.lineage(one)
        await self.put("/one")
        assert await opened.lineage(one) == before != await opened.lineage(two)

    async def test_starting_and_closing_twice_is_harmless_and_it_opens_again(self, opened: Provider) -> None:
        await self.put("/file", b"kept")
        await opened.start()
        await opened.aclose()
        await opened.aclose()
        await opened.start()
        async with await opened.read(StoragePath("/file")) as reader:
            assert await reader.read() == b"kept"

    async def test_the_errors_are_builtin_ones_too(self, fs: Filesystem) -> None:
        await self.put("/dir/file")
        with pytest.raises(FileNotFoundError):
            await fs.read_bytes("/missing")
        with pytest.raises(IsADirectoryError):
            await fs.read_bytes("/dir")
        with pytest.raises(NotADirectoryError):
            await fs.list_dir("/dir/file")
