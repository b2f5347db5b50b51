"""The GCS server's objects: names, metadata, content, ranges, transcoding, deletion."""

from __future__ import annotations

import base64
import gzip

import pytest
from tests.servers.gcs import LocalGCSServer
from tests.servers.gcs.checksums import crc32c, crc32c_by_table
from tests.unit.servers.gcs_calls import BASE, UPLOADS, ask, object_path, send

NAMES = ["a/b", " x", "t/", "a//b", "./x", "../x", "%20", "a+b?c#d", "ü", "u\u0308", "[x]*{y}", "\\", "\t", "n" * 1024]


@pytest.mark.parametrize("name", NAMES)
def test_every_valid_name_is_its_own(own_gcs_server: LocalGCSServer, name: str) -> None:
    assert send(own_gcs_server, name, name.encode()).status == 200
    assert own_gcs_server.keys() == [name]
    assert own_gcs_server.get(name) == name.encode()


@pytest.mark.parametrize("name", ["n" * 1025, "ü" * 513, "a\nb", "a\rb", ".", "..", ".well-known/acme-challenge/x"])
def test_other_names_are_refused(gcs_server: LocalGCSServer, name: str) -> None:
    refused = send(gcs_server, name, b"x")
    assert (refused.status, refused.reason) == (400, "invalid")
    assert ask(gcs_server, "POST", UPLOADS, b"x", uploadType="media").reason == "required"


def test_the_resource_says_what_is_stored(own_gcs_server: LocalGCSServer) -> None:
    first = send(own_gcs_server, "k", b"hello").document
    second = send(own_gcs_server, "k", b"hello").document
    assert (first["size"], first["md5Hash"], first["crc32c"]) == ("5", "XUFAKrxLKna5cZ2REBfFkg==", "mnG7TA==")
    assert (first["metageneration"], first["contentType"]) == ("1", "application/octet-stream")
    assert int(second["generation"]) > int(first["generation"]) > 0
    assert first["timeCreated"] == first["updated"] <= second["updated"]
    assert ask(own_gcs_server, "GET", object_path("k")).document == second
    assert ask(own_gcs_server, "GET", object_path("k"), generation=first["generation"]).status == 404
    assert ask(own_gcs_server, "GET", object_path("k"), generation=second["generation"]).status == 200


@pytest.mark.parametrize("data", [b"", b"123456789", bytes(range(256)) * 5])
def test_both_checksums_agree(data: bytes) -> None:
    assert base64.b64decode(crc32c(data)) == crc32c_by_table(data).to_bytes(4, "big")
    assert crc32c_by_table(b"123456789") == 0xE3069283


def test_what_is_not_there(gcs_server: LocalGCSServer) -> None:
    missing = ask(gcs_server, "GET", object_path("none"))
    assert (missing.status, missing.reason) == (404, "notFound")
    assert ask(gcs_server, "GET", object_path("none"), alt="media").body == b"No such object: bucket1/none"
    assert ask(gcs_server, "DELETE", object_path("none")).status == 404
    for method, path in [("GET", object_path("k", "nowhere")), ("GET", "/storage/v1/b/nowhere/o")]:
        assert ask(gcs_server, method, path).document["error"]["message"] == "The specified bucket does not exist."
    assert ask(gcs_server, "GET", "/storage/v1/b/bucket1/o/a/b").status == 404, "a slash in a name is to be encoded"


@pytest.mark.parametrize(
    ("asked", "status", "served"),
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=2-", 206, b"23456789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=8-99", 206, b"89"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=4-2", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("bytes=10-", 416, b"The requested range cannot be satisfied."),
        ("bytes=-0", 416, b"The requested range cannot be satisfied."),
    ],
)
def test_ranges(own_gcs_server: LocalGCSServer, asked: str, status: int, served: bytes) -> None:
    own_gcs_server.put("k", b"0123456789")
    reply = ask(own_gcs_server, "GET", object_path("k"), headers={"Range": asked}, alt="media")
    assert (reply.status, reply.body) == (status, served)
    if status == 206:
        start = b"0123456789".index(served)
        assert reply.headers["content-range"] == f"bytes {start}-{start + len(served) - 1}/10"
    if status == 416:
        assert reply.headers["content-range"] == "bytes */10"


