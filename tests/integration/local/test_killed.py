"""A writer killed at any moment leaves the old content or the new, and leftovers that nobody sees."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import anyio
import pytest
from tests.integration.local import competitors
from tests.integration.local.competitors import BLOCK, PATIENCE

from moorage_local import LocalFilesystem

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("times", [15, pytest.param(200, marks=pytest.mark.slow)])
async def test_every_read_is_old_or_new(root: Path, fs: LocalFilesystem, times: int) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(times):
        kill_a_writer(root, chance.uniform(0, 0.02))
        content = await fs.read_bytes("/file")
        assert len(content) == BLOCK
        assert content == content[:1] * BLOCK
        assert [entry.name for entry in await fs.list_dir("/", recursive=True)] == ["file"]
    await assert_swept(root, fs)


def kill_a_writer(root: Path, after: float) -> None:
    context = competitors.processes()
    ready = context.Event()
    child = context.Process(target=competitors.write_for_ever, args=(str(root), ready.set))
    child.start()
    assert ready.wait(PATIENCE)
    time.sleep(after)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join(PATIENCE)


async def assert_swept(root: Path, fs: LocalFilesystem) -> None:
    (root / f".moorage-tmp-{'0' * 16}").write_bytes(b"left by a killed writer")
    leftovers = [path for path in root.iterdir() if path.name != "file"]
    await anyio.sleep(0.11)  # a directory is looked through at most so often
    await fs.write_bytes("/file", b"young leftovers stay")
    assert all(path.exists() for path in leftovers)
    for path in leftovers:
        os.utime(path, (time.time() - 3700, time.time() - 3700))
    await anyio.sleep(0.11)
    await fs.write_bytes("/file", b"old ones go")
    assert [path.name for path in root.iterdir()] == ["file"]
