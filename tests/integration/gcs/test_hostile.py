"""Servers that answer nonsense, or what they should not: an error of ours in words, and nothing goes astray."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from tests.integration.gcs.support import CHUNK, opened
from tests.servers.faults import Answer, Rule
from tests.servers.gcs import Call, LocalGCSServer, serving_gcs
from tests.servers.proxy import Proxy

from moorage import Filesystem, MoorageError, StorageError
from moorage_gcs import GCSProvider

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