def test_an_empty_object_has_no_range(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("k", b"")
    assert ask(own_gcs_server, "GET", object_path("k"), headers={"Range": "bytes=0-"}, alt="media").status == 416
    assert ask(own_gcs_server, "GET", object_path("k"), alt="media").body == b""


def test_a_download_says_what_it_is(own_gcs_server: LocalGCSServer) -> None:
    stored = send(own_gcs_server, "k", b"hello").document
    headers = ask(own_gcs_server, "GET", f"/download{object_path('k')}", alt="media").headers
    assert headers["x-goog-generation"] == stored["generation"]
    assert headers["x-goog-hash"] == f"crc32c={stored['crc32c']},md5={stored['md5Hash']}"
    assert headers["x-goog-stored-content-length"] == "5"
    assert headers["content-type"] == "application/octet-stream"


def test_gzip_encoded_objects_are_transcoded_for_those_who_cannot(own_gcs_server: LocalGCSServer) -> None:
    packed = gzip.compress(b"plain" * 100)
    send(own_gcs_server, "k", packed, contentEncoding="gzip")
    asks = {"Range": "bytes=0-3"}
    plain = ask(own_gcs_server, "GET", object_path("k"), headers=asks, alt="media")
    assert (plain.status, plain.body) == (200, b"plain" * 100), "transcoding ignores the range"
    assert "content-encoding" not in plain.headers
    assert plain.headers["x-goog-stored-content-encoding"] == "gzip"
    kept = ask(own_gcs_server, "GET", object_path("k"), headers={**asks, "Accept-Encoding": "gzip"}, alt="media")
    assert (kept.status, kept.body, kept.headers["content-encoding"]) == (206, packed[:4], "gzip")
    assert ask(own_gcs_server, "GET", object_path("k")).document["size"] == str(len(packed))


def test_a_body_that_was_uploaded_compressed_is_kept_as_it_came(own_gcs_server: LocalGCSServer) -> None:
    packed = gzip.compress(b"plain")
    own_gcs_server.request(
        "POST", f"{UPLOADS}?uploadType=media&name=k", headers={"Content-Encoding": "gzip"}, body=packed
    )
    assert own_gcs_server.get("k") == packed


def test_patch_changes_metadata_alone(own_gcs_server: LocalGCSServer) -> None:
    stored = send(own_gcs_server, "k", b"x").document
    patched = ask(
        own_gcs_server, "PATCH", object_path("k"), {"contentType": "text/x", "metadata": {"a": "1", "b": "2"}}
    )
    assert patched.document["metageneration"] == "2"
    assert patched.document["generation"] == stored["generation"]
    again = ask(own_gcs_server, "PATCH", object_path("k"), {"metadata": {"a": None}}).document
    assert (again["metadata"], again["contentType"], again["md5Hash"]) == ({"b": "2"}, "text/x", stored["md5Hash"])
    assert ask(own_gcs_server, "PATCH", object_path("k"), {}, ifMetagenerationMatch=1).status == 412
    assert "metadata" not in ask(own_gcs_server, "PUT", object_path("k"), {}).document


@pytest.mark.parametrize(("size", "status"), [(8 * 1024, 200), (8 * 1024 + 1, 400)])
def test_there_is_room_for_so_many_metadata(own_gcs_server: LocalGCSServer, size: int, status: int) -> None:
    send(own_gcs_server, "k", b"x")
    half = {"a": "x" * (size // 2 - 1)}
    rest = {"ä": "x" * (size - size // 2 - 2)}
    assert (
        ask(own_gcs_server, "POST", f"{object_path('k')}/copyTo/b/bucket1/o/c", {"metadata": {**half, **rest}}).status
        == status
    )
    assert ask(own_gcs_server, "PATCH", object_path("k"), {"metadata": half}).status == 200
    assert ask(own_gcs_server, "PATCH", object_path("k"), {"metadata": rest}).status == status


def test_delete(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("k", b"x")
    assert ask(own_gcs_server, "DELETE", object_path("k")).status == 204
    assert own_gcs_server.keys() == []


def test_buckets(own_gcs_server: LocalGCSServer) -> None:
    name = own_gcs_server.make_bucket()
    assert ask(own_gcs_server, "GET", f"/storage/v1/b/{name}").document["name"] == name
    assert ask(own_gcs_server, "POST", "/storage/v1/b", {"name": name}, project="p").status == 409
    assert ask(own_gcs_server, "POST", "/storage/v1/b", {"name": "No"}, project="p").status == 400
    own_gcs_server.put("k", b"x", bucket=name)
    assert ask(own_gcs_server, "DELETE", f"/storage/v1/b/{name}").status == 409
    own_gcs_server.delete("k", bucket=name)
    assert ask(own_gcs_server, "DELETE", f"/storage/v1/b/{name}").status == 204
    assert ask(own_gcs_server, "GET", f"/storage/v1/b/{name}").status == 404
    assert ask(own_gcs_server, "GET", f"{BASE}/iam/testPermissions", permissions="storage.objects.get").document[
        "permissions"
    ] == ["storage.objects.get"]
