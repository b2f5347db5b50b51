"""What the user's class adds over the primitives."""

from __future__ import annotations

import threading
from pathlib import Path, PurePosixPath

import anyio
import pytest

from moorage import (
    CompositeFilesystem,
    ConfigError,
    EncodingError,
    Filesystem,
    InvalidArgumentError,
    InvalidPathError,
    LimitExceededError,
    Limits,
    MemoryFilesystem,
    MemoryProvider,
    NoMountError,
    PathEscapeError,
    Provider,
    ReadOnlyError,
    StaleFileError,
    StoragePath,
)
from moorage_local import LocalFilesystem

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", [None, 5, True, 1.5, b"a", ["a"], Path("a"), PurePosixPath("/a")])
async def test_only_text_and_storage_paths_are_paths(path: object) -> None:
    async with MemoryFilesystem() as fs:
        for call in (fs.write_text(path, "x"), fs.stat(path), fs.list_dir(path)):  # type: ignore[arg-type]
            with pytest.raises(InvalidPathError, match="text or a StoragePath"):
                await call
        assert await fs.list_dir("/") == []


async def test_missing_ok_is_of_what_is_missing_and_not_of_what_is_nowhere() -> None:
    async with CompositeFilesystem({"/m": MemoryFilesystem()}) as tree:
        await tree.delete("/m/x", missing_ok=True)
        await tree.remove_dir("/m/x", missing_ok=True)
        for call in (tree.delete("/x", missing_ok=True), tree.remove_dir("/x", missing_ok=True)):
            with pytest.raises(NoMountError):
                await call


async def test_read_only_is_said_before_a_wrong_encoding() -> None:
    async with MemoryFilesystem(read_only=True) as fs:
        for call in (fs.write_text("/x", "\ud800"), fs.append_text("/x", "é", encoding="ascii")):
            with pytest.raises(ReadOnlyError):
                await call
        with pytest.raises(InvalidPathError):
            await fs.write_text("../x", "\ud800")
    async with MemoryFilesystem() as writable:
        with pytest.raises(EncodingError):
            await writable.write_text("/x", "x", encoding="klingon")


async def test_a_mount_is_added_or_taken_away_never_replaced() -> None:
    first, second = MemoryFilesystem(), MemoryFilesystem()
    async with CompositeFilesystem({"/a": first}) as tree:
        await tree.write_text("/a/x", "first")
        with pytest.raises(ConfigError, match="already"):
            tree.with_mount("a/", second)
        with pytest.raises(ConfigError, match="overlap"):
            tree.with_mount("/a/b", second)
        with pytest.raises(ConfigError, match="nothing is mounted"):
            tree.without_mount("/b")
        with pytest.raises(ConfigError, match="no mounts"):
            tree.without_mount("/a")
        async with tree.with_mount("/b", second) as both:
            assert await both.read_text("/a/x") == "first"
            assert [str(mount.path) for mount in both.mounts()] == ["/a", "/b"]
            assert [str(mount.path) for mount in both.without_mount("/a").mounts()] == ["/b"]
        assert await tree.read_text("/a/x") == "first"


async def test_a_mount_point_is_listed_as_it_is_stated(tmp_path: Path) -> None:
    async with CompositeFilesystem({"/a/b": LocalFilesystem(tmp_path), "/c": MemoryFilesystem()}) as tree:
        for path in ("/a", "/a/b", "/c"):
            parent = StoragePath(path).parent
            listed = {str(entry.path): entry.stat for entry in await tree.list_dir(parent)}
            assert listed[path] == await tree.stat(path)


async def test_appends_at_once_stay_within_the_limit() -> None:
    provider = Limits(MemoryProvider(), max_file_size=10)
    async with Filesystem(provider) as fs:
        refused: list[LimitExceededError] = []

        async def append() -> None:
            try:
                await fs.append_bytes("/f", b"12345678")
            except LimitExceededError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(append)
        assert len(refused) == 4
        assert (await fs.stat("/f")).size == 8
    for wrong in ({"rate": float("nan")}, {"max_wait": -1.0}, {"rate": float("inf")}):
        with pytest.raises(InvalidArgumentError):
            Limits(MemoryProvider(), **wrong)  # type: ignore[arg-type]


async def test_a_pattern_that_is_no_possible_name_still_finds(tmp_path: Path) -> None:
    async with LocalFilesystem(tmp_path / "base") as fs:
        await fs.write_text("/file0007", "x")
        many = "{" + ",".join(f"file{number:04d}" for number in range(60)) + "}"
        assert [str(entry.path) async for entry in fs.glob(f"/{many}")] == ["/file0007"]
        (tmp_path / "base" / "out").symlink_to(tmp_path)
        found = [(str(entry.path), type(entry.error)) async for entry in fs.glob("/{file0007,out/x*}")]
        assert found == [("/file0007", type(None)), ("/out/x*", PathEscapeError)]
        with pytest.raises(PathEscapeError):
            _ = [entry async for entry in fs.glob("/out/x*")]


def test_two_threads_that_open_one_filesystem_at_once_are_told_and_do_not_hang() -> None:
    class Slow(MemoryProvider):
        async def start(self) -> None:
            await anyio.sleep(0.2)

    fs = Filesystem(Slow())
    ready = threading.Barrier(2)
    ended: list[str] = []

    def use() -> None:
        async def touch() -> None:
            ready.wait()
            try:
                await fs.stat("/")
                ended.append("served")
            except InvalidArgumentError:
                ended.append("told")

        anyio.run(touch)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(ended) == ["served", "told"]


@pytest.mark.parametrize("body", [b"", b"x", b"x" * 100_000])
def test_twenty_threads_with_one_expectation_have_one_winner(body: bytes) -> None:
    """Each thread has an event loop and a filesystem of its own over one provider; fifty rounds."""
    provider: Provider = MemoryProvider()
    rounds, writers = 50, 20
    start, end = threading.Barrier(writers + 1), threading.Barrier(writers + 1)
    version = ""
    wins: list[int] = []
    losses: list[type[Exception]] = []

    def write(number: int) -> None:
        async def play() -> None:
            fs = Filesystem(provider)
            for _ in range(rounds):
                start.wait(30)
                try:
                    await fs.write_bytes("/f", body + bytes([number]), expected_version=version)
                    wins.append(number)
                except StaleFileError as error:
                    losses.append(type(error))
                end.wait(30)

        anyio.run(play)

    async def seed() -> str:
        stat = await Filesystem(provider).write_bytes("/f", b"seed")
        assert stat.version is not None
        return stat.version

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(writers)]
    for thread in threads:
        thread.start()
    for played in range(1, rounds + 1):
        version = anyio.run(seed)
        start.wait(30)
        end.wait(30)
        assert (len(wins), len(losses)) == (played, played * (writers - 1))
    for thread in threads:
        thread.join(30)
