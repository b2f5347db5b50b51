"""Servers that answer nonsense, or what they should not: an error of ours in words, and nothing goes astray."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from tests.integration.gcs.support import CHUNK, meanwhile, opened
from tests.servers.faults import Answer, Rule, gcs_error
from tests.servers.gcs import Call, LocalGCSServer, serving_gcs
from tests.servers.proxy import Proxy

from moorage import Filesystem, MoorageError, StorageError
from moorage_gcs import GCSFilesystem, GCSProvider

pytestmark = pytest.mark.anyio

OBJECT: dict[str, Any] = {"name": "file", "generation": "1", "size": "1"}


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    bucket = gcs_server.make_bucket()
    gcs_server.put("file", b"x" * 100, bucket=bucket)
    return bucket


def told(document: object) -> Answer:
    return Answer(200, {"Content-Type": "application/json"}, json.dumps(document).encode())


@pytest.mark.parametrize("start", ["@127.0.0.1:{port}/x", ".127.0.0.1:{port}/x", "x@127.0.0.1:{port}/x", ""])
async def test_an_upload_goes_nowhere_but_to_the_endpoint(gcs_proxy: Proxy, bucket: str, start: str) -> None:
    """``http://127.0.0.1:80`` and ``@evil/x`` make a URL of ``evil``."""
    met: list[Call] = []
    with serving_gcs() as elsewhere:
        elsewhere.state.settings.fault = met.append
        place = f"{start.format(port=elsewhere.port)}?upload_id=1"
        gcs_proxy.add(Rule(Answer(200, {"Location": place}), kind="resumable_start"))
        async with opened(gcs_proxy, bucket, token="secret") as fs:
            with pytest.raises(StorageError, match="where to upload to"):
                await fs.write_bytes("/large", bytes(2 * CHUNK))
    assert met == []


@pytest.mark.parametrize(
    "document",
    [
        {"items": None}, {"items": 5}, {"items": {"a": 1}}, {"items": [None]}, {"items": ["x"]}, {"prefixes": 7},
        {"items": [{**OBJECT, "name": ["x"]}]}, {**OBJECT, "name": None}, {**OBJECT, "size": -1},
        {**OBJECT, "size": 1e400}, {**OBJECT, "size": "9" * 6000}, {**OBJECT, "generation": "one"},
        {**OBJECT, "contentType": 5}, {"done": True, "resource": 5}, [], "text", None,
    ],
)  # fmt: skip
async def test_nonsense_is_an_error_of_ours(gcs_proxy: Proxy, bucket: str, document: object) -> None:
    async with opened(gcs_proxy, bucket, retries=0, check_bucket=False, name_checks=False) as fs:
        assert isinstance(fs.provider, GCSProvider)
        client = fs.provider.client
        gcs_proxy.add(Rule(told(document)))
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: client.head("file"),
            lambda: client.put("file", b"x"),
            lambda: client.copy("file", "copied"),
            lambda: _listed(fs),
        ]
        refused = 0
        for call in calls:
            try:
                await call()
            except MoorageError:
                refused += 1
        assert refused >= 3


async def _listed(fs: Filesystem) -> None:
    assert isinstance(fs.provider, GCSProvider)
    async for _ in fs.provider.client.list(""):
        pass


