"""The GCS server's listings, copies, batches, limits and tokens."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from tests.servers.gcs import Access, Answer, LocalGCSServer
from tests.unit.servers.gcs_calls import BASE, UPLOADS, Reply, ask, object_path, send

LIST = f"{BASE}/o"


def pages(server: LocalGCSServer, **query: Any) -> list[tuple[list[str], list[str]]]:
    found: list[tuple[list[str], list[str]]] = []
    token = ""
    while True:
        page = ask(server, "GET", LIST, **{**query, "pageToken": token}).document
        found.append(([item["name"] for item in page.get("items", [])], page.get("prefixes", [])))
        token = page.get("nextPageToken", "")
        if not token:
            return found


@pytest.fixture
def tree(own_gcs_server: LocalGCSServer) -> LocalGCSServer:
    for name in ["a", "a-b", "a/", "a/1", "a/2", "a/b/3", "a0", "ä", "b/x", "z"]:
        own_gcs_server.put(name, b"")
    return own_gcs_server


def test_a_listing_is_in_the_order_of_bytes(tree: LocalGCSServer) -> None:
    assert tree.keys() == ["a", "a-b", "a/", "a/1", "a/2", "a/b/3", "a0", "b/x", "z", "ä"]
    assert tree.keys("a/") == ["a/", "a/1", "a/2", "a/b/3"]
    assert tree.keys("none") == []
    assert pages(tree, startOffset="a/2", endOffset="b/x") == [(["a/2", "a/b/3", "a0"], [])]


def test_a_delimiter_folds(tree: LocalGCSServer) -> None:
    assert pages(tree, delimiter="/") == [(["a", "a-b", "a0", "z", "ä"], ["a/", "b/"])]
    assert pages(tree, delimiter="/", prefix="a/") == [(["a/", "a/1", "a/2"], ["a/b/"])]
    assert pages(tree, delimiter="/", includeTrailingDelimiter="true")[0] == (
        ["a", "a-b", "a/", "a0", "z", "ä"],
        ["a/", "b/"],
    )


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("query", [{}, {"delimiter": "/"}, {"delimiter": "/", "prefix": "a/"}])
def test_pages_join_to_the_whole(tree: LocalGCSServer, size: int, query: dict[str, str]) -> None:
    whole = pages(tree, **query)[0]
    cut = pages(tree, maxResults=size, **query)
    assert list(itertools.chain.from_iterable(names for names, _ in cut)) == whole[0]
    assert list(itertools.chain.from_iterable(prefixes for _, prefixes in cut)) == whole[1]
    assert {len(names) + len(prefixes) for names, prefixes in cut[:-1]} <= {size}


def test_a_page_has_at_most_a_thousand(own_gcs_server: LocalGCSServer) -> None:
    for number in range(1001):
        own_gcs_server.state.write("bucket1", f"{number:04}", b"", {})
    assert [len(names) for names, _ in pages(own_gcs_server, maxResults=5000)] == [1000, 1]
    own_gcs_server.state.settings.page_size = 400
    assert [len(names) for names, _ in pages(own_gcs_server)] == [400, 400, 201]


def test_wrong_listings_are_refused(gcs_server: LocalGCSServer) -> None:
    for query in ("maxResults=0", "maxResults=x", "pageToken=%26", "matchGlob=*"):
        assert ask(gcs_server, "GET", f"{LIST}?{query}").status == 400


def rewrite(server: LocalGCSServer, source: str, target: str, **query: Any) -> Reply:
    return ask(server, "POST", f"{object_path(source)}/rewriteTo/b/bucket1/o/{target}", **query)


def test_a_large_rewrite_takes_several_calls(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("a", b"0123456789", content_type="text/x")
    own_gcs_server.state.settings.rewritten_per_call = 4
    reply = rewrite(own_gcs_server, "a", "b")
    seen = [reply.document["totalBytesRewritten"]]
    while not reply.document["done"]:
        assert own_gcs_server.keys() == ["a"]
        reply = rewrite(own_gcs_server, "a", "b", rewriteToken=reply.document["rewriteToken"])
        seen.append(reply.document["totalBytesRewritten"])
    assert seen == ["4", "8", "10"]
    assert reply.document["resource"]["contentType"] == "text/x"
    assert own_gcs_server.get("b") == b"0123456789"
    token = rewrite(own_gcs_server, "a", "c").document["rewriteToken"]
    assert rewrite(own_gcs_server, "a", "d", rewriteToken=token).status == 400
    own_gcs_server.put("a", b"changed meanwhile")
    assert rewrite(own_gcs_server, "a", "c", rewriteToken=token).status == 400
    assert rewrite(own_gcs_server, "none", "c").status == 404


def test_copy_keeps_metadata_or_takes_new(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("a", b"x", content_type="text/x")
    target = f"{object_path('a')}/copyTo/b/bucket1/o/b"
    assert ask(own_gcs_server, "POST", target).document["contentType"] == "text/x"
    assert ask(own_gcs_server, "POST", target, {"contentType": "text/y"}).document["contentType"] == "text/y"
    assert ask(own_gcs_server, "POST", f"{object_path('a')}/copyTo/b/nowhere/o/b").status == 404


def test_compose(own_gcs_server: LocalGCSServer) -> None:
    def compose(*names: str) -> Reply:
        body = {"sourceObjects": [{"name": name} for name in names], "destination": {"contentType": "text/x"}}
        return ask(own_gcs_server, "POST", f"{object_path('k')}/compose", body)

    own_gcs_server.put("a", b"1")
    own_gcs_server.put("b", b"2")
    made = compose("a", "b", "a").document
    assert own_gcs_server.get("k") == b"121"
    assert (made["componentCount"], made["contentType"], "md5Hash" in made) == (3, "text/x", False)
    assert compose("k", "b").document["componentCount"] == 4
    assert own_gcs_server.get("k") == b"1212"
    assert [compose(*names).status for names in ([], ["a"] * 33, ["none"], ["a"] * 32)] == [400, 400, 404, 200]


def test_move(own_gcs_server: LocalGCSServer) -> None:
    generation = own_gcs_server.put("a", b"x")
    moved = ask(own_gcs_server, "POST", f"{object_path('a')}/moveTo/o/b")
    assert int(moved.document["generation"]) > generation
    assert own_gcs_server.keys() == ["b"]
    assert ask(own_gcs_server, "POST", f"{object_path('a')}/moveTo/o/c").status == 404
    assert ask(own_gcs_server, "POST", f"{object_path('b')}/moveTo/o/b").status == 400


def batch(server: LocalGCSServer, *requests: str) -> Reply:
    parts = [
        f"--B\r\nContent-Type: application/http\r\nContent-ID: <id+{number}>\r\n\r\n{request}\r\n\r\n\r\n"
        for number, request in enumerate(requests)
    ]
    body = f"{''.join(parts)}--B--".encode()
    headers = {"Content-Type": "multipart/mixed; boundary=B"}
    return ask(server, "POST", "/batch/storage/v1", body, headers)


def test_a_batch_answers_each_call(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("a", b"1")
    own_gcs_server.put("b", b"2")
    stale = f"DELETE {object_path('b')}?ifGenerationMatch=17 HTTP/1.1"
    reply = batch(own_gcs_server, f"DELETE {object_path('a')} HTTP/1.1", f"DELETE {object_path('c')} HTTP/1.1", stale)
    assert reply.headers["content-type"].startswith("multipart/mixed; boundary=")
    text = reply.body.decode()
    assert [line for line in text.splitlines() if line.startswith("HTTP/")] == [
        "HTTP/1.1 204 No Content",
        "HTTP/1.1 404 Not Found",
        "HTTP/1.1 412 Precondition Failed",
    ]
    assert "Content-ID: <response-id+2>" in text
    assert own_gcs_server.keys() == ["b"]


def test_a_batch_has_at_most_a_hundred_calls(gcs_server: LocalGCSServer) -> None:
    asked = f"GET {object_path('none')} HTTP/1.1"
    assert batch(gcs_server, *[asked] * 100).status == 200
    assert batch(gcs_server, *[asked] * 101).status == 400
    assert batch(gcs_server, f"GET {object_path('none')}?alt=media HTTP/1.1").status == 400


def test_tokens(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("team/k", b"1")
    own_gcs_server.state.settings.tokens = {
        "all": Access(),
        "reader": Access(read_only=True),
        "team": Access(prefix="team/"),
    }

    def status(token: str, method: str, path: str) -> int:
        body = b"x" if method == "POST" else b""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return own_gcs_server.request(method, path, headers=headers, body=body)[0]

    upload = "/upload/storage/v1/b/bucket1/o?uploadType=media&name="
    assert ask(own_gcs_server, "GET", LIST).reason == "required"
    assert ask(own_gcs_server, "GET", LIST, headers={"Authorization": "Bearer wrong"}).reason == "authError"
    assert [status("all", "GET", LIST), status("all", "POST", f"{upload}k")] == [200, 200]
    assert [status("reader", "GET", LIST), status("reader", "POST", f"{upload}k")] == [200, 403]
    assert status("reader", "DELETE", object_path("k")) == 403
    assert [status("team", "POST", f"{upload}team/x"), status("team", "POST", f"{upload}x")] == [200, 403]
    assert [status("team", "GET", f"{LIST}?prefix=team/"), status("team", "GET", LIST)] == [200, 403]
    assert [status("team", "GET", object_path("team/k")), status("team", "GET", object_path("k"))] == [200, 403]
    assert status("team", "GET", BASE) == 403


def test_the_token_endpoint(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.tokens = {}
    grant = b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    assert ask(own_gcs_server, "POST", "/token", grant).status == 400
    token = ask(own_gcs_server, "POST", "/token", grant + b"&assertion=x").document["access_token"]
    assert token == "issued-1"
    assert ask(own_gcs_server, "GET", LIST).status == 401
    assert ask(own_gcs_server, "GET", LIST, headers={"Authorization": f"Bearer {token}"}).status == 200


def test_writes_to_one_object_may_be_limited(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.seconds_between_writes = 0.3
    assert send(own_gcs_server, "k", b"1").status == 200
    limited = send(own_gcs_server, "k", b"2")
    assert (limited.status, limited.reason) == (429, "rateLimitExceeded")
    assert send(own_gcs_server, "other", b"1").status == 200
    time.sleep(0.3)
    assert send(own_gcs_server, "k", b"3").status == 200


def test_a_fault_answers_instead(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.fault = lambda call: Answer(503) if call.method == "DELETE" else None
    own_gcs_server.put("k", b"1")
    assert ask(own_gcs_server, "DELETE", object_path("k")).status == 503
    assert own_gcs_server.keys() == ["k"]


def test_a_move_that_comes_too_soon_changes_nothing(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("there", b"old")
    own_gcs_server.state.settings.seconds_between_writes = 60
    own_gcs_server.put("source", b"new")
    status = ask(own_gcs_server, "POST", f"{object_path('source')}/moveTo/o/there").status
    assert (status, own_gcs_server.get("there"), own_gcs_server.get("source")) == (429, b"old", b"new")


def test_what_is_composed_has_one_storage_class(own_gcs_server: LocalGCSServer) -> None:
    for name, kind in (("a", "STANDARD"), ("b", "NEARLINE")):
        own_gcs_server.put(name, b"x")
        ask(own_gcs_server, "PATCH", object_path(name), {"storageClass": kind})
    sources = {"sourceObjects": [{"name": "a"}, {"name": "b"}]}
    assert ask(own_gcs_server, "POST", f"{object_path('c')}/compose", sources).status == 400


@pytest.mark.parametrize(
    "document",
    [
        {"sourceObjects": "text"},
        {"sourceObjects": ["a"]},
        {"sourceObjects": [{"name": "a", "generation": "x"}]},
        {"sourceObjects": [{"name": "a", "objectPreconditions": {"ifGenerationMatch": []}}]},
        {"sourceObjects": [{"name": "a"}], "destination": {"metadata": 5}},
        {"sourceObjects": [{"name": "a"}], "destination": {"contentType": 5}},
    ],
)
def test_nonsense_is_refused_and_breaks_nothing(own_gcs_server: LocalGCSServer, document: dict[str, Any]) -> None:
    own_gcs_server.put("a", b"x")
    reply = ask(own_gcs_server, "POST", f"{object_path('c')}/compose", document)
    assert (reply.status, reply.reason) == (400, "invalid")
    assert ask(own_gcs_server, "PATCH", object_path("a"), {"metadata": 5}).status == 400


def test_two_names_of_one_upload_are_refused(own_gcs_server: LocalGCSServer) -> None:
    reply = ask(own_gcs_server, "POST", UPLOADS, {"name": "one"}, uploadType="resumable", name="other")
    assert (reply.status, reply.reason) == (400, "invalid")


def test_a_batch_that_is_malformed_does_nothing(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("a", b"x")
    part = f"--b\r\nContent-Type: application/http\r\n\r\nDELETE {object_path('a')} HTTP/1.1\r\n\r\n\r\n"
    body = f"{part}--b\r\nContent-Type: application/http\r\n\r\nnonsense\r\n--b--\r\n".encode()
    headers = {"Content-Type": "multipart/mixed; boundary=b"}
    assert ask(own_gcs_server, "POST", "/batch/storage/v1", body, headers).status == 400
    assert own_gcs_server.get("a") == b"x"
