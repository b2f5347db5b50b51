"""Deleting files."""

from __future__ import annotations

from moorage import Capabilities, Filesystem, PathIsDirectoryError, PathNotFoundError, StoragePath
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused


class Deletes(Harness):
    async def test_a_deleted_file_is_gone_and_its_neighbours_stay(self, fs: Filesystem) -> None:
        for path in ("/dir/file", "/dir/file2", "/dir/fil", "/dir/file.d/x"):
            await self.put(path)
        await fs.delete("/dir/file")
        assert await self.peek(StoragePath("/dir/file")) is None
        assert not await fs.exists("/dir/file")
        assert set(await self.content()) == {"/dir/file2", "/dir/fil", "/dir/file.d/x"}

    async def test_what_is_missing_is_refused_unless_that_is_fine(self, fs: Filesystem) -> None:
        await self.put("/file")
        for path in ("/missing", "/no/parent", "/file/below"):
            with refused(PathNotFoundError, path=path):
                await fs.delete(path)
            await fs.delete(path, missing_ok=True)
        assert await self.content() == {"/file": b"x"}

    async def test_a_directory_is_refused_full_or_empty(self, fs: Filesystem) -> None:
        await self.put("/full/file")
        await fs.make_dir("/empty")
        for path in ("/full", "/empty", "/"):
            for missing_ok in (False, True):
                with refused(PathIsDirectoryError, path=path):
                    await fs.delete(path, missing_ok=missing_ok)
        assert await self.names() == {"/full", "/full/file", "/empty"}

    async def test_the_parent_of_the_last_file_stays_where_directories_are_real(
        self, fs: Filesystem, can: Capabilities
    ) -> None:
        await self.put("/dir/only")
        await fs.delete("/dir/only")
        assert await fs.exists("/dir") is can.real_directories

    async def test_a_directory_that_was_made_outlives_its_last_file(self, fs: Filesystem) -> None:
        await fs.make_dir("/dir")
        await fs.write_bytes("/dir/only", b"x")
        await fs.delete("/dir/only")
        assert await fs.list_dir("/dir") == []

    async def test_a_file_can_be_made_again(self, fs: Filesystem) -> None:
        first = await fs.write_bytes("/file", b"first")
        await fs.delete("/file")
        second = await fs.write_bytes("/file", b"again", overwrite=False)
        assert first.version != second.version
        assert await self.peek(StoragePath("/file")) == b"again"
