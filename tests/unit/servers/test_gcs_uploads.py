"""The GCS server's uploads: multipart/related to the letter, resumable ones with their whole protocol."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from tests.servers.gcs import LocalGCSServer
from tests.servers.gcs.checksums import crc32c, md5
from tests.unit.servers.gcs_calls import UPLOADS, Reply, ask

GRANULE = 256 * 1024


def related(server: LocalGCSServer, body: bytes, boundary: str = "B") -> Reply:
    headers = {"Content-Type": f"multipart/related; boundary={boundary}"}
    return ask(server, "POST", UPLOADS, body, headers, uploadType="multipart")


def test_multipart(own_gcs_server: LocalGCSServer) -> None:
    data = b"\r\nline\r\n--Bo\x00\n"
    head = b'--B\r\nContent-Type: application/json\r\n\r\n{"name": "k", "metadata": {"a": "1"}}\r\n--B \r\n'
    reply = related(
        own_gcs_server, head + b"Content-Type: text/x\r\n\r\n" + data.replace(b"--Bo", b"--o") + b"\r\n--B--\r\n"
    )
    assert reply.status == 200
    assert (reply.document["contentType"], reply.document["metadata"]) == ("text/x", {"a": "1"})
    assert own_gcs_server.get("k") == data.replace(b"--Bo", b"--o")
    assert related(own_gcs_server, b'--B\r\n\r\n{"name": "k"}\r\n--B\r\n\r\n\r\n--B--', '"B"').status == 200
    assert own_gcs_server.get("k") == b""


def test_a_payload_that_holds_the_closing_boundary_is_cut_there(own_gcs_server: LocalGCSServer) -> None:
    """As MIME says, and as some client libraries found out."""
    assert (
        related(own_gcs_server, b'--B\r\n\r\n{"name": "k"}\r\n--B\r\n\r\nbefore\r\n--B--\r\nafter\r\n--B--').status
        == 200
    )
    assert own_gcs_server.get("k") == b"before"


@pytest.mark.parametrize(
    "body",
    [
        b'--B\n\n{"name": "k"}\n--B\n\ndata\n--B--',
        b'--B\r\n\r\n{"name": "k"}\r\n--B\n\ndata\r\n--B--',
        b'--B\r\nA: 1\nB: 2\r\n\r\n{"name": "k"}\r\n--B\r\n\r\ndata\r\n--B--',
        b'--B\r\n\r\n{"name": "k"}\r\n--B\r\n\r\ndata',
        b'--B\r\n\r\n{"name": "k"}\r\n--B--',
        b'--B\r\n\r\n{"name": "k"}\r\n--B\r\n\r\ndata\r\n--B\r\n\r\nmore\r\n--B--',
        b'--C\r\n\r\n{"name": "k"}\r\n--C\r\n\r\ndata\r\n--C--',
    ],
)
def test_a_sloppy_multipart_is_refused(own_gcs_server: LocalGCSServer, body: bytes) -> None:
    refused = related(own_gcs_server, body)
    assert (refused.status, refused.reason) == (400, "badContent")
    assert own_gcs_server.keys() == []


def test_bare_line_feeds_are_taken_where_a_test_says_so(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.bare_line_feeds = True
    assert related(own_gcs_server, b'--B\nA: 1\n\n{"name": "k"}\n--B\nA: 1\n\na\r\nb\n--B--').status == 200
    assert own_gcs_server.get("k") == b"a\r\nb"


@pytest.mark.parametrize("kind", ["md5", "crc32c"])
def test_a_wrong_hash_is_refused(own_gcs_server: LocalGCSServer, kind: str) -> None:
    right = {"md5": md5, "crc32c": crc32c}[kind](b"data")
    wrong = {"md5": md5, "crc32c": crc32c}[kind](b"other")
    field = {"md5": "md5Hash", "crc32c": "crc32c"}[kind]
    for value, status in ((wrong, 400), (right, 200)):
        document = json.dumps({"name": "k", field: value}).encode()
        assert related(own_gcs_server, b"--B\r\n\r\n" + document + b"\r\n--B\r\n\r\ndata\r\n--B--").status == status
        headers = {"X-Goog-Hash": f"{kind}={value}"}
        assert ask(own_gcs_server, "POST", UPLOADS, b"data", headers, uploadType="media", name="m").status == status


class Session:
    """A resumable upload."""

    def __init__(self, server: LocalGCSServer, headers: dict[str, str] | None = None, **query: Any) -> None:
        self.server = server
        started = ask(server, "POST", UPLOADS, {"name": "k"}, headers, uploadType="resumable", **query)
        self.target = started.headers["location"].removeprefix(server.endpoint_url)

    def put(self, content_range: str | None, body: bytes = b"") -> Reply:
        headers = {} if content_range is None else {"Content-Range": content_range}
        return Reply(*self.server.request("PUT", self.target, headers=headers, body=body))

    def cancel(self) -> int:
        return self.server.request("DELETE", self.target)[0]


def test_resumable_in_chunks(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server, {"X-Upload-Content-Type": "text/x"})
    asked = session.put("bytes */*")
    assert (asked.status, asked.headers.get("range")) == (308, None)
    first = session.put(f"bytes 0-{GRANULE - 1}/*", b"a" * GRANULE)
    assert (first.status, first.headers["range"]) == (308, f"bytes=0-{GRANULE - 1}")
    assert session.put(f"bytes */{GRANULE + 3}").headers["range"] == f"bytes=0-{GRANULE - 1}"
    assert own_gcs_server.keys() == []
    assert own_gcs_server.pending_uploads() == ["k"]
    done = session.put(f"bytes {GRANULE}-{GRANULE + 2}/{GRANULE + 3}", b"end")
    assert (done.status, done.document["size"], done.document["contentType"]) == (200, str(GRANULE + 3), "text/x")
    assert own_gcs_server.pending_uploads() == []
    asked = session.put(f"bytes */{GRANULE + 3}")
    assert (asked.status, asked.document) == (200, done.document), "an answer that was lost can be asked for again"


def test_resumable_keeps_multiples_of_256_kib(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server)
    assert "range" not in session.put("bytes 0-9/*", b"0123456789").headers
    assert session.put(f"bytes 0-{GRANULE + 9}/*", b"a" * (GRANULE + 10)).headers["range"] == f"bytes=0-{GRANULE - 1}"
    ahead = session.put(f"bytes {GRANULE + 10}-{GRANULE + 10}/*", b"x")
    assert ahead.status == 503
    whole = session.put(f"bytes 0-{GRANULE}/{GRANULE + 1}", b"b" * GRANULE + b"c")
    assert whole.status == 200
    assert own_gcs_server.get("k") == b"a" * GRANULE + b"c", "what has arrived is not taken again"


@pytest.mark.parametrize(
    ("content_range", "body"), [(None, b"abc"), ("bytes 0-2/3", b"abc"), ("bytes */0", b""), (None, b"")]
)
def test_resumable_in_one_piece(own_gcs_server: LocalGCSServer, content_range: str | None, body: bytes) -> None:
    assert Session(own_gcs_server).put(content_range, body).status == 200
    assert own_gcs_server.get("k") == body


def test_resumable_refuses_what_does_not_fit(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server, {"X-Upload-Content-Length": "3"})
    assert session.put("bytes 0-3/4", b"abcd").status == 400
    assert session.put("bytes 0-2/3", b"ab").status == 400
    assert session.put("bytes zero", b"ab").status == 400
    assert session.put("bytes 0-2/3", b"abc").status == 200
    assert own_gcs_server.request("PUT", f"{UPLOADS}?uploadType=resumable&upload_id=none", body=b"")[0] == 404


def test_cancelling(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server)
    session.put(f"bytes 0-{GRANULE - 1}/*", b"a" * GRANULE)
    assert session.cancel() == 499
    assert session.put("bytes */*").status == 499
    assert own_gcs_server.pending_uploads() == own_gcs_server.keys() == []


def test_a_condition_that_fails_ends_the_upload(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server, ifGenerationMatch=0)
    own_gcs_server.put("k", b"somebody else's")
    assert session.put("bytes 0-2/3", b"abc").status == 412
    assert own_gcs_server.get("k") == b"somebody else's"
    assert own_gcs_server.pending_uploads() == []


def test_a_chunk_that_is_cut_off_is_kept_as_far_as_it_came(own_gcs_server: LocalGCSServer) -> None:
    session = Session(own_gcs_server)
    size = 2 * GRANULE
    fields = f"Host: x\r\nContent-Length: {size}\r\nContent-Range: bytes 0-{size - 1}/{size}"
    head = f"PUT {session.target} HTTP/1.1\r\n{fields}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", own_gcs_server.port)) as connection:
        connection.sendall(head.encode() + b"a" * (GRANULE + 1000))
    asked = session.put(f"bytes */{size}")
    while "range" not in asked.headers:  # the server may hear of the end a moment later
        asked = session.put(f"bytes */{size}")
    assert (asked.status, asked.headers["range"]) == (308, f"bytes=0-{GRANULE - 1}")


def test_a_media_upload_that_is_cut_off_stores_nothing(own_gcs_server: LocalGCSServer) -> None:
    head = f"POST {UPLOADS}?uploadType=media&name=k HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
    with socket.create_connection(("127.0.0.1", own_gcs_server.port)) as connection:
        connection.sendall(head.encode() + b"abc")
    assert own_gcs_server.keys() == []
