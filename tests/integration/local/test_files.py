"""Content, times, modes and names on a real disk."""

from __future__ import annotations

import os
import socket
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from moorage import (
    InvalidArgumentError,
    InvalidPathError,
    Kind,
    MoorageError,
    NameTooLongError,
    NotRegularFileError,
    PathExistsError,
    PathNotDirectoryError,
    StoragePath,
    UnsupportedError,
    WriteOptions,
)
from moorage_local import LocalFilesystem, LocalProvider

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("road")]


async def test_a_replaced_files_time_always_moves_forward(root: Path, fs: LocalFilesystem) -> None:
    seen = await fs.write_bytes("/file", b"")
    for number in range(200):
        again = await (fs.append_bytes if number % 2 else fs.write_bytes)("/file", b"x")
        assert again.modified_at is not None
        assert seen.modified_at is not None
        assert again.modified_at > seen.modified_at
        assert again.version != seen.version
        assert again == await fs.stat("/file")
        seen = again


async def test_a_time_in_the_future_still_moves_forward(root: Path, fs: LocalFilesystem) -> None:
    await fs.write_bytes("/file", b"")
    await fs.write_bytes("/older", b"moved onto it")
    future = 4_000_000_000_123_456_789
    os.utime(root / "file", ns=(future, future))
    assert (await fs.stat("/file")).modified_at == datetime.fromtimestamp(4_000_000_000, UTC) + timedelta(
        microseconds=123_456
    )
    assert (await fs.write_bytes("/file", b"x")).modified_at == datetime.fromtimestamp(4_000_000_000, UTC) + timedelta(
        microseconds=123_457
    )
    moved = await fs.move("/older", "/file")
    assert moved.modified_at == datetime.fromtimestamp(4_000_000_000, UTC) + timedelta(microseconds=123_458)


