"""Moves where a rename is not enough, or not allowed to change the time."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from moorage import PathExistsError, StaleFileError, StoragePath
from moorage_local import LocalFilesystem, copying, moving, opening

pytestmark = pytest.mark.anyio


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every directory is a file system of its own: nothing is renamed from one into another."""
    real = os.rename

    def rename(src: Any, dst: Any, *, src_dir_fd: int = -1, dst_dir_fd: int = -1) -> None:
        refuse(src_dir_fd, dst_dir_fd)
        real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def rename_if_free(source_dir: int, source: bytes, target_dir: int, target: bytes) -> bool:
        refuse(source_dir, target_dir)
        return False

    def refuse(source_dir: int, target_dir: int) -> None:
        if not os.path.sameopenfile(source_dir, target_dir):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(moving, "rename_if_free", rename_if_free)


@pytest.mark.usefixtures("two_disks")
async def test_between_two_file_systems_a_file_or_link_is_copied_and_then_removed(
    root: Path, fs: LocalFilesystem
) -> None:
    (root / "from").mkdir()
    (root / "from/file").write_bytes(b"x" * 100_000)
    (root / "from/link").symlink_to("nothing")
    assert (await fs.provider.move(StoragePath("/from/file"), StoragePath("/to/file"))).size == 100_000
    await fs.provider.move(StoragePath("/from/link"), StoragePath("/to/link"))
    assert (root / "to/file").read_bytes() == b"x" * 100_000
    assert os.readlink(root / "to/link") == "nothing"
    assert os.listdir(root / "from") == []
    (root / "from/file").write_bytes(b"new")
    with pytest.raises(PathExistsError):
        await fs.move("/from/file", "/to/file", overwrite=False)
    assert (root / "from/file").read_bytes() == b"new"


@pytest.mark.usefixtures("two_disks")
async def test_a_source_that_changes_while_it_is_copied_stays(
    root: Path, fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "from").mkdir()
    (root / "from/file").write_bytes(b"old")
    real = opening.open_regular

    def open_regular(*args: Any) -> Any:
        found = real(*args)
        (root / "from/file").write_bytes(b"newer")
        return found

    monkeypatch.setattr(copying, "open_regular", open_regular)
    with pytest.raises(StaleFileError):
        await fs.move("/from/file", "/to/file")
    assert (root / "from/file").read_bytes() == b"newer"
    assert (root / "to/file").exists()


async def test_a_move_that_does_not_happen_leaves_the_time(
    root: Path, fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "old").write_bytes(b"")
    (root / "target").write_bytes(b"")
    os.utime(root / "old", ns=(10**18, 10**18))

    def rename(*args: Any, **options: Any) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(PermissionError):
            await fs.move("/old", "/target")
    assert (root / "old").stat().st_mtime_ns == 10**18


async def test_a_file_whose_time_is_not_ours_to_set_is_moved(
    root: Path, fs: LocalFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "old").write_bytes(b"new")
    (root / "target").write_bytes(b"")
    os.utime(root / "old", ns=(10**18, 10**18))

    def utime(*args: Any, **options: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "utime", utime)
    await fs.move("/old", "/target")
    assert (root / "target").read_bytes() == b"new"
