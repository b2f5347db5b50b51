"""Cut short at any await, an upload or append leaves the old content or the new, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import anyio.to_thread
import pytest
from tests.integration.gcs.support import CHUNK, opened, pending
from tests.servers.faults import Rule, Stall
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import Filesystem, Stat
from moorage.testing import Chunks, Outcome, cancel_everywhere

pytestmark = pytest.mark.anyio

OLD = b"old"
LARGE_OLD = b"o" * (9 << 20)
NEW = b"n" * (3 * CHUNK + 7)

Change = Callable[[Filesystem], Coroutine[Any, Any, Stat]]
CHANGES: dict[str, tuple[bytes, Change, bytes]] = {
    "small": (OLD, lambda fs: fs.write_bytes("/file", b"new"), b"new"),
    "chunks": (OLD, lambda fs: fs.write_bytes("/file", NEW), NEW),
    "stream": (OLD, lambda fs: fs.write_stream("/file", Chunks([NEW[:CHUNK], NEW[CHUNK:]])), NEW),
    "append": (LARGE_OLD, lambda fs: fs.append_bytes("/file", b"added"), LARGE_OLD + b"added"),
    "append of chunks": (LARGE_OLD, lambda fs: fs.append_bytes("/file", NEW), LARGE_OLD + NEW),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", CHANGES)
async def test_cancelled_at_every_await(gcs_server: LocalGCSServer, name: str, native: bool) -> None:
    before, change, after = CHANGES[name]
    bucket = gcs_server.make_bucket()
    async with opened(gcs_server, bucket) as fs:

        async def prepare() -> None:
            gcs_server.put("file", before, bucket=bucket)

        async def check(outcome: Outcome[Stat]) -> None:
            held = gcs_server.get("file", bucket=bucket)
            assert held == after or (outcome.cancelled and held == before)
            assert pending(gcs_server, bucket) == []
            assert gcs_server.keys(bucket=bucket) == ["file"]

        awaits = await cancel_everywhere(prepare, lambda: change(fs), check, native=native)
    assert awaits >= (2 if name == "small" else 6)


async def test_cancelled_once_more_while_it_clears_up(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    bucket = gcs_server.make_bucket()
    gcs_proxy.add(Rule(Stall(seconds=0.5, after=True), kind="resumable_start"))
    async with opened(gcs_proxy, bucket) as fs:
        task = asyncio.create_task(fs.write_bytes("/file", NEW))
        await anyio.to_thread.run_sync(gcs_proxy.wait_for, "resumable_start")
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.02)
        with pytest.raises(asyncio.CancelledError):
            await task
        await anyio.to_thread.run_sync(gcs_proxy.wait_for, "resumable_cancel")
        await asyncio.sleep(0.1)
    assert pending(gcs_server, bucket) == []
