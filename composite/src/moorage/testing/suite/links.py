"""Symbolic links, where the store has them; nothing leaves the root through one."""

from __future__ import annotations

import pytest

from moorage import (
    Capabilities,
    Filesystem,
    Kind,
    LinkLoopError,
    PathEscapeError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
    WriteOptions,
)
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused
from moorage.testing.suite.calls import mutating_calls, reading_calls

OUTSIDE = ("/etc/passwd", "../../../../../../etc/passwd", "/etc", "/tmp/../etc/hostname")


class Links(Harness):
    @pytest.fixture
    async def links(self, fs: Filesystem, can: Capabilities) -> bool:
        """Whether there are any. Where not, nothing that the store lists is one: checked here."""
        if can.symlinks:
            return True
        await self.put("/dir/file")
        assert {entry.kind for entry in await fs.list_dir("/", recursive=True)} == {Kind.FILE, Kind.DIRECTORY}
        stat = await fs.provider.copy(StoragePath("/dir/file"), StoragePath("/copy"), WriteOptions(follow_links=False))
        assert stat.is_file
        return False

    async def test_stat_and_read_follow_and_a_listing_does_not(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.put("/dir/file", b"target")
        await self.link(StoragePath("/to-file"), "dir/file")
        await self.link(StoragePath("/to-dir"), "dir")
        assert (await fs.stat("/to-file")).kind is Kind.FILE
        assert (await fs.stat("/to-dir")).kind is Kind.DIRECTORY
        assert await fs.read_bytes("/to-file") == await fs.read_bytes("/to-dir/file") == b"target"
        kinds = {entry.name: entry.kind for entry in await fs.list_dir("/", recursive=True)}
        assert kinds == {"dir": Kind.DIRECTORY, "file": Kind.FILE, "to-file": Kind.LINK, "to-dir": Kind.LINK}

    async def test_a_write_through_a_link_changes_the_target_and_keeps_the_link(
        self, fs: Filesystem, links: bool
    ) -> None:
        if not links:
            return
        await self.put("/dir/file", b"old")
        await self.link(StoragePath("/link"), "dir/file")
        await fs.write_bytes("/link", b"new")
        await fs.append_bytes("/link", b"er")
        assert await self.peek(StoragePath("/dir/file")) == b"newer"
        assert {entry.name: entry.kind for entry in await fs.list_dir("/")}["link"] is Kind.LINK

    async def test_a_delete_removes_the_link_alone(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.put("/dir/file", b"kept")
        for target in ("dir/file", "dir", "nowhere", "loop"):
            await self.link(StoragePath("/loop"), target)
            await fs.delete("/loop")
            assert await self.names() == {"/dir", "/dir/file"}, target

    async def test_a_dangling_link_is_a_link_and_cannot_be_read(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.link(StoragePath("/dangling"), "nowhere")
        assert (await fs.stat("/dangling")).kind is Kind.LINK
        assert [entry.kind for entry in await fs.list_dir("/")] == [Kind.LINK]
        with refused(PathNotFoundError, path="/dangling"):
            await fs.read_bytes("/dangling")

    async def test_a_loop_is_an_error_of_its_own_and_fails_no_listing(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.link(StoragePath("/one"), "two")
        await self.link(StoragePath("/two"), "one")
        with refused(LinkLoopError, path="/one"):
            await fs.read_bytes("/one")
        with refused(LinkLoopError, path="/one/below"):
            await fs.read_bytes("/one/below")
        assert [entry.name for entry in await fs.list_dir("/")] == ["one", "two"]

    async def test_nothing_outside_is_read_made_or_removed(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        for index, target in enumerate(OUTSIDE):
            await self.link(StoragePath(f"/out-{index}"), target)
            await self._check_escape_refused(fs, f"/out-{index}/below", "stat", "read_bytes", "write_bytes", "make_dir")
            await self._check_escape_refused(
                fs, f"/out-{index}", "read_bytes", "write_bytes", "append_bytes", "list_dir"
            )
            (entry,) = [entry for entry in await fs.list_dir("/") if entry.name == f"out-{index}"]
            assert (entry.kind, entry.stat.link_target) == (Kind.LINK, None)
            await fs.delete(f"/out-{index}")
        assert await self.names() == set()

    async def test_a_recursive_removal_follows_no_link(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.put("/kept/file", b"kept")
        await self.put("/gone/file")
        await self.link(StoragePath("/gone/to-dir"), "../kept")
        await self.link(StoragePath("/gone/to-outside"), "/etc")
        await fs.remove_dir("/gone", recursive=True)
        assert await self.content() == {"/kept/file": b"kept"}

    async def test_a_link_is_no_directory_to_remove(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.put("/dir/file")
        await self.link(StoragePath("/link"), "dir")
        for recursive in (False, True):
            with refused(PathNotDirectoryError, path="/link"):
                await fs.remove_dir("/link", recursive=recursive)
        assert await self.names() == {"/dir", "/dir/file", "/link"}

    async def test_a_copy_follows_and_a_move_does_not(self, fs: Filesystem, links: bool) -> None:
        if not links:
            return
        await self.put("/file", b"target")
        await self.link(StoragePath("/link"), "file")
        await fs.copy("/link", "/copied")
        await fs.move("/link", "/moved")
        kinds = {entry.name: entry.kind for entry in await fs.list_dir("/")}
        assert kinds == {"copied": Kind.FILE, "file": Kind.FILE, "moved": Kind.LINK}
        assert await fs.read_bytes("/moved") == await fs.read_bytes("/copied") == b"target"

    async def _check_escape_refused(self, fs: Filesystem, path: str, *names: str) -> None:
        calls = reading_calls(fs, path) | mutating_calls(fs, path)
        for name in names:
            with refused(PathEscapeError, path=path):
                await calls[name]()
