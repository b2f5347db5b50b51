"""Appending."""

from __future__ import annotations

from moorage import Filesystem, PathExistsError, PathNotFoundError, Provider, StoragePath, WriteOptions
from moorage.testing.bodies import pattern
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused


class Appends(Harness):
    async def test_what_is_missing_is_made(self, fs: Filesystem) -> None:
        stat = await fs.append_bytes("/dir/log", b"one\n")
        assert stat.size == 4
        assert await self.peek(StoragePath("/dir/log")) == b"one\n"

    async def test_bytes_are_added_at_the_end_and_stay_bytes(self, fs: Filesystem) -> None:
        first, second = bytes(range(256)), b"\r\n\xff\xfe"
        await fs.write_bytes("/log", first)
        stat = await fs.append_bytes("/log", second)
        assert stat.size == len(first) + len(second)
        assert await self.peek(StoragePath("/log")) == first + second

    async def test_text_is_appended_as_utf_8(self, fs: Filesystem) -> None:
        await fs.write_text("/log", "ä")
        await fs.append_text("/log", "ö\r\n")
        assert await self.peek(StoragePath("/log")) == "äö\r\n".encode()

    async def test_larger_pieces_follow_each_other(self, fs: Filesystem) -> None:
        pieces = [pattern(size, seed=size) for size in (10, self.larger, 0, 70_001)]
        for piece in pieces:
            await fs.append_bytes("/log", piece)
        assert await self.peek(StoragePath("/log")) == b"".join(pieces)

    async def test_an_append_gives_a_new_version(self, fs: Filesystem) -> None:
        before = await fs.write_bytes("/log", b"one")
        after = await fs.append_bytes("/log", b"two")
        assert after.version != before.version
        assert (await fs.stat("/log")).version == after.version

    async def test_the_media_type_stays(self, fs: Filesystem) -> None:
        await fs.write_bytes("/page", b"<p>", media_type="text/html")
        before = (await fs.stat("/page")).media_type
        await fs.append_bytes("/page", b"</p>")
        assert (await fs.stat("/page")).media_type == before

    async def test_refusals_are_those_of_a_write(self, opened: Provider) -> None:
        await self.put("/file", b"kept")
        with refused(PathExistsError, path="/file"):
            await opened.append(StoragePath("/file"), b"x", WriteOptions(overwrite=False))
        with refused(PathNotFoundError, path="/no/parent"):
            await opened.append(StoragePath("/no/parent/file"), b"x", WriteOptions(create_parents=False))
        assert await self.content() == {"/file": b"kept"}
