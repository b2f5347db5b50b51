"""How many requests each call makes: every row of the specification's table, counted before a real server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.integration.gcs.support import CHUNK, opened
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage_gcs import GCSFilesystem

pytestmark = pytest.mark.anyio

FILE = "/d/e/file.txt"


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    bucket = gcs_server.make_bucket()
    gcs_server.put("d/e/file.txt", b"content", bucket=bucket)
    return bucket


async def requests(proxy: Proxy, call: Callable[[], Awaitable[object]]) -> dict[str, int]:
    proxy.reset()
    with suppress(FileNotFoundError):
        await call()
    return dict(Counter(proxy.kinds()))


async def test_questions(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        assert await requests(gcs_proxy, lambda: fs.stat(FILE)) == {"get_metadata": 1}
        questions: list[Callable[[str], Awaitable[object]]] = [fs.stat, fs.exists, fs.is_dir]
        for question in questions:
            for path in ("/d", "/missing"):
                assert await requests(gcs_proxy, partial(question, path)) == {"get_metadata": 1, "list": 1}


async def test_reads(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:

        async def open_read() -> None:
            async with fs.open_read(FILE) as reader:
                assert (await reader.read(), reader.stat.size) == (b"content", 7)

        assert await requests(gcs_proxy, open_read) == {"get_media": 1}
        assert await requests(gcs_proxy, lambda: fs.read_bytes(FILE)) == {"get_media": 1}
        assert await requests(gcs_proxy, lambda: fs.read_bytes(FILE, 2, 4)) == {"get_media": 1}


async def test_writes(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        seen = await fs.stat(FILE)
        version = seen.version or ""
        write = fs.write_bytes
        assert await requests(gcs_proxy, lambda: write(FILE, b"x", expected_version=version)) == {"multipart_upload": 1}
        time = (await fs.stat(FILE)).modified_at
        assert time is not None
        assert await requests(gcs_proxy, partial(write, FILE, b"x", expected_mtime=time)) == {
            "get_metadata": 1,
            "multipart_upload": 1,
        }
        assert await requests(gcs_proxy, lambda: write("/a/b/c", b"x")) == {
            "list": 1,
            "get_metadata": 2,
            "multipart_upload": 1,
        }
    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        for overwrite in (True, False):
            path = f"/a/b/new-{overwrite}"
            assert await requests(gcs_proxy, partial(fs.write_bytes, path, b"x", overwrite=overwrite)) == {
                "multipart_upload": 1
            }
        large = bytes(5 * CHUNK)
        assert await requests(gcs_proxy, lambda: fs.write_bytes("/large", large)) == {
            "resumable_start": 1,
            "resumable_chunk": 5,
        }


async def test_append_delete_copy_and_move(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        assert await requests(gcs_proxy, lambda: fs.append_bytes(FILE, b"x")) == {"get_media": 1, "multipart_upload": 1}
        assert await requests(gcs_proxy, lambda: fs.copy(FILE, "/copied")) == {"rewrite": 1}
        assert await requests(gcs_proxy, lambda: fs.move("/copied", "/moved")) == {"move": 1}
        assert await requests(gcs_proxy, lambda: fs.delete("/moved")) == {"delete": 1}


@pytest.mark.parametrize(("count", "pages"), [(0, 2), (3, 1), (1000, 1), (1001, 2)])
async def test_listings(gcs_proxy: Proxy, gcs_server: LocalGCSServer, bucket: str, count: int, pages: int) -> None:
    kept = gcs_server.state.buckets[bucket]
    for index in range(count):
        kept.insert(_renamed(gcs_server, bucket, f"many/{index:05d}"))
    gcs_server.put("beside", b"", bucket=bucket)
    async with opened(gcs_proxy, bucket) as fs:
        for recursive in (False, True):
            found: list[int] = []

            async def listing(recursive: bool = recursive, found: list[int] = found) -> None:
                found.append(len(await fs.list_dir("/many", recursive=recursive)))

            assert await requests(gcs_proxy, listing) == {"list": pages}
            assert found == ([count] if count else [])


async def test_a_tree_is_removed_in_batches(gcs_proxy: Proxy, gcs_server: LocalGCSServer, bucket: str) -> None:
    for index in range(250):
        gcs_server.state.buckets[bucket].insert(_renamed(gcs_server, bucket, f"many/{index:05d}"))
    async with opened(gcs_proxy, bucket) as fs:
        assert await requests(gcs_proxy, lambda: fs.remove_dir("/many", recursive=True)) == {"list": 1, "batch": 3}
    assert gcs_server.keys(bucket=bucket) == ["d/e/file.txt"]


async def test_opening_asks_once(gcs_proxy: Proxy, bucket: str) -> None:
    fs = GCSFilesystem(bucket, endpoint_url=gcs_proxy.endpoint_url)
    assert await requests(gcs_proxy, fs.init) == {"list": 1}
    await fs.aclose()


def _renamed(server: LocalGCSServer, bucket: str, name: str) -> Any:
    return replace(server.state.buckets[bucket].objects["d/e/file.txt"], name=name)
