"""Directories: made, kept, removed; on stores without any, by one hidden marker."""

from __future__ import annotations

from moorage import (
    BusyError,
    Capabilities,
    DirectoryNotEmptyError,
    Filesystem,
    PathExistsError,
    PathNotDirectoryError,
    PathNotFoundError,
)
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused


class Directories(Harness):
    async def test_an_empty_directory_exists_and_is_listed_once(self, fs: Filesystem) -> None:
        await fs.make_dir("/a/b/empty")
        for _ in range(2):
            assert (await fs.stat("/a/b/empty")).is_dir
            assert await fs.is_dir("/a/b/empty")
            assert not await fs.is_file("/a/b/empty")
            assert await fs.list_dir("/a/b/empty") == []
        entries = await fs.list_dir("/", recursive=True)
        assert [str(entry.path) for entry in entries] == ["/a", "/a/b", "/a/b/empty"]
        assert all(entry.is_dir for entry in entries)

    async def test_a_directory_that_holds_something_is_listed_once_and_its_marker_never(self, fs: Filesystem) -> None:
        await fs.make_dir("/dir")
        await fs.write_bytes("/dir/file", b"x")
        assert [entry.name for entry in await fs.list_dir("/")] == ["dir"]
        assert [entry.name for entry in await fs.list_dir("/dir")] == ["file"]
        assert await self.names() == {"/dir", "/dir/file"}

    async def test_making_it_again_is_fine_or_refused(self, fs: Filesystem) -> None:
        await fs.make_dir("/dir")
        await self.put("/implied/file")
        for path in ("/dir", "/implied", "/"):
            await fs.make_dir(path)
            with refused(PathExistsError, path=path):
                await fs.make_dir(path, exist_ok=False)
        assert await self.names() == {"/dir", "/implied", "/implied/file"}

    async def test_missing_parents_are_made_or_refused(self, fs: Filesystem) -> None:
        with refused(PathNotFoundError):
            await fs.make_dir("/a/b", parents=False)
        assert await self.names() == set()
        await fs.make_dir("/a", parents=False)
        await fs.make_dir("/a/b", parents=False)
        assert await self.names() == {"/a", "/a/b"}

    async def test_a_file_in_its_place_is_refused(self, fs: Filesystem) -> None:
        await self.put("/file")
        for exist_ok in (True, False):
            with refused(PathExistsError, path="/file"):
                await fs.make_dir("/file", exist_ok=exist_ok)
        with refused(PathNotDirectoryError):
            await fs.make_dir("/file/below")
        assert await self.content() == {"/file": b"x"}

    async def test_an_empty_directory_is_removed(self, fs: Filesystem) -> None:
        await fs.make_dir("/keep/empty")
        await self.put("/keep/file")
        await fs.remove_dir("/keep/empty")
        assert not await fs.exists("/keep/empty")
        assert await self.names() == {"/keep", "/keep/file"}

    async def test_a_full_directory_is_removed_only_when_asked(self, fs: Filesystem) -> None:
        for path in ("/dir/file", "/dir/sub/file", "/dir2/file", "/dir.txt"):
            await self.put(path)
        await fs.make_dir("/dir/empty")
        with refused(DirectoryNotEmptyError, path="/dir"):
            await fs.remove_dir("/dir")
        assert await fs.exists("/dir/sub/file")
        await fs.remove_dir("/dir", recursive=True)
        assert not await fs.exists("/dir")
        assert await self.names() == {"/dir2", "/dir2/file", "/dir.txt"}

    async def test_a_directory_with_only_a_directory_in_it_is_not_empty(self, fs: Filesystem) -> None:
        await fs.make_dir("/outer/inner")
        with refused(DirectoryNotEmptyError, path="/outer"):
            await fs.remove_dir("/outer")
        assert await fs.is_dir("/outer/inner")

    async def test_what_is_missing_or_a_file_is_refused(self, fs: Filesystem) -> None:
        await self.put("/file")
        for recursive in (False, True):
            with refused(PathNotFoundError, path="/missing"):
                await fs.remove_dir("/missing", recursive=recursive)
            await fs.remove_dir("/missing", recursive=recursive, missing_ok=True)
            with refused(PathNotDirectoryError, path="/file"):
                await fs.remove_dir("/file", recursive=recursive)
        assert await self.content() == {"/file": b"x"}

    async def test_the_root_is_never_removed(self, fs: Filesystem) -> None:
        for recursive in (False, True):
            with refused(BusyError, path="/"):
                await fs.remove_dir("/", recursive=recursive)
        await self.put("/file")
        with refused(BusyError, path="/"):
            await fs.remove_dir("/", recursive=True)
        with refused(BusyError, path="/"):
            await fs.move("/", "/elsewhere")
        assert await self.content() == {"/file": b"x"}

    async def test_a_parent_that_nobody_made_goes_with_its_last_directory_or_stays(
        self, fs: Filesystem, can: Capabilities
    ) -> None:
        await self.put("/outer/inner/file")
        await fs.remove_dir("/outer/inner", recursive=True)
        assert await fs.exists("/outer") is can.real_directories
