"""The proxy: passes requests as they came, names and counts them, and does to them what its rules say."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.servers.faults import (
    Answer,
    CutBody,
    CutUpload,
    DropRequest,
    DropResponse,
    Rule,
    Stall,
    StripConditions,
    StripRange,
    gcs_error,
    s3_error,
    s3_error_in_200,
)
from tests.servers.gcs import LocalGCSServer, serving_gcs
from tests.servers.proxy import Proxy, running_proxy

LOST = (http.client.RemoteDisconnected, ConnectionError)
UPLOAD = "/upload/storage/v1/b/bucket1/o?uploadType=media&name="


@pytest.fixture
def server() -> Iterator[LocalGCSServer]:
    with serving_gcs() as server:
        yield server


@pytest.fixture
def proxy(server: LocalGCSServer) -> Iterator[Proxy]:
    with running_proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: Proxy, server: LocalGCSServer) -> LocalGCSServer:
    """The server, seen through the proxy."""
    return replace(server, port=proxy.port)


def test_passes_everything_and_counts_it(client: LocalGCSServer, proxy: Proxy) -> None:
    client.put("a/b", b"x" * 300_000)
    assert client.get("a/b") == b"x" * 300_000
    assert client.get("none") is None
    assert client.keys() == ["a/b"]
    assert proxy.kinds() == ["media_upload", "get_media", "get_media", "list"]
    assert (proxy.count(), proxy.count("get_media"), proxy.count("delete")) == (4, 2, 0)
    assert [seen.status for seen in proxy.requests] == [200, 200, 404, 200]
    proxy.reset()
    assert proxy.count() == 0


def test_keeps_a_connection_for_many_requests(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=5)
    for number in range(5):
        connection.request("POST", f"{UPLOAD}k{number}", body=iter([b"a", b"b"]), encode_chunked=True)
        assert connection.getresponse().read().startswith(b"{")
    kept = connection.sock
    connection.request("GET", "/storage/v1/b/bucket1/o/k1?alt=media")
    assert connection.getresponse().read() == b"ab"
    assert connection.sock is kept
    connection.close()


def test_drops_a_request(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    rule = proxy.add(Rule(DropRequest(), kind="media_upload", nth=2))
    client.put("one", b"1")
    with pytest.raises(LOST):
        client.put("two", b"2")
    client.put("three", b"3")
    assert server.keys() == ["one", "three"]
    assert (rule.seen, rule.fired) == (3, 1)


def test_drops_the_response_of_a_request_that_was_done(
    client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy
) -> None:
    proxy.add(Rule(DropResponse(), kind="media_upload"))
    with pytest.raises(LOST):
        client.put("k", b"1")
    assert server.get("k") == b"1"
    assert proxy.requests[0].status == 200
    proxy.clear()
    client.put("k", b"2")


@pytest.mark.parametrize(
    "answer",
    [
        gcs_error(429, "rateLimitExceeded", retry_after=3),
        gcs_error(503),
        s3_error(409, "ConditionalRequestConflict"),
        s3_error_in_200(),
    ],
)
def test_answers_instead_of_the_server(
    client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy, answer: Answer
) -> None:
    proxy.add(Rule(answer, method="POST", times=1))
    status, headers, body = client.request("POST", f"{UPLOAD}k", body=b"x" * 100_000)
    assert (status, body) == (answer.status, answer.body)
    assert headers.get("retry-after") == answer.headers.get("Retry-After")
    assert server.keys() == []
    assert client.request("POST", f"{UPLOAD}k", body=b"1")[0] == 200
    assert [seen.action for seen in proxy.requests] == [answer, None]


def test_answers_an_error_although_it_was_done(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    proxy.add(Rule(gcs_error(503, after=True), method="POST"))
    assert client.request("POST", f"{UPLOAD}k", body=b"1")[0] == 503
    assert server.get("k") == b"1"


def test_cuts_a_body(client: LocalGCSServer, proxy: Proxy) -> None:
    client.put("k", b"x" * 1000)
    proxy.add(Rule(CutBody(400), kind="get_media"))
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.get("k")
    assert caught.value.partial == b"x" * 400


def test_cuts_an_upload(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    proxy.add(Rule(CutUpload(400), kind="media_upload"))
    with pytest.raises(LOST):
        client.put("k", b"x" * 1000)
    assert server.keys() == []


def test_stalls_until_it_is_released(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    release = threading.Event()
    proxy.add(Rule(Stall(release=release), kind="media_upload"))
    writing = threading.Thread(target=client.put, args=("k", b"1"))
    writing.start()
    proxy.wait_for("media_upload")
    assert server.keys() == []
    release.set()
    writing.join(5)
    assert server.keys() == ["k"]


def test_stalls_a_response(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    proxy.add(Rule(Stall(0.2, after=True), kind="media_upload"))
    begun = time.monotonic()
    client.put("k", b"1")
    assert time.monotonic() - begun >= 0.2
    assert server.keys() == ["k"]


def test_stalls_until_the_client_gives_up(server: LocalGCSServer, proxy: Proxy) -> None:
    proxy.add(Rule(Stall()))
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=0.2)
    connection.request("POST", f"{UPLOAD}k", body=b"1")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    assert server.keys() == []


def test_waits_in_vain(proxy: Proxy) -> None:
    with pytest.raises(TimeoutError):
        proxy.wait_for("compose", seconds=0.01)


def test_strips_conditions(client: LocalGCSServer, server: LocalGCSServer, proxy: Proxy) -> None:
    client.put("k", b"1")
    assert client.request("POST", f"{UPLOAD}k&ifGenerationMatch=0", body=b"2")[0] == 412
    proxy.add(Rule(StripConditions()))
    assert client.request("POST", f"{UPLOAD}k&ifGenerationMatch=0", body=b"3")[0] == 200
    assert server.get("k") == b"3"


def test_strips_a_range(client: LocalGCSServer, proxy: Proxy) -> None:
    client.put("k", b"0123456789")
    target, asked = "/storage/v1/b/bucket1/o/k?alt=media", {"Range": "bytes=2-4"}
    assert client.request("GET", target, headers=asked)[::2] == (206, b"234")
    proxy.add(Rule(StripRange()))
    assert client.request("GET", target, headers=asked)[::2] == (200, b"0123456789")


def test_a_probability_is_repeatable(client: LocalGCSServer, proxy: Proxy) -> None:
    def statuses() -> list[int]:
        proxy.clear()
        proxy.add(Rule(gcs_error(503), target=r"/o/k\b", probability=0.5, seed=3))
        return [client.request("GET", "/storage/v1/b/bucket1/o/k")[0] for _ in range(30)]

    first = statuses()
    assert set(first) == {404, 503}
    assert statuses() == first


def test_the_server_is_away(client: LocalGCSServer) -> None:
    with serving_gcs() as gone:
        port = gone.port
    with running_proxy(port) as proxy, pytest.raises(LOST):
        replace(client, port=proxy.port).get("k")
