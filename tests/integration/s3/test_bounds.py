"""Every wait ends: for a connection, for another loop, for a store that does not answer a caller who gave up."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import anyio
import pytest
from tests.integration.s3.support import PART, filesystem, opened, probed, provider_of
from tests.servers.faults import Rule, Stall
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import OperationTimeoutError
from moorage_s3 import probing, uninterrupted
from moorage_s3.connections import Connections


@pytest.mark.anyio
async def test_waiting_for_a_free_connection_ends(seaweedfs: S3Server) -> None:
    limits: dict[str, Any] = {"max_connections": 1, "connect_timeout": 0.5, "read_timeout": 1.5, "retries": 0}
    async with opened(seaweedfs, **limits) as fs:
        await fs.write_bytes("/large", bytes(8 << 20))
        async with fs.open_read("/large"):
            with anyio.fail_after(120), pytest.raises(OperationTimeoutError):
                await fs.stat("/large")
        assert (await fs.stat("/large")).size == 8 << 20


@pytest.mark.anyio
@pytest.mark.parametrize("native", [True, False], ids=["task", "scope"])
async def test_a_cancelled_upload_does_not_wait_for_ever_for_its_beginning(
    s3_proxy: Proxy, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    monkeypatch.setattr(uninterrupted, "PATIENCE", 0.3)
    async with opened(s3_proxy) as fs:
        await probed(fs)
        s3_proxy.add(Rule(Stall(), kind="create_multipart_upload"))
        began = time.monotonic()
        if native:
            task = asyncio.create_task(fs.write_bytes("/large", bytes(2 * PART)))
            await asyncio.to_thread(s3_proxy.wait_for, "create_multipart_upload")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with anyio.move_on_after(0.2) as scope:
                await fs.write_bytes("/large", bytes(2 * PART))
            assert scope.cancelled_caught
        assert time.monotonic() - began < 5


def test_two_loops_that_ask_the_store_at_once_do_not_wait_for_each_other(s3_proxy: Proxy) -> None:
    probing._found.clear()
    s3_proxy.add(Rule(Stall(0.2), kind="put_object"))
    client = provider_of(filesystem(s3_proxy)).client
    both, done = threading.Barrier(2), []

    async def ask() -> None:
        await client.start()
        await asyncio.to_thread(both.wait, 10)
        done.append(await client.probe())
        await client.aclose()

    threads = [threading.Thread(target=asyncio.run, args=(ask(),), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(done) == 2


def test_loops_that_ended_are_forgotten(seaweedfs: S3Server) -> None:
    client = provider_of(filesystem(seaweedfs)).client

    async def use() -> None:
        await client.start()
        await client.put("bounds", b"x")

    for _ in range(5):
        asyncio.run(use())
    connections: Connections = client._connections  # type: ignore[attr-defined]
    assert len(connections._pools) == 1