async def test_answers_without_end_end(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        rule = gcs_proxy.add(Rule(Answer(200, {}, b"[" * 200_000), kind="get_metadata"))
        with pytest.raises(StorageError, match="not JSON"):
            await fs.stat("/file")
        rule.action = Answer(500, {}, b"[" * 50_000)
        rule.times = 1
        await fs.stat("/file")
        gcs_proxy.add(Rule(told({"nextPageToken": "again"}), kind="list"))
        with anyio.fail_after(10), pytest.raises(StorageError, match="does not get on"):
            await fs.list_dir("/")


@pytest.mark.parametrize("times", ["9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00", 5])
async def test_times_that_there_are_not(gcs_proxy: Proxy, bucket: str, times: object) -> None:
    gcs_proxy.add(Rule(told({**OBJECT, "timeCreated": times}), kind="get_metadata"))
    async with opened(gcs_proxy, bucket) as fs:
        assert (await fs.stat("/file")).modified_at is None


async def test_a_range_of_what_was_compressed_on_the_way_is_refused(gcs_proxy: Proxy, bucket: str) -> None:
    headers = {
        "X-Goog-Generation": "1",
        "X-Goog-Stored-Content-Encoding": "identity",
        "X-Goog-Stored-Content-Length": "100",
        "Content-Encoding": "gzip",
        "Content-Range": "bytes 5-24/100",
    }
    gcs_proxy.add(Rule(Answer(206, headers, b"\x1f\x8b" + bytes(18)), kind="get_media"))
    async with opened(gcs_proxy, bucket) as fs:
        with pytest.raises(StorageError, match="other bytes than are stored"):
            await fs.read_bytes("/file", 5, 25)


@pytest.mark.parametrize(
    "document",
    [
        {"items": [{**OBJECT, "name": "secret/file"}]},
        {"items": [{**OBJECT, "name": "in/dir/x"}, {**OBJECT, "name": "in/dir"}]},
        {"prefixes": ["secret/"]},
        {"prefixes": ["in/dir/below"]},
    ],
)
async def test_what_is_outside_of_what_was_asked_for_is_not_touched(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, document: object
) -> None:
    for name in ("secret/file", "in/dir", "in/dir/x"):
        gcs_server.put(name, b"precious", bucket=bucket)
    async with opened(gcs_proxy, bucket, prefix="in") as fs:
        gcs_proxy.add(Rule(told(document), kind="list"))
        with pytest.raises(StorageError, match="asked for"):
            await fs.list_dir("/dir")
        if "items" in json.dumps(document):
            with pytest.raises(StorageError, match="outside of what"):
                await fs.remove_dir("/dir", recursive=True)
    assert gcs_server.keys(bucket=bucket) == ["file", "in/dir", "in/dir/x", "secret/file"]


async def test_a_sweep_removes_nothing_that_is_outside(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    stored = {**OBJECT, "timeCreated": "2020-01-01T00:00:00Z", "generation": str(generation_of(gcs_server, bucket))}
    async with opened(gcs_proxy, bucket, prefix="in") as fs:
        assert isinstance(fs.provider, GCSProvider)
        gcs_proxy.add(Rule(told({"items": [stored]}), kind="list"))
        with pytest.raises(StorageError, match="outside of what"):
            await fs.provider.sweep_leftovers(3600)
    assert gcs_server.keys(bucket=bucket) == ["file"]


def generation_of(server: LocalGCSServer, bucket: str) -> int:
    return server.state.buckets[bucket].objects["file"].generation


async def test_nothing_is_there_only_where_the_object_ends_before(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        assert await fs.read_bytes("/file", 100) == await fs.read_bytes("/file", 200, 300) == b""
        for start in (0, 99):
            rule = gcs_proxy.add(Rule(gcs_error(416), kind="get_media", times=1))
            assert await fs.read_bytes("/file", start) == b"x" * (100 - start)
            assert rule.fired == 1
        rule = gcs_proxy.add(Rule(gcs_error(416), kind="get_media"))
        with pytest.raises(StorageError, match="says that there are none"):
            await fs.read_bytes("/file")
        assert rule.fired < 10


async def test_a_file_that_grows_while_its_end_is_looked_for(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async def grow() -> None:
        gcs_server.put("file", b"y" * 300, bucket=bucket)

    async with opened(gcs_proxy, bucket) as fs, meanwhile(gcs_proxy, grow), fs.open_read("/file", 200) as reader:
        assert (await reader.read(), reader.stat.size) == (b"y" * 100, 300)


@pytest.mark.parametrize("announced", [True, False])
async def test_of_more_than_was_asked_for_little_is_read(announced: bool) -> None:
    """Ten bytes are asked for, and there come many megabytes."""
    whole, sent = 64 << 20, 0
    head = (
        "HTTP/1.1 206 Partial Content\r\nX-Goog-Generation: 1\r\nContent-Range: bytes 5-14/100\r\n"
        f"{f'Content-Length: {whole}' if announced else 'Connection: close'}\r\n\r\n"
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode())
        with suppress(OSError):
            while sent < whole:
                writer.write(bytes(1 << 16))
                await writer.drain()
                sent += 1 << 16
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        options: dict[str, Any] = {"check_bucket": False, "conditional_write": "atomic", "retries": 0}
        async with GCSFilesystem("bucket", "", f"http://127.0.0.1:{port}", **options) as fs:
            with pytest.raises(StorageError, match="more than it announced"):
                await fs.read_bytes("/file", 5, 15)
    assert sent < whole // 2


async def test_every_request_of_a_batch_names_who_pays(own_gcs_server: LocalGCSServer) -> None:
    asked: list[Call] = []
    own_gcs_server.put("tree/a", b"")
    own_gcs_server.put("tree/b", b"")
    async with opened(own_gcs_server, own_gcs_server.bucket, user_project="payer") as fs:
        own_gcs_server.state.settings.fault = asked.append
        await fs.remove_dir("/tree", recursive=True)
    deletes = [call for call in asked if call.method == "DELETE"]
    assert len(deletes) >= 2
    assert all(call.query.get("userProject") == "payer" for call in deletes)
