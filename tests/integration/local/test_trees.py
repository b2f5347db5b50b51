"""Listings and removals of trees that are large, deep, odd or changing."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio
import pytest

from moorage import DirectoryNotEmptyError, Kind
from moorage_local import LocalFilesystem

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("road")]

DEPTH = 700
"""Levels whose path is longer than the system takes in one call."""


def dig(root: Path, depth: int, name: str = "deeper") -> None:
    """A chain of directories, each with a file beside the next."""
    handle = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


async def test_a_tree_deeper_than_a_path_is_listed_read_and_removed(root: Path, fs: LocalFilesystem) -> None:
    dig(root, DEPTH)
    before = len(os.listdir("/proc/self/fd"))
    peak = 0
    count = 0
    async for entry in fs.scan_dir("/", recursive=True):
        count += 1
        assert entry.error is None
        peak = max(peak, len(os.listdir("/proc/self/fd")) if count % 50 == 0 else 0)
    assert count == 2 * DEPTH
    assert peak - before < 200
    deepest = "/" + "deeper/" * DEPTH
    assert await fs.read_bytes(deepest + "file") == b""
    await fs.write_bytes(deepest + "new", b"x")
    await fs.remove_dir("/deeper", recursive=True)
    assert list(root.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_names_that_no_path_expresses_are_listed_raw(root: Path, fs: LocalFilesystem) -> None:
    raw = [b"\xff\xfe", b"new\nline", b"tab\t", b"del\x7f"]
    for name in raw:
        (root / os.fsdecode(name)).touch()
    os.mkdir(os.fsencode(root) + b"/dir\xff")
    (root / "plain").touch()
    entries = await fs.list_dir("/", recursive=True)
    assert {entry.raw_name for entry in entries if entry.path is None} == {*raw, b"dir\xff"}
    assert [str(entry.path) for entry in entries if entry.path is not None] == ["/plain"]


async def test_each_entry_is_listed_once_and_links_are_not_entered(root: Path, fs: LocalFilesystem) -> None:
    for name in "abc":
        (root / name / "sub").mkdir(parents=True)
        for number in range(400):
            (root / name / "sub" / str(number)).touch()
        (root / name / "loop").symlink_to("..")
        (root / name / "bad").symlink_to("bad")
    entries = await fs.list_dir("/", recursive=True)
    assert len(entries) == len({entry.path for entry in entries}) == 3 * (1 + 1 + 400 + 2)
    assert {entry.name: entry.kind for entry in entries if entry.kind is Kind.LINK} == {
        "bad": Kind.LINK,
        "loop": Kind.LINK,
    }


async def test_a_listing_left_half_way_gives_its_handles_back(root: Path, fs: LocalFilesystem) -> None:
    dig(root, 30)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        async for _entry in fs.scan_dir("/", recursive=True):
            break
    await anyio.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_removal_unlinks_links_and_leaves_their_targets(root: Path, outside: Path, fs: LocalFilesystem) -> None:
    (root / "tree/sub").mkdir(parents=True)
    (root / "tree/to-dir").symlink_to(outside)
    (root / "tree/sub/to-file").symlink_to(outside / "file")
    os.mkfifo(root / "tree/fifo")
    (root / os.fsdecode(b"tree/\xff")).touch()
    await fs.remove_dir("/tree", recursive=True)
    assert list(root.iterdir()) == []
    assert sorted(path.name for path in outside.iterdir()) == ["below", "file", "secret-name"]


async def test_a_directory_being_filled_is_removed_or_named(root: Path, fs: LocalFilesystem) -> None:
    stop = threading.Event()

    def fill() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                (root / "tree/sub").mkdir(parents=True, exist_ok=True)
                (root / f"tree/sub/{number}").touch()
            except OSError:
                continue

    filler = threading.Thread(target=fill)
    filler.start()
    try:
        for _ in range(20):
            with anyio.fail_after(30):
                try:
                    await fs.remove_dir("/tree", recursive=True, missing_ok=True)
                except DirectoryNotEmptyError as error:
                    assert error.path == "/tree"  # noqa: PT017 (either end is right)
    finally:
        stop.set()
        filler.join(10)
    await fs.remove_dir("/tree", recursive=True, missing_ok=True)
    assert list(root.iterdir()) == []


async def test_an_unreadable_directory_is_an_entry_with_its_error(
    root: Path, fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "closed"):
        (root / name).mkdir()
        (root / name / "file").touch()
    real = os.open

    def refusing(path: str | bytes, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == b"closed" and flags & os.O_DIRECTORY:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    entries = {str(entry.path): entry.error for entry in await fs.list_dir("/", recursive=True)}
    assert sorted(entries) == ["/closed", "/open", "/open/file"]
    error = entries["/closed"]
    assert error is not None
    assert (error.code, error.path) == ("permission_denied", "/closed")


async def test_a_directory_with_nothing_but_leftovers_is_empty(root: Path, fs: LocalFilesystem) -> None:
    (root / "dir").mkdir()
    (root / "dir/.moorage-tmp-0123456789abcdef").touch()
    await fs.remove_dir("/dir")
    assert list(root.iterdir()) == []


async def test_a_sweep_takes_old_leftovers_everywhere(root: Path) -> None:
    async with LocalFilesystem(root) as fs:
        (root / "a/b").mkdir(parents=True)
        for place in ("", "a/", "a/b/"):
            (root / f"{place}.moorage-tmp-old").touch()
            os.utime(root / f"{place}.moorage-tmp-old", (1, 1))
        (root / "a/.moorage-tmp-young").touch()
        provider = fs.provider
        assert await getattr(provider, "sweep_leftovers")(3600.0) == 3  # noqa: B009 (not part of the contract)
    assert [path.name for path in root.rglob(".moorage-tmp-*")] == [".moorage-tmp-young"]


@pytest.mark.parametrize("entries", [2_000, pytest.param(200_000, marks=pytest.mark.slow)])
async def test_the_first_entry_comes_long_before_the_last(root: Path, fs: LocalFilesystem, entries: int) -> None:
    handle = os.open(root, os.O_RDONLY)
    for number in range(entries):
        os.mknod(str(number), dir_fd=handle)
    os.close(handle)
    count = 0
    async for _ in fs.scan_dir("/"):
        count += 1
    assert count == entries
