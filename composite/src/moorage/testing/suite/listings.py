"""Listing, walking, matching and counting."""

from __future__ import annotations

import anyio

from moorage import Capabilities, Entry, Filesystem, Kind, PathNotDirectoryError, PathNotFoundError, StoragePath
from moorage.testing.harness import Harness
from moorage.testing.iterating import closing, collect
from moorage.testing.refusing import refused

TREE = ("/a.txt", "/b.md", "/.hidden", "/dir/a.txt", "/dir/sub/c.txt", "/dir/sub/deep/d.md", "/dir2/e.txt", "/[slug]/f")


class Listings(Harness):
    async def test_children_are_listed_sorted_each_once_with_their_stat(self, fs: Filesystem) -> None:
        await self._make_tree()
        entries = await fs.list_dir("/")
        assert [entry.name for entry in entries] == sorted([".hidden", "[slug]", "a.txt", "b.md", "dir", "dir2"])
        for entry in entries:
            await self._check_entry(fs, entry)

    async def test_a_recursive_listing_is_everything_below_once(self, fs: Filesystem) -> None:
        await self._make_tree()
        for top in ("/", "/dir"):
            entries = await fs.list_dir(top, recursive=True)
            paths = [str(entry.path) for entry in entries]
            assert len(paths) == len(set(paths))
            assert set(paths) == {path for path in _with_parents(TREE) if StoragePath(path).is_below(StoragePath(top))}
            for entry in entries:
                await self._check_entry(fs, entry)

    async def test_a_depth_can_be_set(self, fs: Filesystem) -> None:
        await self._make_tree()
        for depth in (1, 2, 3, 9):
            paths = {str(entry.path) for entry in await fs.list_dir("/", recursive=True, max_depth=depth)}
            assert paths == {path for path in _with_parents(TREE) if len(StoragePath(path).parts) <= depth}, depth

    async def test_a_stream_is_the_same_as_the_list(self, fs: Filesystem) -> None:
        await self._make_tree()
        for recursive in (False, True):
            listed = {(entry.path, entry.kind) for entry in await fs.list_dir("/", recursive=recursive)}
            streamed = await collect(fs.scan_dir("/", recursive=recursive))
            assert {(entry.path, entry.kind) for entry in streamed} == listed
            assert len(streamed) == len(listed)

    async def test_a_stream_can_be_left_early(self, fs: Filesystem) -> None:
        await self._make_tree()
        async with closing(fs.scan_dir("/", recursive=True)) as entries:
            async for entry in entries:
                assert entry.path is not None
                break
        assert len(await fs.list_dir("/")) == 6

    async def test_what_is_missing_or_a_file_is_refused_and_not_empty(self, fs: Filesystem) -> None:
        await self.put("/file")
        for recursive in (False, True):
            for path in ("/missing", "/no/parent", "/fil"):
                with refused(PathNotFoundError, path=path):
                    await fs.list_dir(path, recursive=recursive)
                with refused(PathNotFoundError, path=path):
                    await collect(fs.scan_dir(path, recursive=recursive))
            with refused(PathNotDirectoryError, path="/file"):
                await fs.list_dir("/file", recursive=recursive)

    async def test_what_another_program_stored_is_listed(self, fs: Filesystem) -> None:
        assert await fs.list_dir("/") == []
        await self.poke(StoragePath("/dir/one"), b"1")
        assert [entry.name for entry in await fs.list_dir("/dir")] == ["one"]
        await self.poke(StoragePath("/dir/two"), b"2")
        assert [entry.name for entry in await fs.list_dir("/dir")] == ["one", "two"]
        assert await fs.read_bytes("/dir/two") == b"2"

    async def test_a_time_is_the_same_listed_and_asked_for(self, fs: Filesystem) -> None:
        await self.put("/file")
        (entry,) = await fs.list_dir("/")
        stat = await fs.stat("/file")
        assert (entry.stat.modified_at, entry.stat.version) == (stat.modified_at, stat.version)

    async def test_neighbours_with_a_common_beginning_stay_apart(self, fs: Filesystem, can: Capabilities) -> None:
        paths = ["/data/x", "/data2/x", "/data.d/x", "/data x/x", "/dat"]
        for path in paths:
            await self.put(path)
        assert [str(entry.path) for entry in await fs.list_dir("/data", recursive=True)] == ["/data/x"]
        assert len(await fs.list_dir("/")) == 5

    async def test_a_large_directory_is_listed_whole(self, fs: Filesystem) -> None:
        names = [f"file-{index:05d}" for index in range(self.keys)]
        await self._make_many(fs, "/large", names)
        entries = await fs.list_dir("/large")
        assert [entry.name for entry in entries] == names
        assert {entry.kind for entry in entries} == {Kind.FILE}
        assert {entry.stat.size for entry in entries} == {len("file-00000")}
        streamed = await collect(fs.scan_dir("/", recursive=True))
        assert len(streamed) == len({entry.path for entry in streamed}) == self.keys + 1
        matched = await fs.list_dir("/large", pattern="file-0000?")
        assert [entry.name for entry in matched] == [name for name in names if name < "file-00010"]
        assert (await fs.du("/large")).files == self.keys
        await fs.remove_dir("/large", recursive=True)
        assert await self.names() == set()

    async def test_a_walk_meets_everything_and_hidden_names_when_asked(self, fs: Filesystem) -> None:
        await self._make_tree()
        everything = set(_with_parents(TREE))
        assert {str(entry.path) for entry in await collect(fs.walk("/", hidden=True))} == everything
        assert {str(entry.path) for entry in await collect(fs.walk("/"))} == everything - {"/.hidden"}
        shallow = {str(entry.path) for entry in await collect(fs.walk("/dir", max_depth=1))}
        assert shallow == {"/dir/a.txt", "/dir/sub"}

    async def test_patterns_match_segments_and_trees(self, fs: Filesystem) -> None:
        await self._make_tree()
        wanted = {
            "/*.txt": {"/a.txt"},
            "/**/*.txt": {"/a.txt", "/dir/a.txt", "/dir/sub/c.txt", "/dir2/e.txt"},
            "/dir?/*": {"/dir2/e.txt"},
            "/{a.txt,b.md}": {"/a.txt", "/b.md"},
            "/[ab].*": {"/a.txt", "/b.md"},
            "/dir/**/d.md": {"/dir/sub/deep/d.md"},
            "/[slug]/f": {"/[slug]/f"},
            "/.h*": {"/.hidden"},
            "/nothing/*": set[str](),
        }
        for pattern, paths in wanted.items():
            assert {str(entry.path) for entry in await collect(fs.glob(pattern))} == paths, pattern

    async def test_usage_counts_files_directories_and_bytes(self, fs: Filesystem) -> None:
        await self._make_tree()
        usage = await fs.du("/dir")
        assert (usage.files, usage.directories, usage.size) == (3, 2, 3 * len("content"))
        assert usage.errors == ()

    async def _make_tree(self) -> None:
        for path in TREE:
            await self.put(path, b"content")

    async def _make_many(self, fs: Filesystem, directory: str, names: list[str]) -> None:
        """Write them ``fan_out`` at once, each with its own name as its content."""
        waiting = iter(names)

        async def worker() -> None:
            for name in waiting:
                await fs.write_bytes(f"{directory}/{name}", name.encode())

        async with anyio.create_task_group() as group:
            for _ in range(self.fan_out):
                group.start_soon(worker)

    async def _check_entry(self, fs: Filesystem, entry: Entry) -> None:
        assert entry.path is not None
        stat = await fs.stat(entry.path)
        assert (entry.kind, entry.stat.size, entry.raw_name) == (stat.kind, stat.size, None)
        if entry.is_file:
            assert (entry.stat.version, entry.stat.modified_at) == (stat.version, stat.modified_at)


def _with_parents(paths: tuple[str, ...]) -> list[str]:
    """The paths and every directory above them, without the root."""
    found = {StoragePath(path) for path in paths}
    found |= {parent for path in list(found) for parent in path.parents if not parent.is_root}
    return sorted(str(path) for path in found)
