"""Public bug reports about systems of this kind, each as the operations it reduces to, on local disk, bare and behind a
tree; those that object stores have too are in ``tests/unit/objects/test_cases.py``.

X is another client: a second filesystem over the same storage, which shares nothing with the first.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from moorage import (
    CompositeFilesystem,
    Entry,
    Filesystem,
    MemoryFilesystem,
    NoMountError,
    PathEscapeError,
    PathExistsError,
    PathIsDirectoryError,
    PermissionDeniedError,
    Prefix,
    ReadOnlyError,
    StaleFileError,
    StoragePath,
)
from moorage_local import LocalFilesystem, LocalProvider

pytestmark = pytest.mark.anyio


@dataclass
class Storage:
    """One storage and two clients of it."""

    fs: Filesystem
    x: Filesystem


@pytest.fixture(params=["local", "composite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storage]:
    make: Callable[[], Filesystem] = {
        "local": lambda: LocalFilesystem(tmp_path / "base"),
        "composite": lambda: Filesystem(
            Prefix(CompositeFilesystem({"/m": LocalFilesystem(tmp_path / "base")}).provider, "/m")
        ),
    }[request.param]
    async with make() as fs, make() as x:
        yield Storage(fs, x)


def paths(entries: list[Entry]) -> list[str]:
    return [str(entry.path) for entry in entries]


async def test_s3fs_851_what_another_wrote_exists_at_once(storage: Storage) -> None:
    assert not await storage.fs.exists("/p")
    await storage.x.write_bytes("/p", b"1")
    assert await storage.fs.exists("/p")
    assert await storage.fs.read_bytes("/p") == b"1"


async def test_s3fs_657_and_gcsfs_138_647_a_listing_shows_what_another_wrote_since(storage: Storage) -> None:
    await storage.x.write_bytes("/d/1", b"1")
    assert paths(await storage.fs.list_dir("/d", recursive=True)) == ["/d/1"]
    await storage.x.write_bytes("/d/2", b"2")
    assert paths(await storage.fs.list_dir("/d", recursive=True)) == ["/d/1", "/d/2"]
    assert paths(await storage.fs.list_dir("/d")) == ["/d/1", "/d/2"]
    assert await storage.fs.read_bytes("/d/2") == b"2"


async def test_s3fs_492_two_instances_do_not_empty_each_others_listing(storage: Storage) -> None:
    await storage.fs.write_bytes("/d/1", b"1")
    assert paths(await storage.x.list_dir("/", recursive=True)) == ["/d", "/d/1"]
    await storage.fs.aclose()
    assert paths(await storage.x.list_dir("/d")) == ["/d/1"]


async def test_gcsfs_562_a_copied_file_is_a_file(storage: Storage) -> None:
    await storage.fs.write_bytes("/s/f", b"1")
    await storage.fs.copy("/s/f", "/t/f")
    assert await storage.fs.is_file("/t/f")


async def test_mirage_18_a_read_after_a_write_is_of_the_write(storage: Storage) -> None:
    for content in (b"old", b"new", b"newer"):
        await storage.fs.write_bytes("/p", content)
        assert await storage.fs.read_bytes("/p") == content
        assert (await storage.fs.stat("/p")).size == len(content)


async def test_opendal_2086_3199_a_trailing_slash_makes_nothing_exist(storage: Storage) -> None:
    assert not await storage.fs.exists("nope/")
    assert not await storage.fs.is_dir("nope/")


async def test_mastra_21167_a_made_directory_is_in_its_parents_listing(storage: Storage) -> None:
    await storage.fs.make_dir("/parent/d")
    assert paths(await storage.x.list_dir("/parent")) == ["/parent/d"]


async def test_filesystem_spec_390_a_name_of_braces_and_parentheses_is_only_itself(storage: Storage) -> None:
    await storage.fs.write_bytes("/{2}(a)+/x", b"1")
    await storage.fs.write_bytes("/aa/x", b"2")
    found = [str(entry.path) async for entry in storage.fs.glob("/{2}(a)+/*")]
    assert found == ["/{2}(a)+/x"]


async def test_universal_pathlib_76_a_plus_sign_joins_and_lists(storage: Storage) -> None:
    await storage.fs.write_bytes("/a+b/c d", b"1")
    assert paths(await storage.fs.list_dir("/a+b")) == ["/a+b/c d"]
    assert await storage.fs.read_bytes(StoragePath("/a+b") / "c d") == b"1"


async def test_rclone_1472_4228_aws_cli_1639_names_that_look_alike_stay_two_files(storage: Storage) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    await storage.fs.write_bytes(f"/{composed}", b"composed")
    await storage.fs.write_bytes(f"/{decomposed}", b"decomposed")
    assert sorted(paths(await storage.fs.list_dir("/"))) == sorted([f"/{composed}", f"/{decomposed}"])
    assert await storage.fs.read_bytes(f"/{composed}") == b"composed"


async def test_s3fs_394_a_moved_directory_is_complete_there_and_gone_here(storage: Storage) -> None:
    for name in ("a", "b/c", "b/d/e"):
        await storage.fs.write_bytes(f"/dir/{name}", name.encode())
    await storage.fs.move("/dir", "/dst")
    assert not await storage.x.exists("/dir")
    assert paths([entry for entry in await storage.x.list_dir("/dst", recursive=True) if entry.is_file]) == [
        "/dst/a",
        "/dst/b/c",
        "/dst/b/d/e",
    ]


async def test_filesystem_spec_1232_a_directory_not_copied_leaves_no_empty_one(storage: Storage) -> None:
    await storage.fs.write_bytes("/dir/f", b"1")
    with pytest.raises(PathIsDirectoryError):
        await storage.fs.copy("/dir", "/copy", recursive=False)
    assert not await storage.fs.exists("/copy")


async def test_cloudpathlib_277_64_renaming_to_itself_keeps_the_data_and_a_directory_moves(storage: Storage) -> None:
    await storage.fs.write_bytes("/d/p", b"data")
    await storage.fs.move("/d/p", "/d/p")
    await storage.fs.move("/d", "/d")
    await storage.fs.copy("/d/p", "/d//p")
    assert await storage.fs.read_bytes("/d/p") == b"data"
    await storage.fs.move("/d", "/e")
    assert await storage.fs.read_bytes("/e/p") == b"data"


async def test_filesystem_spec_1851_copying_a_directory_twice_does_not_nest(storage: Storage) -> None:
    await storage.fs.write_bytes("/d/f", b"1")
    for _ in range(2):
        await storage.fs.copy("/d/", "/l/d", recursive=True)
    assert paths(await storage.fs.list_dir("/l", recursive=True)) == ["/l/d", "/l/d/f"]


async def test_pyfilesystem2_33_486_across_mounts_and_outside_of_them() -> None:
    async with CompositeFilesystem(
        {"/f1": MemoryFilesystem(), "/f2": MemoryFilesystem(), "/a/b": MemoryFilesystem()}
    ) as fs:
        await fs.write_bytes("/f1/x", b"1")
        await fs.copy("/f1/x", "/f2/x")
        assert await fs.read_bytes("/f2/x") == b"1"
        assert paths(await fs.list_dir("/a")) == ["/a/b"]
        assert paths(await fs.list_dir("/")) == ["/a", "/f1", "/f2"]
        with pytest.raises(NoMountError):
            await fs.write_bytes("/hidden", b"nowhere to go")
        assert paths(await fs.list_dir("/")) == ["/a", "/f1", "/f2"]


async def test_s3fs_750_757_refused_credentials_are_no_absence(tmp_path: Path) -> None:
    class Refusing(LocalProvider):
        async def stat(self, path: StoragePath) -> object:  # type: ignore[override]
            raise PermissionDeniedError("who are you", path=str(path))

    async with Filesystem(Refusing(tmp_path)) as fs:
        for ask in (fs.exists("/"), fs.is_dir("/x"), fs.is_file("/x")):
            with pytest.raises(PermissionError):
                await ask


async def test_aws_sdk_js_3717_a_listed_time_is_the_stated_time(storage: Storage) -> None:
    await storage.fs.write_bytes("/d/f", b"1")
    listed = (await storage.fs.list_dir("/d"))[0].stat
    stated = await storage.fs.stat("/d/f")
    assert (listed.modified_at, listed.version, listed.size) == (stated.modified_at, stated.version, stated.size)
    assert stated.modified_at is not None
    await storage.fs.write_bytes("/d/f", b"2", expected_mtime=listed.modified_at or stated.modified_at)


async def test_hermes_agent_4390_ones_own_writes_are_not_stale(storage: Storage) -> None:
    await storage.fs.write_bytes("/f", b"0")
    stat = await storage.fs.stat("/f")
    for content in (b"1", b"2", b"3"):
        assert stat.version is not None
        stat = await storage.fs.write_bytes("/f", content, expected_version=stat.version)
    assert await storage.fs.read_bytes("/f") == b"3"


async def test_qwen_code_3839_opencode_35409_what_another_changed_is_refused_and_intact(storage: Storage) -> None:
    await storage.fs.write_bytes("/f", b"mine")
    async with storage.fs.open_read("/f") as reader:
        seen = reader.stat
    await storage.x.write_bytes("/f", b"theirs")
    assert seen.version is not None
    with pytest.raises(StaleFileError):
        await storage.fs.write_bytes("/f", b"lost", expected_version=seen.version)
    assert await storage.x.read_bytes("/f") == b"theirs"
    await storage.x.delete("/f")
    with pytest.raises(StaleFileError):
        await storage.fs.write_bytes("/f", b"lost", expected_version=seen.version)
    assert not await storage.x.exists("/f")


async def test_object_store_183_144_a_reader_sees_old_or_new_and_never_a_part(storage: Storage) -> None:
    size = 2 << 20
    await storage.fs.write_bytes("/f", b"0" * size)
    done = anyio.Event()

    async def chunks(mark: bytes) -> AsyncIterator[bytes]:
        for _ in range(16):
            yield mark * (size // 16)
            await anyio.lowlevel.checkpoint()

    async def write() -> None:
        for mark in (b"1", b"2", b"3"):
            await storage.fs.write_stream("/f", chunks(mark))
        await storage.fs.write_bytes("/other", b"4" * size)
        await storage.fs.copy("/other", "/f")
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        while not done.is_set():
            content = await storage.x.read_bytes("/f")
            assert len(content) == size
            assert len(set(content)) == 1
            await anyio.sleep(0.001)


async def test_found_here_create_only_refuses_also_an_empty_body(storage: Storage) -> None:
    await storage.fs.write_bytes("/f", b"content")
    for body in (b"", b"x"):
        with pytest.raises(PathExistsError):
            await storage.fs.write_bytes("/f", body, overwrite=False)
    stat = await storage.fs.stat("/f")
    with pytest.raises(StaleFileError):
        await storage.fs.write_bytes("/f", b"x" * (12 << 20), expected_version="stale")
    assert await storage.fs.stat("/f") == stat


async def test_filesystem_spec_2047_nothing_above_the_root_and_no_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    base = tmp_path / "base"
    base.mkdir()
    (base / "file").symlink_to("../secret")
    (base / "directory").symlink_to("..")
    async with LocalFilesystem(base) as fs:
        with pytest.raises(ValueError, match=r"\.\."):
            await fs.read_bytes("../secret")
        for path in ("/file", "/directory/secret"):
            with pytest.raises(PathEscapeError):
                await fs.read_bytes(path)
            with pytest.raises(PathEscapeError):
                await fs.write_bytes(path, b"changed")
    assert (tmp_path / "secret").read_text() == "secret"


async def test_pyfilesystem2_468_441_129_rclone_4929_every_change_is_refused_where_reading_is_all(
    tmp_path: Path,
) -> None:
    async with LocalFilesystem(tmp_path) as writable:
        await writable.write_bytes("/d/f", b"1")
    async with CompositeFilesystem({"/ro": LocalFilesystem(tmp_path, read_only=True), "/rw": MemoryFilesystem()}) as fs:
        await fs.write_bytes("/rw/f", b"2")
        for call in (
            fs.write_bytes("/ro/d/f", b"2"),
            fs.write_bytes("/ro/new", b"2", overwrite=False),
            fs.append_bytes("/ro/d/f", b"2"),
            fs.delete("/ro/d/f"),
            fs.remove_dir("/ro/d", recursive=True),
            fs.make_dir("/ro/e"),
            fs.copy("/rw/f", "/ro/f"),
            fs.move("/rw/f", "/ro/f"),
            fs.move("/ro/d/f", "/rw/g"),
        ):
            with pytest.raises(ReadOnlyError):
                await call
        assert await fs.read_bytes("/ro/d/f") == b"1"
        assert await fs.read_bytes("/rw/f") == b"2"
    assert sorted(os.listdir(tmp_path)) == ["d"]


async def test_filesystem_spec_2006_nothing_is_shared_between_two_instances_of_the_same_place(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(LocalFilesystem(tmp_path))
        two = await stack.enter_async_context(LocalFilesystem(tmp_path, read_only=True))
        await one.write_bytes("/f", b"1")
        with pytest.raises(ReadOnlyError):
            await two.write_bytes("/f", b"2")
        await one.aclose()
        assert await two.read_bytes("/f") == b"1"
