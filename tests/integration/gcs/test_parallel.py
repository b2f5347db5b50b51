"""A large download over several connections gives the bytes of one version, in order, and can be left."""

from __future__ import annotations

import random

import pytest
from tests.integration.gcs.support import opened
from tests.servers.faults import CutBody, Rule
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import ConflictError, StorageError

pytestmark = pytest.mark.anyio

PART = 1 << 20
DATA = random.Random(5).randbytes(4 * PART + 77)


@pytest.fixture(autouse=True)
def _from_four_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage_gcs.downloading._PARALLEL_FROM", 4 * PART)


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    bucket = gcs_server.make_bucket()
    gcs_server.put("large", DATA, bucket=bucket)
    return bucket


async def test_the_bytes_are_whole_and_in_order(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, chunk_size=PART, concurrency=3) as fs:
        gcs_proxy.reset()
        assert await fs.read_bytes("/large") == DATA
        assert gcs_proxy.kinds() == ["get_media"] * 5
        assert await fs.read_bytes("/large", 33) == DATA[33:]
        gcs_proxy.add(Rule(CutBody(70_000), kind="get_media", probability=0.5, seed=1, times=4))
        assert await fs.read_bytes("/large") == DATA


async def test_it_can_be_left_early(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket, chunk_size=PART) as fs:
        for _ in range(3):
            async with fs.open_read("/large") as reader:
                assert DATA.startswith(await anext(reader))
        assert await fs.read_bytes("/large", 0, 10) == DATA[:10]


async def test_a_replacement_is_never_mixed_in(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket, chunk_size=PART, concurrency=2) as fs, fs.open_read("/large") as reader:
        seen = await anext(reader)
        gcs_server.put("large", bytes(len(DATA)), bucket=bucket)
        with pytest.raises(ConflictError, match="replaced"):
            async for chunk in reader:
                seen += chunk
        assert DATA.startswith(seen)


async def test_its_checksum_is_looked_at(gcs_server: LocalGCSServer, bucket: str) -> None:
    stored = gcs_server.state.buckets[bucket].objects["large"]
    object.__setattr__(stored, "data", DATA[:-1] + b"?")
    async with opened(gcs_server, bucket, chunk_size=PART) as fs:
        with pytest.raises(StorageError, match="checksum"):
            await fs.read_bytes("/large")