async def test_a_time_that_no_datetime_holds_is_none(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").touch()
    try:
        os.utime(root / "file", ns=(2**62 * 64, 2**62 * 64))
    except OverflowError:
        os.utime(root / "file", ns=(2**63 - 1, 2**63 - 1))
    assert (await fs.stat("/file")).kind is Kind.FILE


async def test_a_replaced_file_keeps_its_mode(root: Path, fs: LocalFilesystem) -> None:
    for mode in (0o600, 0o640, 0o755, 0o444, 0o666, 0o777):
        (root / "file").touch()
        (root / "file").chmod(mode)
        assert (await fs.write_bytes("/file", b"x")).mode == mode
        assert (root / "file").stat().st_mode & 0o7777 == mode
        (root / "file").unlink()
    mask = os.umask(0o027)
    try:
        assert (await fs.write_bytes("/new", b"")).mode == 0o640
        await fs.provider.write(StoragePath("/given"), b"", WriteOptions(mode=0o604))
    finally:
        os.umask(mask)
    assert (root / "given").stat().st_mode & 0o7777 == 0o604


@pytest.mark.timeout(30)
async def test_what_is_not_regular_is_refused_and_never_blocks(root: Path, fs: LocalFilesystem) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket")[-100:] if len(str(root)) < 90 else os.path.relpath(root / "socket"))
        (root / "to-fifo").symlink_to("fifo")
        for name in ("fifo", "socket", "to-fifo"):
            for call in (
                fs.read_bytes(f"/{name}"),
                fs.write_bytes(f"/{name}", b"x"),
                fs.append_bytes(f"/{name}", b"x"),
                fs.copy(f"/{name}", "/copy"),
            ):
                with pytest.raises(NotRegularFileError) as caught:
                    await call
                assert caught.value.path == f"/{name}"
            assert (await fs.stat(f"/{name}")).kind is Kind.OTHER
        await fs.move("/fifo", "/moved")
        await fs.delete("/moved")
        await fs.delete("/socket")
    assert sorted(path.name for path in root.iterdir()) == ["to-fifo"]


@pytest.mark.timeout(30)
async def test_reading_beside_a_waiting_fifo_writer_does_not_wake_it(root: Path, fs: LocalFilesystem) -> None:
    os.mkfifo(root / "fifo")
    opened = threading.Event()

    def write() -> None:
        with (root / "fifo").open("wb", buffering=0):
            opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(20):
        with pytest.raises(NotRegularFileError):
            await fs.read_bytes("/fifo")
        await anyio.sleep(0.001)
    assert not opened.is_set()
    with (root / "fifo").open("rb"):
        writer.join(10)


async def test_hard_links_lose_nothing(root: Path, fs: LocalFilesystem) -> None:
    (root / "a").write_bytes(b"kept")
    os.link(root / "a", root / "b")
    await fs.copy("/a", "/b")
    assert (root / "a").read_bytes() == (root / "b").read_bytes() == b"kept"
    await fs.move("/a", "/b")
    assert [path.name for path in root.iterdir()] == ["b"]
    assert (root / "b").read_bytes() == b"kept"


async def test_names_at_the_limits(root: Path, fs: LocalFilesystem) -> None:
    await fs.write_bytes("/" + "ä" * 127, b"x")
    for name in ("n" * 256, "ä" * 128):
        for call in (fs.write_bytes(name, b""), fs.stat(name), fs.make_dir(name), fs.read_bytes(name)):
            with pytest.raises(NameTooLongError) as caught:
                await call
            assert caught.value.path == name


async def test_reserved_names_are_refused_and_hidden(root: Path, fs: LocalFilesystem) -> None:
    (root / ".moorage-tmp-x").write_bytes(b"")
    assert await fs.list_dir("/") == []
    for path in ("/.moorage-tmp-x", "/dir/.moorage-tmp-y/file"):
        for call in (fs.read_bytes(path), fs.write_bytes(path, b""), fs.stat(path), fs.delete(path), fs.make_dir(path)):
            with pytest.raises(InvalidPathError):
                await call


async def test_no_error_shows_where_the_root_is(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").touch()
    (root / "out").symlink_to("/etc/passwd")
    for call in (fs.read_bytes("/no"), fs.read_bytes("/out"), fs.write_bytes("/file/x", b""), fs.list_dir("/file")):
        with pytest.raises(MoorageError) as caught:
            await call
        error: BaseException | None = caught.value
        while error is not None:
            assert str(root) not in f"{error} {error!r} {error.args}"
            error = error.__cause__ or error.__context__
    for base, kind in (
        (root / "file", PathNotDirectoryError),
        (root / "file/below", PathNotDirectoryError),
        (root / ("n" * 300), NameTooLongError),
    ):
        with pytest.raises(kind) as refused:
            await LocalFilesystem(base).init()
        told: BaseException | None = refused.value
        while told is not None:
            assert str(root) not in f"{told} {told!r} {told.args} {getattr(told, 'filename', '')}"
            told = told.__cause__ or told.__context__


def test_an_empty_base_path_is_refused() -> None:
    for make in (LocalProvider, LocalFilesystem):
        with pytest.raises(InvalidArgumentError, match="base_path"):
            make("")


async def test_a_directory_moves_in_one_step_only_to_a_free_place(root: Path, fs: LocalFilesystem) -> None:
    await fs.write_bytes("/from/file", b"x")
    await fs.make_dir("/taken")
    with pytest.raises(UnsupportedError):
        await fs.provider.move(StoragePath("/from"), StoragePath("/taken"))
    inode = (root / "from").stat().st_ino
    await fs.provider.move(StoragePath("/from"), StoragePath("/new/place"))
    assert (root / "new/place").stat().st_ino == inode


async def test_creating_is_exclusive(root: Path, fs: LocalFilesystem) -> None:
    outcomes: list[str] = []

    async def create(number: int) -> None:
        try:
            await fs.write_bytes("/file", str(number).encode(), overwrite=False)
            outcomes.append(str(number))
        except PathExistsError:
            pass

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(create, number)
    assert [(root / "file").read_text()] == outcomes


async def test_lineage_names_the_stored_object_and_all_that_hold_it(root: Path) -> None:
    (root / "dir").mkdir()
    (root / "dir/file").touch()
    (root / "link").symlink_to("dir/file")
    whole, part = LocalProvider(root), LocalProvider(root / "dir")
    await whole.start()
    await part.start()
    top = await whole.lineage(StoragePath("/"))
    directory = await part.lineage(StoragePath("/"))
    assert directory == await whole.lineage(StoragePath("/dir"))
    assert directory[1:] == top
    assert len(top) == len(root.parts)
    for here, there in (("/dir/file", "/file"), ("/link", "/file"), ("/dir/no/thing", "/no/thing")):
        same = await part.lineage(StoragePath(there))
        assert await whole.lineage(StoragePath(here)) == same
        assert same[-len(directory) :] == directory
    assert len(await part.lineage(StoragePath("/no/thing"))) == len(directory) + 2
    assert (await whole.lineage(StoragePath("/file")))[0] != (await part.lineage(StoragePath("/file")))[0]
    assert "root" not in "".join(top)
    await whole.aclose()
    await part.aclose()


async def test_a_durable_write_is_synced_with_its_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    async with LocalFilesystem(root, durable=True) as fs:
        await fs.write_bytes("/file", b"x")
    assert [".moorage-tmp-" in path for path in synced] == [True, False]
    assert synced[1] == str(root)
    synced.clear()
    async with LocalFilesystem(root, durable=True) as fs:
        await fs.write_bytes("/new/dir/file", b"x")
    assert {str(root), str(root / "new"), str(root / "new/dir")} <= set(synced)


async def test_the_handle_stays_when_the_base_is_renamed(root: Path, fs: LocalFilesystem, tmp_path: Path) -> None:
    root.rename(tmp_path / "elsewhere")
    root.mkdir()
    await fs.write_bytes("/file", b"x")
    assert (tmp_path / "elsewhere/file").read_bytes() == b"x"
    assert list(root.iterdir()) == []
