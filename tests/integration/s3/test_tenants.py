"""Tenants: each with a client, connections and credentials of its own, and hardly more."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc

import pytest
from tests.integration.s3.support import filesystem, provider_of
from tests.servers.s3_server import S3Server

from moorage import PermissionDeniedError
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio


async def test_a_further_tenant_is_small_and_quick(seaweedfs: S3Server) -> None:
    async def open_one(number: int) -> S3Filesystem:
        fs = filesystem(seaweedfs, f"tenant-{number}")
        await fs.init()
        await fs.write_bytes("/file", str(number).encode())
        return fs

    first = [await open_one(number) for number in range(3)]
    gc.collect()
    tracemalloc.start()
    before, began = tracemalloc.get_traced_memory()[0], time.process_time()
    more = [await open_one(number) for number in range(3, 33)]
    spent = time.process_time() - began
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    for number, fs in enumerate([*first, *more]):
        assert await fs.read_bytes("/file") == str(number).encode()
        await fs.aclose()
    assert taken / len(more) < 0.2 * (1 << 20)
    assert spent / len(more) < 0.03  # traced, which costs several times the work itself


async def test_two_identities_do_not_meet(seaweedfs: S3Server) -> None:
    reader = seaweedfs.reader
    assert reader is not None
    mine = filesystem(seaweedfs, "shared-by-two")
    theirs = filesystem(seaweedfs, "shared-by-two", key=reader.access_key_id, secret=reader.secret_access_key)
    async with mine, theirs:
        await mine.write_bytes("/file", b"x")

        async def refused(number: int) -> bool:
            try:
                await theirs.write_bytes(f"/file-{number}", b"y")
            except PermissionDeniedError:
                return True
            return False

        writes = [mine.write_bytes(f"/mine-{number}", b"x") for number in range(20)]
        outcome = await asyncio.gather(*writes, *(refused(number) for number in range(20)))
        assert outcome[20:] == [True] * 20
        sessions = {id(await provider_of(fs).client._connections.session()) for fs in (mine, theirs)}  # type: ignore[attr-defined]
        assert len(sessions) == 2


async def test_connections_of_a_thousand_tenants_are_given_back(
    seaweedfs: S3Server, request: pytest.FixtureRequest
) -> None:
    from pathlib import Path

    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return
    before = len(list(descriptors.iterdir()))
    for number in range(1_000 if request.config.getoption("--slow") else 60):
        async with filesystem(seaweedfs, f"tenant-{number % 7}") as fs:
            await fs.exists("/file")
    await asyncio.sleep(0)
    assert len(list(descriptors.iterdir())) <= before + 3
