"""The S3 servers and the proxy before them: they do what tests of ours rely on."""

from __future__ import annotations

import http.client
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.servers.faults import DropResponse, Rule, StripConditions, StripRange, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server
from tests.servers.signing import Identity


@pytest.fixture
def bucket(seaweedfs: S3Server) -> str:
    return seaweedfs.make_bucket()


@pytest.fixture
def client(seaweedfs: S3Server, s3_proxy: Proxy, bucket: str) -> S3Server:
    """seaweedfs, seen through the proxy, in a bucket of its own."""
    return replace(seaweedfs, port=s3_proxy.port, bucket=bucket)


def put(server: S3Server, body: bytes, **headers: str) -> int:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request("PUT", f"/{server.bucket}/k", headers=names, body=body).status


def test_conditions_are_enforced_atomically(client: S3Server) -> None:
    # No writer below sends this body again: its ETag would come back, and let a second one in.
    assert [put(client, b"first", if_none_match="*"), put(client, b"other", if_none_match="*")] == [200, 412]
    head = client.head("k")
    assert head is not None
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda number: put(client, b"%d" % number, if_match=head["etag"]), range(16)))
    assert sorted(statuses) == [200] + [412] * 15
    assert client.get("k") == b"%d" % statuses.index(200)


def test_signatures_are_checked_and_pass_the_proxy(client: S3Server, seaweedfs: S3Server) -> None:
    for server in (client, seaweedfs):
        assert put(server, b"x", content_type="text/x", x_amz_meta_a="b  c") == 200
        wrong = server.request("GET", f"/{server.bucket}/k", identity=Identity("testkey", "wrong"))
        assert (wrong.status, b"SignatureDoesNotMatch" in wrong.body) == (403, True)


def test_identities_are_limited(seaweedfs: S3Server) -> None:
    seaweedfs.put("team/k", b"1")
    seaweedfs.put("k", b"1")

    def status(identity: Identity | None, method: str, key: str) -> int:
        assert identity is not None
        return seaweedfs.request(method, f"/bucket1/{key}", identity=identity).status

    reader, team = seaweedfs.reader, seaweedfs.team
    assert [status(reader, method, "k") for method in ("GET", "PUT", "DELETE")] == [200, 403, 403]
    assert [status(team, method, "team/k") for method in ("GET", "PUT")] == [200, 200]
    assert [status(team, method, "k") for method in ("GET", "PUT", "DELETE")] == [403, 403, 403]
    assert [status(team, "GET", f"?list-type=2&prefix={prefix}") for prefix in ("team%2F", "")] == [200, 403]


def test_requests_are_named(client: S3Server, s3_proxy: Proxy) -> None:
    key = f"/{client.bucket}/k"
    client.put("k", b"x")
    client.request("PUT", f"/{client.bucket}/c", headers={"x-amz-copy-source": key})
    client.get("k")
    client.head("k")
    client.keys()
    started = client.request("POST", f"{key}?uploads=").body.decode()
    upload_id = started.partition("<UploadId>")[2].partition("<")[0]
    assert client.pending_uploads() == ["k"]
    client.request("PUT", f"{key}?partNumber=1&uploadId={upload_id}", body=b"x")
    client.request("GET", f"{key}?uploadId={upload_id}")
    client.request("DELETE", f"{key}?uploadId={upload_id}")
    client.request("POST", f"{key}?uploadId={upload_id}", body=b"<CompleteMultipartUpload/>")
    client.delete("k")
    client.request("POST", f"/{client.bucket}?delete=", body=b"<Delete/>")
    client.request("HEAD", f"/{client.bucket}")
    client.request("GET", "/")
    assert s3_proxy.kinds() == [
        "put_object", "copy_object", "get_object", "head_object", "list_objects", "create_multipart_upload",
        "list_multipart_uploads", "upload_part", "list_parts", "abort_multipart_upload", "complete_multipart_upload",
        "delete_object", "delete_objects", "head_bucket", "list_buckets",
    ]  # fmt: skip


def test_a_server_that_ignores_conditions(client: S3Server, s3_proxy: Proxy) -> None:
    client.put("k", b"0123456789")
    s3_proxy.add(Rule(StripConditions(), method="PUT"))
    s3_proxy.add(Rule(StripRange(), method="GET"))
    assert put(client, b"9876543210", if_none_match="*") == 200
    assert put(client, b"9876543210", if_match='"0"') == 200
    whole = client.request("GET", f"/{client.bucket}/k", headers={"range": "bytes=2-4"})
    assert (whole.status, whole.body) == (200, b"9876543210")


def test_a_lost_answer_and_an_error(client: S3Server, seaweedfs: S3Server, s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(DropResponse(), kind="put_object", nth=1))
    s3_proxy.add(Rule(s3_error(503, "SlowDown", retry_after=1), kind="put_object"))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        client.put("k", b"1")
    assert seaweedfs.get("k", bucket=client.bucket) == b"1"
    refused = client.request("PUT", f"/{client.bucket}/k", body=b"2" * 200_000)
    assert (refused.status, refused.headers["retry-after"], b"SlowDown" in refused.body) == (503, "1", True)


@pytest.mark.parametrize("key", ["a//b", "/lead", "t/", "./x", "../x", "%20", "a+b?c#d", "ü", "u\u0308", "[x]", "\\"])
def test_moto_takes_odd_keys(moto: S3Server, moto_proxy: Proxy, key: str) -> None:
    client = replace(moto, port=moto_proxy.port, bucket=moto.make_bucket())
    client.put(key, b"x")
    assert client.keys() == [key]
    assert moto.get(key, bucket=client.bucket) == b"x"
