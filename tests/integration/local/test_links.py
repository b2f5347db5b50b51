"""Links in a root: followed within it, refused out of it, and never the reason why something else fails."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from moorage import (
    Kind,
    LinkLoopError,
    MoorageError,
    PathEscapeError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    StaleFileError,
    StoragePath,
    WriteOptions,
)
from moorage_local import LocalFilesystem

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("road")]


async def test_a_write_changes_the_target_and_keeps_the_link(root: Path, fs: LocalFilesystem) -> None:
    (root / "dir").mkdir()
    (root / "link").symlink_to("dir/file")
    (root / "to-dir").symlink_to(root / "dir")
    assert (await fs.stat("/link")).kind is Kind.LINK
    await fs.write_bytes("/link", b"one")
    await fs.append_bytes("/link", b" two")
    await fs.write_bytes("/to-dir/other", b"three")
    assert os.readlink(root / "link") == "dir/file"
    assert (root / "dir/file").read_bytes() == b"one two"
    assert (root / "dir/other").read_bytes() == b"three"


async def test_a_dangling_link_makes_its_target_unless_that_is_outside(root: Path, fs: LocalFilesystem) -> None:
    (root / "deep").symlink_to("not/yet/there")
    (root / "out").symlink_to("../nowhere")
    with pytest.raises(PathNotFoundError):
        await fs.write_bytes("/deep", b"x", create_parents=False)
    with pytest.raises(PathExistsError):
        await fs.write_bytes("/deep", b"x", overwrite=False)
    await fs.write_bytes("/deep", b"x")
    assert (root / "not/yet/there").read_bytes() == b"x"
    for call in (fs.write_bytes("/out", b"x"), fs.append_bytes("/out", b"x"), fs.copy("/deep", "/out")):
        with pytest.raises(PathEscapeError) as caught:
            await call
        assert caught.value.path == "/out"
    assert not (root.parent / "nowhere").exists()


@pytest.mark.parametrize("links", [39, 40, 41])
async def test_forty_links_are_followed_and_no_more(root: Path, fs: LocalFilesystem, links: int) -> None:
    (root / "0").write_bytes(b"end")
    for number in range(1, links + 1):
        (root / str(number)).symlink_to(str(number - 1))
    if links <= 40:
        assert await fs.read_bytes(f"/{links}") == b"end"
        return
    for call in (fs.read_bytes(f"/{links}"), fs.stat(f"/{links}"), fs.write_bytes(f"/{links}", b"")):
        with pytest.raises(LinkLoopError):
            await call


async def test_many_steps_up_and_down_are_a_loop_and_not_a_hang(root: Path, fs: LocalFilesystem) -> None:
    (root / "a").mkdir()
    (root / "link").symlink_to("a/../" * 800 + "a")
    with pytest.raises(LinkLoopError):
        await fs.stat("/link")


async def test_steps_up_stay_beneath(root: Path, fs: LocalFilesystem) -> None:
    (root / "a/b").mkdir(parents=True)
    (root / "file").write_bytes(b"found")
    (root / "a/b/up").symlink_to("../../file")
    (root / "a/b/top").symlink_to("../..")
    (root / "a/b/out").symlink_to("../../../root/file")
    assert await fs.read_bytes("/a/b/up") == b"found"
    assert await fs.read_bytes("/a/b/top/file") == b"found"
    assert (await fs.stat("/a/b/top")).is_dir
    with pytest.raises(PathIsDirectoryError):
        await fs.write_bytes("/a/b/top", b"")
    with pytest.raises(PathEscapeError):
        await fs.read_bytes("/a/b/out")


async def test_absolute_targets_below_the_root_count_from_it(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").write_bytes(b"found")
    (root / "absolute").symlink_to(root / "file")
    (root / "beside").symlink_to(f"{root}-other/file")
    assert await fs.read_bytes("/absolute") == b"found"
    targets = {entry.name: entry.stat.link_target for entry in await fs.list_dir("/")}
    assert targets == {"absolute": "/file", "beside": None, "file": None}
    with pytest.raises(PathEscapeError):
        await fs.read_bytes("/beside")


async def test_a_link_that_ends_outside_through_others_shows_no_target(root: Path, fs: LocalFilesystem) -> None:
    (root / "first").symlink_to("second")
    (root / "second").symlink_to("/etc")
    (root / "dangling").symlink_to("nothing")
    (root / "loop").symlink_to("loop")
    targets = {entry.name: entry.stat.link_target for entry in await fs.list_dir("/")}
    assert targets == {"dangling": "nothing", "first": None, "loop": "loop", "second": None}


async def test_the_root_may_be_reached_through_a_link(tmp_path: Path, root: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    (root / "file").write_bytes(b"x")
    (root / "by-alias").symlink_to(tmp_path / "alias" / "file")
    async with LocalFilesystem(tmp_path / "alias") as fs:
        assert await fs.read_bytes("/file") == await fs.read_bytes("/by-alias") == b"x"


async def test_a_copied_link_is_recreated_when_asked(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").write_bytes(b"x")
    (root / "link").symlink_to("file")
    provider = fs.provider
    options = WriteOptions(follow_links=False)
    stat = await provider.copy(StoragePath("/link"), StoragePath("/again"), options)
    assert (stat.kind, stat.link_target) == (Kind.LINK, "file")
    assert os.readlink(root / "again") == "file"
    with pytest.raises(PathExistsError):
        await provider.copy(
            StoragePath("/link"), StoragePath("/again"), WriteOptions(follow_links=False, overwrite=False)
        )
    await provider.copy(StoragePath("/link"), StoragePath("/again"), options)
    assert sorted(path.name for path in root.iterdir()) == ["again", "file", "link"]


async def test_expectations_of_a_link_may_be_its_own_or_its_targets(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").write_bytes(b"x")
    (root / "link").symlink_to("file")
    followed = await fs.stat("/link")
    await fs.write_bytes("/link", b"y", expected_version=followed.version or "")
    (entry,) = [entry for entry in await fs.list_dir("/") if entry.name == "link"]
    await fs.delete("/link", expected_version=entry.stat.version or "")
    (root / "link").symlink_to("file")
    await fs.delete("/link", expected_version=(await fs.stat("/file")).version or "")
    assert [path.name for path in root.iterdir()] == ["file"]


async def test_a_link_moved_onto_what_it_leads_to_changes_nothing(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").write_bytes(b"kept")
    (root / "link").symlink_to("file")
    (root / "further").symlink_to("link")
    for source, target in (("/link", "/file"), ("/further", "/file"), ("/further", "/link")):
        await fs.move(source, target)
    assert [os.readlink(root / name) for name in ("link", "further")] == ["file", "link"]
    assert (root / "file").read_bytes() == b"kept"


async def test_a_tree_put_onto_what_its_links_lead_to_loses_nothing(root: Path, fs: LocalFilesystem) -> None:
    (root / "a").mkdir()
    (root / "b").mkdir()
    (root / "b/link").write_bytes(b"kept")
    (root / "a/link").symlink_to("../b/link")
    await fs.copy("/a", "/b", recursive=True)
    assert (root / "b/link").read_bytes() == b"kept"
    with suppress(MoorageError):
        await fs.move("/a", "/b")
    assert not (root / "b/link").is_symlink()
    assert os.readlink(root / "a/link") == "../b/link"


async def test_a_link_seen_in_a_listing_is_no_expectation_of_its_target(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").write_bytes(b"seen")
    (root / "link").symlink_to("file")
    (entry,) = [entry for entry in await fs.list_dir("/") if entry.name == "link"]
    version, time = entry.stat.version or "", entry.stat.modified_at
    assert time is not None
    (root / "file").write_bytes(b"changed")
    for call in (
        fs.write_bytes("/link", b"stale", expected_version=version),
        fs.write_bytes("/link", b"stale", expected_mtime=time),
        fs.append_bytes("/link", b"stale", expected_version=version),
        fs.copy("/other", "/link", expected_version=version),
    ):
        (root / "other").write_bytes(b"other")
        with pytest.raises(StaleFileError):
            await call
    assert (root / "file").read_bytes() == b"changed"


async def test_no_link_leads_to_a_reserved_name(root: Path, fs: LocalFilesystem) -> None:
    (root / ".moorage-tmp-x").mkdir()
    (root / ".moorage-tmp-x/file").write_bytes(b"hidden")
    (root / "link").symlink_to(".moorage-tmp-x/file")
    (root / "new").symlink_to(".moorage-tmp-new")
    for call in (fs.read_bytes("/link"), fs.stat("/link"), fs.write_bytes("/link", b""), fs.write_bytes("/new", b"")):
        with pytest.raises(PathEscapeError):
            await call
    assert {entry.name: entry.stat.link_target for entry in await fs.list_dir("/")} == {"link": None, "new": None}
