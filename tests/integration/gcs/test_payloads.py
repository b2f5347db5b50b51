"""Bytes that other clients lose, and names that they change."""

from __future__ import annotations

import gzip
import json
import random
from urllib.parse import quote

import pytest
from tests.integration.gcs.support import CHUNK, SIZES, opened, pending
from tests.servers.faults import CutBody, CutUpload, Rule, StripRange
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import InvalidPathError, StorageError
from moorage.testing import Chunks

pytestmark = pytest.mark.anyio

BODIES = (
    b"before\n--==0==--\nafter",
    b"\r\n--boundary--\r\n" * 50,
    b"--",
    b"\r\n",
    b"\x1f\x8b\x08not gzip",
    gzip.compress(b"compressed"),
    bytes(range(256)) * 4,
)
NAMES = (
    "a b", "a+b", "100%", "%2F", "%2e%2e", "a#b", "k?versionId=1", "a&b=c", "a;b,c", "~'\"!*()", "[br]", "{x}", "*",
    "back\\slash", "🐙", "NFC-\u00e9", "NFD-e\u0301", "\u202ertl", "dots..", "...", "x" * 1000,
)  # fmt: skip


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


async def test_nothing_in_a_body_ends_it(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as fs:
        for body in BODIES:
            await fs.write_bytes("/body", body)
            assert gcs_server.get("body", bucket=bucket) == body
            assert await fs.read_bytes("/body") == body


@pytest.mark.parametrize("streamed", [False, True])
async def test_sizes_around_a_chunk(gcs_server: LocalGCSServer, bucket: str, streamed: bool) -> None:
    generator = random.Random(7)
    async with opened(gcs_server, bucket) as fs:
        for size in SIZES:
            data = generator.randbytes(size)
            pieces = [data[start : start + 100_001] for start in range(0, size, 100_001)]
            stat = await (fs.write_stream("/file", Chunks(pieces)) if streamed else fs.write_bytes("/file", data))
            assert (stat.size, gcs_server.get("file", bucket=bucket)) == (size, data)
            assert await fs.read_bytes("/file") == data
            assert stat == await fs.stat("/file")
    assert pending(gcs_server, bucket) == []


async def test_gzip_encoded_objects_are_served_as_they_are_stored(gcs_server: LocalGCSServer, bucket: str) -> None:
    data = gzip.compress(b"plain text " * 1000)
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=log.gz&contentEncoding=gzip"
    gcs_server.request("POST", target, headers={"Content-Type": "text/plain"}, body=data)
    async with opened(gcs_server, bucket) as fs:
        assert (await fs.stat("/log.gz")).size == len(data)
        assert await fs.read_bytes("/log.gz") == data
        assert await fs.read_bytes("/log.gz", 3, 9) == data[3:9]
        await fs.copy("/log.gz", "/copy.gz")
        assert await fs.read_bytes("/copy.gz") == data
        await fs.append_bytes("/log.gz", b"tail")
        assert await fs.read_bytes("/log.gz") == data + b"tail"


@pytest.mark.parametrize("name", NAMES)
async def test_names_round_trip(gcs_server: LocalGCSServer, bucket: str, name: str) -> None:
    async with opened(gcs_server, bucket, name_checks=False) as fs:
        await fs.write_bytes(f"/{name}", b"1")
        assert gcs_server.keys(bucket=bucket) == [name]
        await fs.write_bytes(f"/{name}", b"2" * (CHUNK + 1))
        assert (await fs.stat(f"/{name}")).size == CHUNK + 1
        await fs.copy(f"/{name}", "/other")
        await fs.move(f"/{name}", f"/d/{name}"[:1020])
        assert [entry.name for entry in await fs.list_dir("/d")] == [name]
        await fs.remove_dir("/d", recursive=True)
        assert gcs_server.keys(bucket=bucket) == ["other"]


async def test_odd_keys_are_listed_and_never_aliased(gcs_server: LocalGCSServer, bucket: str) -> None:
    for key in ("a//b", "/lead", "./dot", "up/../there", "fine"):
        gcs_server.put(key, key.encode(), bucket=bucket)
    async with opened(gcs_server, bucket) as fs:
        entries = await fs.list_dir("/", recursive=True)
        odd = {entry.raw_name for entry in entries if entry.path is None}
        assert odd == {b"a//b", b"/lead", b"./dot", b"up/../there"}
        for path in ("/a/b", "/lead", "/dot", "/there"):
            assert not await fs.is_file(path)
        assert await fs.read_bytes("/fine") == b"fine"


async def test_names_that_gcs_keeps_for_itself(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as fs:
        with pytest.raises(InvalidPathError, match="reserves"):
            await fs.write_bytes("/.well-known/acme-challenge/token", b"x")


async def test_a_download_that_breaks_goes_on_where_it_broke(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    data = random.Random(3).randbytes(3 * CHUNK)
    gcs_server.put("file", data, bucket=bucket)
    gcs_proxy.add(Rule(CutBody(100_000), kind="get_media", times=2))
    async with opened(gcs_proxy, bucket) as fs:
        assert await fs.read_bytes("/file") == data
        assert gcs_proxy.count("get_media") == 3
        gcs_proxy.add(Rule(CutBody(10), kind="get_media", times=1))
        assert await fs.read_bytes("/file", 1000, 2000) == data[1000:2000]


async def test_a_download_that_breaks_after_a_replacement_is_an_error_and_no_mixture(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    gcs_server.put("file", b"o" * (3 * CHUNK), bucket=bucket)
    gcs_proxy.add(Rule(CutBody(2 * CHUNK), kind="get_media", times=1))
    async with opened(gcs_proxy, bucket) as fs, fs.open_read("/file") as reader:
        seen = await anext(reader)
        gcs_server.put("file", b"n" * (3 * CHUNK), bucket=bucket)
        with pytest.raises(OSError, match="replaced while it was read"):
            async for chunk in reader:
                seen += chunk
        assert set(seen) == set(b"o")


async def test_an_upload_that_breaks_goes_on_where_it_broke(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    data = random.Random(3).randbytes(3 * CHUNK + 5)
    async with opened(gcs_proxy, bucket, name_checks=False, chunk_size=2 * CHUNK) as fs:
        gcs_proxy.add(Rule(CutUpload(CHUNK + 1000), kind="resumable_chunk", nth=1))
        await fs.write_bytes("/file", data)
    assert gcs_server.get("file", bucket=bucket) == data
    assert gcs_proxy.kinds()[2:] == ["resumable_chunk", "resumable_query", "resumable_chunk", "resumable_chunk"]


async def test_a_server_that_ignores_ranges_is_not_believed(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    gcs_server.put("file", b"0123456789", bucket=bucket)
    gcs_proxy.add(Rule(StripRange(), kind="get_media"))
    async with opened(gcs_proxy, bucket) as fs:
        with pytest.raises(StorageError, match="another range"):
            await fs.read_bytes("/file", 2, 4)


async def test_bytes_that_changed_on_the_way_are_an_error(gcs_server: LocalGCSServer, bucket: str) -> None:
    stored = gcs_server.put("file", b"right", bucket=bucket)
    kept = gcs_server.state.buckets[bucket]
    object.__setattr__(kept.objects["file"], "data", b"wrong")
    async with opened(gcs_server, bucket) as fs:
        assert (await fs.stat("/file")).version == str(stored)
        with pytest.raises(StorageError, match="checksum"):
            await fs.read_bytes("/file")


async def test_a_media_type_and_all_other_metadata_come_along(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as fs:
        await fs.write_bytes("/page", b"<p>", media_type="text/html")
        target = f"/storage/v1/b/{bucket}/o/{quote('page')}"
        patch = {"cacheControl": "no-store", "metadata": {"owner": "me"}}
        headers = {"Content-Type": "application/json"}
        gcs_server.request("PATCH", target, headers=headers, body=json.dumps(patch).encode())
        before = await fs.stat("/page")
        await fs.copy("/page", "/copy")
        await fs.append_bytes("/page", b"</p>")
        assert before.media_type == (await fs.stat("/copy")).media_type == (await fs.stat("/page")).media_type
    copied = gcs_server.head("copy", bucket=bucket)
    assert copied is not None
    assert (copied["cacheControl"], copied["metadata"]["owner"]) == ("no-store", "me")
