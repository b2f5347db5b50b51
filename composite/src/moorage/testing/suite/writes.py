"""Writing: what is stored, what it answers, and each refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from moorage import (
    Capabilities,
    Filesystem,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    Provider,
    StoragePath,
    WriteOptions,
)
from moorage.testing.bodies import Chunks, pattern
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused


class Writes(Harness):
    async def test_what_was_written_is_what_is_stored(self, fs: Filesystem) -> None:
        for size in (0, 1, 65_537, self.larger + 1):
            data = pattern(size)
            stat = await fs.write_bytes("/file", data)
            assert await self.peek(StoragePath("/file")) == data
            assert (stat.is_file, stat.size) == (True, size)

    async def test_the_answer_is_the_stat_of_what_was_written(self, fs: Filesystem) -> None:
        stat = await fs.write_bytes("/dir/file", b"content")
        seen = await fs.stat("/dir/file")
        assert (stat.version, stat.size) == (seen.version, seen.size)
        assert stat.modified_at in (None, seen.modified_at)

    async def test_times_are_aware_and_roughly_now(self, fs: Filesystem, can: Capabilities) -> None:
        await fs.write_bytes("/file", b"x")
        modified_at = (await fs.stat("/file")).modified_at
        assert modified_at is not None
        assert modified_at.tzinfo is not None
        assert modified_at.utcoffset() == timedelta(0)
        allowed = timedelta(minutes=2, seconds=can.mtime_resolution)
        assert abs(datetime.now(UTC) - modified_at) < allowed

    async def test_every_content_has_its_own_version(self, fs: Filesystem) -> None:
        versions: set[str | None] = set()
        for index in range(12):
            versions.add((await fs.write_bytes("/file", b"%02d" % index)).version)
        assert len(versions) == 12
        assert None not in versions

    async def test_a_stream_is_written_whole(self, fs: Filesystem) -> None:
        data = pattern(self.larger + 12_345)
        chunks = [b"", data[:1], b"", data[1:7_000], data[7_000:], b""]
        stat = await fs.write_stream("/stream", Chunks(chunks))
        assert stat.size == len(data)
        assert await self.peek(StoragePath("/stream")) == data

    async def test_an_empty_stream_is_an_empty_file(self, fs: Filesystem) -> None:
        assert (await fs.write_stream("/empty", Chunks([]))).size == 0
        assert await self.peek(StoragePath("/empty")) == b""

    async def test_text_is_stored_as_utf_8_and_as_it_is(self, fs: Filesystem) -> None:
        await fs.write_text("/text", "naïve – 日本語\r\n\n")
        assert await self.peek(StoragePath("/text")) == "naïve – 日本語\r\n\n".encode()

    async def test_a_shorter_content_replaces_a_longer_one_whole(self, fs: Filesystem) -> None:
        await fs.write_bytes("/file", pattern(70_000))
        await fs.write_bytes("/file", b"short")
        assert await self.peek(StoragePath("/file")) == b"short"

    async def test_without_overwrite_what_is_there_stays(self, fs: Filesystem) -> None:
        await fs.write_bytes("/file", b"first", overwrite=False)
        with refused(PathExistsError, path="/file"):
            await fs.write_bytes("/file", b"second", overwrite=False)
        with refused(PathExistsError, path="/file"):
            await fs.write_stream("/file", Chunks([b"second"]), overwrite=False)
        assert await self.peek(StoragePath("/file")) == b"first"

    async def test_a_directory_is_not_written_over(self, fs: Filesystem) -> None:
        await self.put("/dir/file", b"kept")
        for path in ("/dir", "/"):
            with refused(PathIsDirectoryError, path=path):
                await fs.write_bytes(path, b"x")
            with refused(PathIsDirectoryError, path=path):
                await fs.append_bytes(path, b"x")
        assert await self.content() == {"/dir/file": b"kept"}

    async def test_an_empty_directory_is_not_written_over_either(self, fs: Filesystem) -> None:
        await fs.make_dir("/empty")
        with refused(PathIsDirectoryError, path="/empty"):
            await fs.write_bytes("/empty", b"x")
        assert (await fs.stat("/empty")).is_dir

    async def test_a_file_is_no_parent(self, fs: Filesystem) -> None:
        await self.put("/file", b"kept")
        for path in ("/file/below", "/file/far/below"):
            with refused(PathNotDirectoryError):
                await fs.write_bytes(path, b"x")
            with refused(PathNotDirectoryError):
                await fs.append_bytes(path, b"x")
            with refused(PathNotDirectoryError):
                await fs.make_dir(path)
        assert await self.content() == {"/file": b"kept"}

    async def test_parents_are_made(self, fs: Filesystem) -> None:
        await fs.write_bytes("/a/b/c/file", b"deep")
        for path in ("/a", "/a/b", "/a/b/c"):
            assert await fs.is_dir(path)
        assert await self.peek(StoragePath("/a/b/c/file")) == b"deep"

    async def test_parents_are_not_made_when_not_wanted(self, fs: Filesystem) -> None:
        with refused(PathNotFoundError, path="/a/b"):
            await fs.write_bytes("/a/b/file", b"x", create_parents=False)
        assert await self.names() == set()
        await fs.make_dir("/a/b")
        await fs.write_bytes("/a/b/file", b"x", create_parents=False)
        await fs.write_bytes("/at-the-root", b"x", create_parents=False)
        assert await self.peek(StoragePath("/a/b/file")) == b"x"

    async def test_the_media_type_is_kept_where_the_store_can(self, fs: Filesystem) -> None:
        await fs.write_bytes("/page", b"<p>", media_type="text/html")
        assert (await fs.stat("/page")).media_type in (None, "text/html")

    async def test_the_body_is_not_read_when_the_write_is_refused_beforehand(self, fs: Filesystem) -> None:
        await self.put("/dir/file")
        with refused(PathIsDirectoryError):
            await fs.write_stream("/dir", Chunks([b"x"] * 10))
        assert await self.content() == {"/dir/file": b"x"}

    async def test_options_given_twice_change_nothing_between_calls(self, opened: Provider) -> None:
        options = WriteOptions(overwrite=False)
        await opened.write(StoragePath("/one"), b"1", options)
        await opened.write(StoragePath("/two"), b"2", options)
        with pytest.raises(PathExistsError):
            await opened.write(StoragePath("/one"), b"3", options)
        assert options == WriteOptions(overwrite=False)
