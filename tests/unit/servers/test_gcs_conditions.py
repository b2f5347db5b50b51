"""The GCS server's preconditions: every one, on every call that takes it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.servers.gcs import LocalGCSServer
from tests.unit.servers.gcs_calls import UPLOADS, Reply, ask, object_path, send

STALE = 17
MULTIPART = {"Content-Type": "multipart/related; boundary=B"}


def multipart(server: LocalGCSServer, name: str, **query: Any) -> Reply:
    body = f'--B\r\n\r\n{{"name": "{name}"}}\r\n--B\r\n\r\nnew\r\n--B--'.encode()
    return ask(server, "POST", UPLOADS, body, MULTIPART, uploadType="multipart", **query)


def resumable(server: LocalGCSServer, name: str, **query: Any) -> Reply:
    started = ask(server, "POST", UPLOADS, {"name": name}, uploadType="resumable", **query)
    assert started.status == 200, "conditions are judged at the end"
    return Reply(*server.request("PUT", started.headers["location"].removeprefix(server.endpoint_url), body=b"new"))


def compose(server: LocalGCSServer, name: str, **query: Any) -> Reply:
    body = {"sourceObjects": [{"name": "source"}]}
    return ask(server, "POST", f"{object_path(name)}/compose", body, **query)


def media(server: LocalGCSServer, name: str, **query: Any) -> Reply:
    return send(server, name, b"new", **query)


def over(verb: str) -> Callable[..., Reply]:
    def call(server: LocalGCSServer, name: str, **query: Any) -> Reply:
        return ask(server, "POST", f"{object_path('source')}/{verb}/o/{name}", **query)

    return call


WRITES = {
    "media": media,
    "multipart": multipart,
    "resumable": resumable,
    "compose": compose,
    "copy": over("copyTo/b/bucket1"),
    "rewrite": over("rewriteTo/b/bucket1"),
    "move": over("moveTo"),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_is_done_only_if_its_conditions_hold(own_gcs_server: LocalGCSServer, kind: str) -> None:
    write, server = WRITES[kind], own_gcs_server
    generation = server.put("k", b"old")
    server.put("source", b"new")
    refused = {
        "ifGenerationMatch": (0, STALE),
        "ifGenerationNotMatch": (generation,),
        "ifMetagenerationMatch": (2,),
        "ifMetagenerationNotMatch": (1,),
    }
    for name, values in refused.items():
        for value in values:
            reply = write(server, "k", **{name: value})
            assert (name, reply.status) == (name, 304 if "Not" in name else 412)
    assert server.get("k") == b"old"
    assert server.get("source") == b"new"
    assert write(server, "k", ifGenerationMatch=generation, ifMetagenerationMatch=1).status == 200
    assert server.get("k") == b"new"


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_to_a_free_name(own_gcs_server: LocalGCSServer, kind: str) -> None:
    write, server = WRITES[kind], own_gcs_server
    server.put("source", b"new")
    missed = write(server, "k", ifGenerationMatch=STALE)
    assert (missed.status, missed.reason) == (412, "conditionNotMet")
    assert write(server, "k", ifMetagenerationMatch=1).status == 412
    assert write(server, "k", ifGenerationNotMatch=0).status == 304
    assert server.keys() == ["source"]
    assert write(server, "k", ifGenerationMatch=0).status == 200
    assert server.get("k") == b"new"


@pytest.mark.parametrize("kind", ["copy", "rewrite", "move"])
def test_conditions_on_the_source(own_gcs_server: LocalGCSServer, kind: str) -> None:
    write, server = WRITES[kind], own_gcs_server
    generation = server.put("source", b"new")
    assert write(server, "k", ifSourceGenerationMatch=STALE).status == 412
    assert write(server, "k", ifSourceGenerationNotMatch=generation).status == 304
    assert write(server, "k", ifSourceMetagenerationMatch=2).status == 412
    assert write(server, "k", ifSourceMetagenerationNotMatch=1).status == 304
    assert server.keys() == ["source"]
    assert write(server, "k", ifSourceGenerationMatch=generation).status == 200
    assert server.get("k") == b"new"


def test_conditions_on_components(own_gcs_server: LocalGCSServer) -> None:
    generation = own_gcs_server.put("a", b"1")
    for value, status in ((STALE, 412), (generation, 200)):
        sources = [{"name": "a", "objectPreconditions": {"ifGenerationMatch": str(value)}}]
        reply = ask(own_gcs_server, "POST", f"{object_path('k')}/compose", {"sourceObjects": sources})
        assert reply.status == status
    gone = [{"name": "a", "generation": str(STALE)}]
    assert ask(own_gcs_server, "POST", f"{object_path('k')}/compose", {"sourceObjects": gone}).status == 404


@pytest.mark.parametrize(("method", "alt"), [("GET", "json"), ("GET", "media"), ("DELETE", "json"), ("PATCH", "json")])
def test_conditions_on_what_is_there(own_gcs_server: LocalGCSServer, method: str, alt: str) -> None:
    server = own_gcs_server
    generation = server.put("k", b"x")

    def status(name: str = "k", **query: Any) -> int:
        return ask(server, method, object_path(name), alt=alt, **query).status

    assert status(ifGenerationMatch=STALE) == 412
    assert status(ifGenerationNotMatch=generation) == 304
    assert status(ifMetagenerationMatch=2) == 412
    assert status(ifMetagenerationNotMatch=1) == 304
    assert status("none", ifGenerationMatch=STALE) == 412
    assert status("none", ifGenerationMatch=0) == 404
    assert server.get("k") == b"x"
    assert status(ifGenerationMatch=generation, ifGenerationNotMatch=STALE) in {200, 204}


def test_a_number_that_is_none(gcs_server: LocalGCSServer) -> None:
    assert send(gcs_server, "k", b"x", ifGenerationMatch="latest").reason == "invalid"


def test_of_twenty_writers_one_wins(own_gcs_server: LocalGCSServer) -> None:
    generation = own_gcs_server.put("k", b"0")
    with ThreadPoolExecutor(20) as pool:
        futures = [
            pool.submit(send, own_gcs_server, "k", b"%d" % number, ifGenerationMatch=generation) for number in range(20)
        ]
        statuses = [future.result().status for future in futures]
    assert sorted(statuses) == [200] + [412] * 19
    assert own_gcs_server.get("k") == b"%d" % statuses.index(200)
