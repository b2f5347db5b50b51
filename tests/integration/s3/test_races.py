"""Races on one object: tasks, processes, faults."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.s3.support import PART, opened, probed
from tests.servers.faults import DropRequest, DropResponse, Rule, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import ConflictError, StaleFileError
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

WRITERS = 20
FAULTS = (
    Rule(DropResponse(), kind="put_object", probability=0.15, seed=1),
    Rule(DropRequest(), kind="put_object", probability=0.1, seed=2),
    Rule(s3_error(409, "ConditionalRequestConflict"), kind="put_object", probability=0.15, seed=3),
    Rule(s3_error(503, "SlowDown"), kind="put_object", probability=0.15, seed=4),
)


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy, retries=8) as fs:
        yield await probed(fs)


@pytest.mark.parametrize("size", [0, 100, PART + 1], ids=["empty", "small", "parts"])
@pytest.mark.parametrize("faulty", [False, True], ids=["clean", "faulty"])
async def test_of_many_writers_exactly_one_wins(fs: S3Filesystem, s3_proxy: Proxy, size: int, faulty: bool) -> None:
    for _ in range(2):
        s3_proxy.clear()
        seen = await fs.write_bytes("/file", b"before")
        for rule in FAULTS if faulty else ():
            s3_proxy.add(rule)
        bodies = [(b"%03d" % index) * (size // 3) for index in range(WRITERS)]
        outcomes = await asyncio.gather(*(write(fs, body, seen.version or "") for body in bodies))
        s3_proxy.clear()
        assert Counter(outcomes) == {"won": 1, "StaleFileError": WRITERS - 1}
        assert await fs.read_bytes("/file") == bodies[outcomes.index("won")]


async def write(fs: S3Filesystem, body: bytes, version: str) -> str:
    try:
        await fs.write_bytes("/file", body, expected_version=version)
    except (StaleFileError, ConflictError) as error:
        return type(error).__name__
    return "won"


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("processes", "times", "padding"),
    [
        (3, 10, 0),
        pytest.param(8, 50, 0, marks=pytest.mark.slow),
        pytest.param(8, 20, 1000, marks=pytest.mark.slow),
        pytest.param(8, 3, (8 << 20) + 1, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("faulty", [False, True], ids=["clean", "faulty"])
async def test_a_counter_of_several_processes_is_exact(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server, processes: int, times: int, padding: int, faulty: bool
) -> None:
    key = f"{fs.provider._keys.prefix}counter"  # type: ignore[attr-defined]
    seaweedfs.put(key, b"%010d" % 0)
    for rule in FAULTS if faulty else ():
        s3_proxy.add(rule)
    script = Path(__file__).with_name("counting_process.py")
    arguments = (s3_proxy.endpoint_url, key.removesuffix("/counter"), str(times), str(padding))
    started = [await asyncio.create_subprocess_exec(sys.executable, str(script), *arguments) for _ in range(processes)]
    try:
        assert [await process.wait() for process in started] == [0] * processes
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
    assert int((seaweedfs.get(key) or b"")[:10]) == processes * times
