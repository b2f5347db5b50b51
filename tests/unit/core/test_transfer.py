"""Copies and moves between mounts, and of whole trees."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from moorage import (
    DELETE,
    WRITE,
    Body,
    CompositeFilesystem,
    DeleteOptions,
    Filesystem,
    InexpressibleNameError,
    InvalidArgumentError,
    Kind,
    LimitExceededError,
    Limits,
    MemoryFilesystem,
    MemoryProvider,
    MoorageError,
    PathExistsError,
    PathIsDirectoryError,
    Progress,
    ReadOnlyError,
    StaleFileError,
    Stat,
    StorageError,
    StoragePath,
    TransferError,
    UnavailableError,
    UnsupportedError,
    WriteOptions,
)
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage_local import LocalFilesystem

pytestmark = pytest.mark.anyio

TREE = {"/a": b"1", "/b/c": b"22", "/b/d/e": b"333", "/b/d/f.txt": b""}


async def plant(fs: Filesystem, at: str) -> None:
    for path, data in TREE.items():
        await fs.write_bytes(at + path, data)
    await fs.make_dir(at + "/empty/inner")


async def content(fs: Filesystem, at: str) -> dict[str, bytes | None]:
    """Relative path to bytes, or ``None`` for a directory."""
    found: dict[str, bytes | None] = {}
    async for entry in fs.scan_dir(at, recursive=True):
        relative = str(entry.path)[len(at) :]
        found[relative] = await fs.read_bytes(str(entry.path)) if entry.is_file else None
    return found


FULL = {**TREE, "/b": None, "/b/d": None, "/empty": None, "/empty/inner": None}


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[CompositeFilesystem]:
    mounts = {
        "/memory": MemoryFilesystem(),
        "/local": LocalFilesystem(tmp_path / "local"),
        "/objects": Filesystem(ObjectStoreProvider(MemoryObjectClient())),
    }
    async with CompositeFilesystem(mounts) as opened:
        yield opened


@pytest.mark.parametrize("src", ["/memory", "/local", "/objects"])
@pytest.mark.parametrize("dst", ["/memory", "/local", "/objects"])
async def test_a_tree_arrives_whole_wherever_it_goes(tree: CompositeFilesystem, src: str, dst: str) -> None:
    await plant(tree, src + "/t")
    reports: list[Progress] = []
    await tree.copy(src + "/t", dst + "/deep/copy", recursive=True, progress=reports.append)
    assert await content(tree, dst + "/deep/copy") == FULL
    assert await content(tree, src + "/t") == FULL
    last = reports[-1]
    assert (last.files_done, last.files_total, last.bytes_done, last.bytes_total) == (4, 4, 6, 6)
    assert all(earlier.files_done <= later.files_done for earlier, later in pairwise(reports))

    await tree.move(src + "/t", dst + "/moved", progress=reports.append)
    assert await content(tree, dst + "/moved") == FULL
    assert not await tree.exists(src + "/t")


async def test_a_tree_merges_into_a_directory_and_does_not_nest(tree: CompositeFilesystem) -> None:
    await plant(tree, "/memory/t")
    await tree.write_bytes("/local/t/b/c", b"older")
    await tree.write_bytes("/local/t/kept", b"kept")
    for _ in range(2):
        await tree.copy("/memory/t", "/local/t", recursive=True)
    assert await content(tree, "/local/t") == {**FULL, "/kept": b"kept"}
    with pytest.raises(TransferError) as raised:
        await tree.copy("/memory/t", "/local/t", recursive=True, overwrite=False)
    assert {type(error) for _, error in raised.value.failed} == {PathExistsError}
    assert await content(tree, "/local/t") == {**FULL, "/kept": b"kept"}


async def test_a_tree_copied_to_a_mount_point_lands_in_it(tree: CompositeFilesystem) -> None:
    await plant(tree, "/memory/t")
    await tree.copy("/memory/t", "/local", recursive=True)
    assert await content(tree, "/local") == FULL


async def test_on_a_store_without_directories_only_empty_ones_are_marked(tree: CompositeFilesystem) -> None:
    client = MemoryObjectClient()
    await plant(tree, "/memory/t")
    with_store = tree.with_mount("/store", ObjectStoreProvider(client))
    async with with_store:
        await with_store.copy("/memory/t", "/store/t", recursive=True)
        assert await content(with_store, "/store/t") == FULL
    stored = {key async for page in client.list("") for key in (item.key for item in page.objects)}
    assert {key for key in stored if key.endswith("/")} == {"t/empty/inner/"}


async def test_media_type_and_mode_are_kept(tree: CompositeFilesystem, tmp_path: Path) -> None:
    await tree.write_bytes("/memory/page", b"<p>", media_type="text/html")
    await tree.copy("/memory/page", "/objects/page")
    assert (await tree.stat("/objects/page")).media_type == "text/html"
    await tree.write_bytes("/local/tool", b"#!")
    (tmp_path / "local" / "tool").chmod(0o755)
    async with tree.with_mount("/other", LocalFilesystem(tmp_path / "other")) as both:
        await both.copy("/local/tool", "/other/tool")
    assert (tmp_path / "other" / "tool").stat().st_mode & 0o777 == 0o755


async def test_links_are_recreated_within_local_and_copied_or_reported_elsewhere(
    tree: CompositeFilesystem, tmp_path: Path
) -> None:
    base = tmp_path / "local" / "t"
    await tree.write_bytes("/local/t/file", b"content")
    await tree.make_dir("/local/t/directory")
    (base / "to-file").symlink_to("file")
    (base / "to-directory").symlink_to("directory")
    (base / "dangling").symlink_to("nothing")

    await tree.copy("/local/t", "/local/copy", recursive=True)
    assert os.readlink(tmp_path / "local" / "copy" / "to-file") == "file"
    assert os.readlink(tmp_path / "local" / "copy" / "dangling") == "nothing"

    with pytest.raises(TransferError) as raised:
        await tree.copy("/local/t", "/memory/t", recursive=True)
    assert {path for path, _ in raised.value.failed} == {"/local/t/to-directory", "/local/t/dangling"}
    assert await tree.read_bytes("/memory/t/to-file") == b"content"

    with pytest.raises(TransferError):
        await tree.move("/local/t", "/memory/moved")
    assert sorted(os.listdir(base)) == ["dangling", "directory", "to-directory"]
    assert await tree.read_bytes("/memory/moved/to-file") == b"content"
    assert await tree.read_bytes("/memory/moved/file") == b"content"


async def test_two_mounts_of_one_storage_lose_nothing(tmp_path: Path) -> None:
    mounts = {
        "/one": LocalFilesystem(tmp_path / "base"),
        "/two": LocalFilesystem(tmp_path / "base"),
        "/part": LocalFilesystem(tmp_path / "base" / "part"),
    }
    async with CompositeFilesystem(mounts) as tree:
        await tree.write_bytes("/one/part/file", b"content")
        for other in ("/two/part/file", "/part/file"):
            await tree.move("/one/part/file", other)
            await tree.copy("/one/part/file", other)
            assert await tree.read_bytes("/one/part/file") == b"content"
        for inside in ("/part/below", "/two/part/below"):
            with pytest.raises(InvalidArgumentError):
                await tree.copy("/one/part", inside, recursive=True)
            with pytest.raises(InvalidArgumentError):
                await tree.move("/one/part", inside)
        assert await content(tree, "/one") == {"/part": None, "/part/file": b"content"}


class Interfering(MemoryProvider):
    """Lets somebody change a file just after it was read."""

    async def read(self, path, *, start=0, end=None):  # type: ignore[no-untyped-def]
        reader = await super().read(path, start=start, end=end)
        await super().write(path, b"changed meanwhile")
        return reader


async def test_a_source_that_changed_meanwhile_stays(tmp_path: Path) -> None:
    async with CompositeFilesystem({"/from": Interfering(), "/to": MemoryFilesystem()}) as tree:
        await tree.write_bytes("/from/file", b"as read")
        with pytest.raises(StaleFileError) as raised:
            await tree.move("/from/file", "/to/file")
        assert raised.value.path == "/from/file"
        assert await tree.read_bytes("/to/file") == b"as read"
        assert await tree.exists("/from/file")


class Failing(MemoryProvider):
    """Refuses to take files whose name says so, and spoils others."""

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if "refused" in path.name:
            raise UnavailableError("no answer", path=str(path))
        if "spoiled" in path.name:
            return await super().write(path, b"short", options)
        return await super().write(path, body, options)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        await super().delete(path, options)


async def test_a_failure_part_way_says_what_was_moved_and_what_was_not() -> None:
    async with CompositeFilesystem({"/from": MemoryFilesystem(), "/to": Failing()}) as tree:
        await plant(tree, "/from/t")
        await tree.write_bytes("/from/t/refused", b"x")
        with pytest.raises(TransferError) as raised:
            await tree.move("/from/t", "/to/t")
        assert sorted(raised.value.done) == sorted("/from/t" + path for path in TREE)
        assert [(path, type(error), error.path) for path, error in raised.value.failed] == [
            ("/from/t/refused", UnavailableError, "/to/t/refused")
        ]
        assert await tree.read_bytes("/from/t/refused") == b"x"
        assert await content(tree, "/to/t") == FULL
        assert not await tree.exists("/from/t/a")


async def test_what_arrives_differently_is_removed_again() -> None:
    async with CompositeFilesystem({"/from": MemoryFilesystem(), "/to": Failing()}) as tree:
        await tree.write_bytes("/from/file", b"longer than that")
        with pytest.raises(StorageError) as raised:
            await tree.move("/from/file", "/to/spoiled")
        assert raised.value.path == "/to/spoiled"
        assert not await tree.exists("/to/spoiled")
        assert await tree.read_bytes("/from/file") == b"longer than that"


async def test_a_name_that_no_path_can_express_refuses_the_tree_before_it_starts(tmp_path: Path) -> None:
    async with CompositeFilesystem({"/l": LocalFilesystem(tmp_path), "/m": MemoryFilesystem()}) as tree:
        await tree.write_bytes("/l/t/good", b"x")
        (tmp_path / "t" / "bad\nname").write_bytes(b"y")
        for call in (tree.copy("/l/t", "/m/t", recursive=True), tree.move("/l/t", "/m/t")):
            with pytest.raises(InexpressibleNameError):
                await call
        assert await tree.list_dir("/m") == []
        assert sorted(os.listdir(tmp_path / "t")) == ["bad\nname", "good"]


async def test_read_only_sides() -> None:
    writable, other = MemoryFilesystem(), MemoryFilesystem()
    await plant(other, "/t")
    async with CompositeFilesystem({"/rw": writable, "/rw2": other}) as tree:
        await plant(tree, "/rw/t")
    async with CompositeFilesystem({"/rw": MemoryFilesystem(), "/ro": MemoryFilesystem(read_only=True)}) as tree:
        await tree.write_bytes("/rw/f", b"1")
        await plant(tree, "/rw/t")
        for call in (
            tree.copy("/rw/f", "/ro/f"),
            tree.move("/rw/f", "/ro/f"),
            tree.copy("/rw/t", "/ro/t", recursive=True),
            tree.move("/rw/t", "/ro/t"),
            tree.move("/ro/missing", "/rw/x"),
        ):
            with pytest.raises(ReadOnlyError):
                await call
        assert await tree.list_dir("/ro") == []
        assert await tree.read_bytes("/rw/f") == b"1"


async def test_a_large_file_crosses_mounts_in_bounded_memory(tmp_path: Path) -> None:
    size = 96 << 20
    with (tmp_path / "big").open("wb") as file:
        file.truncate(size)
    mounts = {"/a": LocalFilesystem(tmp_path), "/b": LocalFilesystem(tmp_path / "b")}
    async with CompositeFilesystem(mounts) as tree:
        seen: list[int] = []
        tracemalloc.start()
        try:
            stat = await tree.copy("/a/big", "/b/big", progress=lambda progress: seen.append(progress.bytes_done))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert stat.size == size
        assert peak < 24 << 20
        assert seen == sorted(seen)
        assert seen[-1] == size
        assert len(seen) > 10


async def test_a_cancelled_move_of_a_tree_leaves_every_file_on_one_side_at_least(tmp_path: Path) -> None:
    async with CompositeFilesystem({"/m": MemoryFilesystem(), "/l": LocalFilesystem(tmp_path)}) as tree:
        for number in range(300):
            await tree.write_bytes(f"/m/t/{number}", str(number).encode())
        with anyio.CancelScope() as scope:
            await tree.move("/m/t", "/l/t", progress=lambda p: scope.cancel() if p.files_done == 50 else None)
        assert scope.cancelled_caught
        for number in range(300):
            sides = [await tree.exists(f"{side}/t/{number}") for side in ("/m", "/l")]
            assert any(sides)
        assert await tree.exists("/m/t/299")
        assert [entry async for entry in tree.walk("/l", hidden=True) if entry.kind is Kind.OTHER] == []


async def test_a_failed_mount_refuses_a_tree_before_it_starts() -> None:
    class Down(MemoryProvider):
        async def start(self) -> None:
            raise UnavailableError("down")

    async with CompositeFilesystem({"/up": MemoryFilesystem(), "/d/own": Down(), "/d/ok": MemoryFilesystem()}) as tree:
        await tree.write_bytes("/d/ok/f", b"1")
        with pytest.raises(MoorageError, match="down"):
            await tree.copy("/d", "/up/copy", recursive=True)
        assert await tree.list_dir("/up") == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_stream_left_half_way_is_closed(backend: str, tmp_path: Path) -> None:
    closed: list[str] = []

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 1000
        finally:
            closed.append("closed")

    async def use() -> None:
        async with CompositeFilesystem({"/l": LocalFilesystem(tmp_path), "/m": Limits(MemoryProvider())}) as tree:
            limited = Filesystem(Limits(tree.provider, max_file_size=10_000))
            for path in ("/l/f", "/m/f"):
                with pytest.raises(LimitExceededError):
                    await limited.write_stream(path, endless())
            await tree.write_bytes("/l/d/f", b"")
            with pytest.raises(PathIsDirectoryError):
                await tree.write_stream("/l/d", endless())

    anyio.run(use, backend=backend)
    assert len(closed) in (2, 3)  # a stream that was refused before its first chunk never began


async def test_a_link_to_a_directory_does_not_carry_its_target_to_another_mount(tmp_path: Path) -> None:
    mounts = {"/one": LocalFilesystem(tmp_path / "one"), "/two": LocalFilesystem(tmp_path / "two")}
    async with CompositeFilesystem(mounts) as tree:
        await tree.write_bytes("/one/real/file", b"stays")
        (tmp_path / "one" / "link").symlink_to("real")
        with pytest.raises(UnsupportedError) as raised:
            await tree.move("/one/link", "/two/x")
        assert raised.value.path == "/one/link"
        assert await tree.read_bytes("/one/real/file") == b"stays"
        assert (tmp_path / "one" / "link").is_symlink()
        assert not await tree.exists("/two/x")


@pytest.mark.parametrize("inner", ["d", "d/sub", "d/sub/deeper"])
async def test_a_directory_is_not_copied_into_itself_through_a_mount_further_in(tmp_path: Path, inner: str) -> None:
    mounts = {"/m1": LocalFilesystem(tmp_path), "/m2": LocalFilesystem(tmp_path / inner)}
    async with CompositeFilesystem(mounts) as tree:
        await tree.write_bytes("/m1/d/file", b"1")
        for call in (tree.copy("/m1/d", "/m2/x/y", recursive=True), tree.move("/m1/d", "/m2/x/y")):
            with pytest.raises(InvalidArgumentError, match="into itself"):
                await call
        assert not await tree.exists("/m2/x")
        assert await tree.read_bytes("/m1/d/file") == b"1"
    nested = {"/v/m1": LocalFilesystem(tmp_path), "/m2": LocalFilesystem(tmp_path / inner)}
    async with CompositeFilesystem(nested) as tree:
        with pytest.raises(InvalidArgumentError, match="into itself"):
            await tree.copy("/v", "/m2/x", recursive=True)


async def test_a_directory_onto_itself_through_two_mounts_is_left_alone(tmp_path: Path) -> None:
    async with CompositeFilesystem({"/a": LocalFilesystem(tmp_path), "/b": LocalFilesystem(tmp_path)}) as tree:
        await tree.write_bytes("/a/d/file", b"1")
        await tree.move("/a/d", "/b/d")
        await tree.copy("/a/d", "/b/d", recursive=True)
        assert await content(tree, "/a") == {"/d": None, "/d/file": b"1"}


async def test_an_error_of_the_callers_callback_is_the_callers() -> None:
    async with CompositeFilesystem({"/a": MemoryFilesystem(), "/b": MemoryFilesystem()}) as tree:
        await plant(tree, "/a/t")

        def report(progress: Progress) -> None:
            raise ZeroDivisionError("mine")

        for call in (
            tree.copy("/a/t", "/b/t", recursive=True, progress=report),
            tree.move("/a/t", "/b/u", progress=report),
            tree.copy("/a/t/a", "/b/a", progress=report),
        ):
            with pytest.raises(ZeroDivisionError, match="mine"):
                await call


async def test_an_expectation_of_a_tree_is_refused_before_anything_is_made() -> None:
    async with MemoryFilesystem() as fs:
        await plant(fs, "/t")
        for call in (
            fs.copy("/t", "/u", recursive=True, expected_version="x"),
            fs.copy("/t/empty", "/u", recursive=True, expected_version="x"),
        ):
            with pytest.raises(InvalidArgumentError, match="single file"):
                await call
        assert not await fs.exists("/u")


async def test_an_expectation_holds_also_where_nothing_would_change() -> None:
    async with MemoryFilesystem() as fs:
        stat = await fs.write_bytes("/f", b"1")
        assert stat.version is not None
        assert stat.modified_at is not None
        await fs.copy("/f", "/f", expected_version=stat.version)
        await fs.move("/f", "/f", expected_mtime=stat.modified_at)
        for call in (
            fs.copy("/f", "/f", expected_version="other"),
            fs.move("/f", "/f", expected_mtime=stat.modified_at.replace(year=2001)),
        ):
            with pytest.raises(StaleFileError):
                await call


async def test_progress_of_one_file_knows_its_size() -> None:
    async with CompositeFilesystem({"/a": MemoryFilesystem(), "/b": MemoryFilesystem()}) as tree:
        await tree.write_bytes("/a/f", b"12345")
        seen: list[Progress] = []
        await tree.copy("/a/f", "/b/f", progress=seen.append)
        assert {(progress.bytes_total, progress.files_total) for progress in seen} == {(5, 1)}
