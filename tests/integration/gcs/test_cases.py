"""Reports about other systems, reduced to what was done; each has the right outcome here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.integration.gcs.support import opened
from tests.servers.gcs import LocalGCSServer
from tests.servers.gcs.state import Access

from moorage import PermissionDeniedError

pytestmark = pytest.mark.anyio


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


async def test_gcsfs_138_647_nothing_is_cached(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as fs:
        assert (await fs.list_dir("/"), await fs.exists("/d/new")) == ([], False)
        gcs_server.put("d/new", b"1", bucket=bucket)
        assert [entry.name for entry in await fs.list_dir("/d")] == ["new"]
        assert await fs.read_bytes("/d/new") == b"1"
        gcs_server.put("d/new", b"2", bucket=bucket)
        assert await fs.read_bytes("/d/new") == b"2"


async def test_gcsfs_562_a_copy_is_a_file(gcs_server: LocalGCSServer, bucket: str) -> None:
    gcs_server.put("s/f", b"1", bucket=bucket)
    async with opened(gcs_server, bucket) as fs:
        await fs.copy("/s/f", "/t/f")
        assert await fs.is_file("/t/f")


async def test_gcsfs_312_349_574_a_marker_is_a_directory_each_time(gcs_server: LocalGCSServer, bucket: str) -> None:
    gcs_server.put("d/", b"", bucket=bucket)
    async with opened(gcs_server, bucket) as fs:
        assert [await fs.is_dir("/d") for _ in range(3)] == [True] * 3
        assert [await fs.is_file("/d") for _ in range(2)] == [False] * 2
        assert await fs.list_dir("/d") == []
        await fs.remove_dir("/d")
    assert gcs_server.keys(bucket=bucket) == []


async def test_gcsfs_314_a_pattern_on_a_closed_bucket_is_an_error(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.tokens = {"some": Access(prefix="elsewhere/")}
    options: dict[str, Any] = {"token": "some", "check_bucket": False}
    async with opened(own_gcs_server, own_gcs_server.bucket, **options) as fs:
        with pytest.raises(PermissionDeniedError):
            [entry async for entry in fs.glob("/*")]
        calls: list[Callable[[str], Awaitable[object]]] = [fs.exists, fs.is_file, fs.stat]
        for call in calls:
            with pytest.raises(PermissionDeniedError):
                await call("/file.txt")
