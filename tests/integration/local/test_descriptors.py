"""Open files stay bounded: neither errors that are kept nor changes that wait hold any beyond a limit."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable
from pathlib import Path

import anyio
import pytest

from moorage import MoorageError, StoragePath
from moorage_local import LocalFilesystem

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("road")]

_AT_MOST = 200


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_errors_that_are_kept_hold_no_descriptor(root: Path, fs: LocalFilesystem) -> None:
    (root / "file").touch()
    (root / "dir").mkdir()
    (root / "loop").symlink_to("loop")
    kept: list[MoorageError] = []
    provider = fs.provider
    missing, new, long = StoragePath("/missing"), StoragePath("/new"), StoragePath("/" + "n" * 300)
    before = descriptors()

    async def fail(call: Awaitable[object]) -> None:
        with pytest.raises(MoorageError) as caught:
            await call
        kept.append(caught.value)

    async def list_(path: StoragePath) -> None:
        async for _ in provider.list(path):
            pass

    for path in (missing, long, StoragePath("/loop/x"), StoragePath("/file/x")):
        await fail(provider.move(path, new))
        await fail(provider.copy(path, new))
        await fail(provider.delete(path))
        await fail(provider.stat(path))
        await fail(provider.read(path))
        await fail(list_(path))
        await fail(provider.remove_dir(path, recursive=True))
    for path in (StoragePath("/dir"), StoragePath("/file/x"), long):
        await fail(provider.write(path, b""))
        await fail(provider.append(path, b""))
        await fail(provider.copy(StoragePath("/file"), path))
    assert descriptors() <= before


async def test_waiting_changes_hold_a_bounded_number_and_all_are_made(root: Path, fs: LocalFilesystem) -> None:
    writers = 400
    before = descriptors()
    lock = os.open(root, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    async with anyio.create_task_group() as tasks:
        for number in range(writers):
            tasks.start_soon(fs.write_bytes if number % 2 else fs.append_bytes, f"/{number}", b"x")
        with anyio.fail_after(60):
            await fs.write_bytes("/elsewhere/at-once", b"x")  # for which the lock that the others wait for is no reason
        await anyio.sleep(0.5)
        assert descriptors() - before < _AT_MOST
        os.close(lock)
    assert len(list(root.iterdir())) == writers + 1
