"""Copying and moving, files and trees."""

from __future__ import annotations

from moorage import (
    BusyError,
    Filesystem,
    InvalidArgumentError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    Progress,
    Provider,
    StaleFileError,
    StoragePath,
    WriteOptions,
)
from moorage.testing.bodies import pattern
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused

FILES = {"/src/a": b"a", "/src/sub/b": b"bb", "/src/sub/deep/c": b"", "/src2/d": b"untouched"}


class Trees(Harness):
    async def test_a_file_is_copied_and_the_source_stays(self, fs: Filesystem) -> None:
        for size in (0, 10, self.larger + 1):
            data = pattern(size)
            await self.put("/from", data)
            await fs.copy("/from", f"/new/dir/to-{size}")
            assert await self.peek(StoragePath(f"/new/dir/to-{size}")) == data
            assert await self.peek(StoragePath("/from")) == data

    async def test_a_file_is_moved_and_the_source_is_gone(self, fs: Filesystem) -> None:
        for size in (0, 10, self.larger + 1):
            data = pattern(size)
            await self.put("/from", data)
            await fs.move("/from", f"/new/dir/to-{size}")
            assert await self.peek(StoragePath(f"/new/dir/to-{size}")) == data
            assert await self.peek(StoragePath("/from")) is None

    async def test_a_copy_is_a_file_of_its_own(self, fs: Filesystem) -> None:
        await self.put("/from", b"one")
        await fs.copy("/from", "/to")
        await fs.write_bytes("/from", b"changed")
        await fs.append_bytes("/to", b" more")
        assert await self.content() == {"/from": b"changed", "/to": b"one more"}

    async def test_the_media_type_goes_along(self, fs: Filesystem) -> None:
        await fs.write_bytes("/page", b"<p>", media_type="text/html")
        kept = (await fs.stat("/page")).media_type
        await fs.copy("/page", "/copied")
        await fs.move("/page", "/moved")
        assert [(await fs.stat(path)).media_type for path in ("/copied", "/moved")] == [kept, kept]

    async def test_a_file_is_replaced_or_refused(self, fs: Filesystem) -> None:
        for name in ("copy", "move"):
            call = getattr(fs, name)
            await self.put("/from", b"new")
            await self.put("/to", b"old")
            with refused(PathExistsError, path="/to"):
                await call("/from", "/to", overwrite=False)
            assert await self.content() == {"/from": b"new", "/to": b"old"}
            await call("/from", "/to")
            assert await self.peek(StoragePath("/to")) == b"new"

    async def test_onto_itself_nothing_happens_and_nothing_is_lost(self, fs: Filesystem) -> None:
        before = await fs.write_bytes("/dir/file", b"kept")
        for spelling in ("/dir/file", "dir//file"):
            await fs.copy("/dir/file", spelling)
            await fs.move("/dir/file", spelling)
            await fs.move("/dir/file", spelling, overwrite=False)
        await fs.move("/dir", "/dir")
        assert await self.content() == {"/dir/file": b"kept"}
        assert (await fs.stat("/dir/file")).version == before.version

    async def test_a_primitive_does_nothing_onto_itself_either(self, opened: Provider) -> None:
        await self.put("/file", b"kept")
        path = StoragePath("/file")
        before = await opened.stat(path)
        for primitive in (opened.copy, opened.move):
            for options in (WriteOptions(), WriteOptions(overwrite=False)):
                assert (await primitive(path, path, options)).version == before.version
        assert await self.content() == {"/file": b"kept"}

    async def test_what_is_missing_is_refused(self, fs: Filesystem) -> None:
        await self.put("/to", b"kept")
        for name in ("copy", "move"):
            for missing in ("/missing", "/no/parent", "/to/below"):
                with refused(PathNotFoundError, path=missing):
                    await getattr(fs, name)(missing, "/to")
                with refused(PathNotFoundError, path=missing):
                    await getattr(fs, name)(missing, "/new/place")
        assert await self.content() == {"/to": b"kept"}
        assert await self.names() == {"/to"}

    async def test_a_file_does_not_replace_a_directory_nor_go_below_a_file(self, fs: Filesystem) -> None:
        await self.put("/from", b"kept")
        await self.put("/dir/file", b"kept")
        for name, root in (("copy", PathIsDirectoryError), ("move", BusyError)):
            with refused(PathIsDirectoryError, path="/dir"):
                await getattr(fs, name)("/from", "/dir")
            with refused(root, path="/"):
                await getattr(fs, name)("/from", "/")
            for target in ("/dir/file/below", "/from/below"):
                with refused(PathNotDirectoryError):
                    await getattr(fs, name)("/from", target)
        assert await self.content() == {"/from": b"kept", "/dir/file": b"kept"}

    async def test_a_directory_is_copied_only_when_asked(self, fs: Filesystem) -> None:
        await self._make_trees()
        await fs.make_dir("/src/empty")
        with refused(PathIsDirectoryError, path="/src"):
            await fs.copy("/src", "/dst")
        assert not await fs.exists("/dst")
        await fs.copy("/src", "/dst/new", recursive=True)
        assert await self.content() == FILES | _moved(FILES, "/src", "/dst/new")
        assert await fs.is_dir("/dst/new/empty")

    async def test_a_directory_is_moved_whole(self, fs: Filesystem) -> None:
        await self._make_trees()
        await fs.make_dir("/src/empty")
        await fs.move("/src", "/dst/new")
        assert await self.content() == {"/src2/d": b"untouched"} | _moved(FILES, "/src", "/dst/new")
        assert not await fs.exists("/src")
        assert await fs.is_dir("/dst/new/empty")

    async def test_an_empty_directory_is_copied_and_moved(self, fs: Filesystem) -> None:
        await fs.make_dir("/empty")
        await fs.copy("/empty", "/copied", recursive=True)
        await fs.move("/empty", "/moved")
        assert await self.names() == {"/copied", "/moved"}

    async def test_a_tree_is_copied_twice_without_nesting(self, fs: Filesystem) -> None:
        await self._make_trees()
        for _ in range(2):
            await fs.copy("/src", "/dst", recursive=True)
        assert await self.content() == FILES | _moved(FILES, "/src", "/dst")

    async def test_a_tree_is_merged_into_a_directory_that_is_there(self, fs: Filesystem) -> None:
        await self._make_trees()
        await self.put("/dst/a", b"replaced")
        await self.put("/dst/other", b"stays")
        await fs.copy("/src", "/dst", recursive=True)
        assert await self.content() == FILES | _moved(FILES, "/src", "/dst") | {"/dst/other": b"stays"}

    async def test_into_itself_is_refused(self, fs: Filesystem) -> None:
        await self._make_trees()
        for target in ("/src/inside", "/src/sub/deep/inside", "/src/sub"):
            with refused(InvalidArgumentError):
                await fs.copy("/src", target, recursive=True)
            with refused(InvalidArgumentError):
                await fs.move("/src", target)
        assert await self.content() == FILES

    async def test_a_name_with_the_same_beginning_is_not_inside(self, fs: Filesystem) -> None:
        await self._make_trees()
        await fs.copy("/src", "/src-copy", recursive=True)
        await fs.move("/src", "/srcs")
        assert await self.content() == {"/src2/d": b"untouched"} | _moved(FILES, "/src", "/src-copy") | _moved(
            FILES, "/src", "/srcs"
        )

    async def test_a_directory_does_not_replace_a_file(self, fs: Filesystem) -> None:
        await self._make_trees()
        await self.put("/file", b"kept")
        before = await self.content()
        with refused(PathNotDirectoryError, path="/file"):
            await fs.copy("/src", "/file", recursive=True)
        with refused(PathNotDirectoryError, path="/file"):
            await fs.move("/src", "/file")
        with refused(PathExistsError, path="/file"):
            await fs.copy("/src", "/file", recursive=True, overwrite=False)
        with refused(PathExistsError, path="/file"):
            await fs.move("/src", "/file", overwrite=False)
        assert await self.content() == before

    async def test_progress_ends_at_the_whole(self, fs: Filesystem) -> None:
        await self._make_trees()
        seen: list[Progress] = []
        await fs.copy("/src", "/dst", recursive=True, progress=seen.append)
        assert (seen[-1].files_done, seen[-1].bytes_done) == (3, 3)
        done = [(step.files_done, step.bytes_done) for step in seen]
        assert done == sorted(done), "progress went backwards"

    async def test_a_file_onto_one_that_changed_is_stale(self, fs: Filesystem) -> None:
        if (await fs.capabilities("/to")).conditional_write == "none":
            return
        for name in ("copy", "move"):
            await self.put("/from", b"new")
            seen = await fs.write_bytes("/to", b"seen")
            await self.poke(StoragePath("/to"), b"changed")
            with refused(StaleFileError, path="/to"):
                await getattr(fs, name)("/from", "/to", expected_version=seen.version or "")
            assert await self.content() == {"/from": b"new", "/to": b"changed"}

    async def _make_trees(self) -> None:
        for path, data in FILES.items():
            await self.put(path, data)


def _moved(files: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {new + path.removeprefix(old): data for path, data in files.items() if path.startswith(f"{old}/")}
