"""Opening: what is wrong is said in words, within what a narrow credential may ask, and at once."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from google.auth.credentials import AnonymousCredentials
from google.oauth2.credentials import Credentials as UserCredentials
from tests.integration.gcs.support import CHUNK
from tests.servers.faults import Answer, Rule, StripConditions, gcs_error
from tests.servers.gcs import Answer as Answered
from tests.servers.gcs import Call, LocalGCSServer
from tests.servers.gcs.calls import json_answer
from tests.servers.gcs.state import Access
from tests.servers.proxy import Proxy

from moorage import (
    OperationTimeoutError,
    PermissionDeniedError,
    TransferError,
    UnavailableError,
    UnsupportedError,
    open_url,
)
from moorage_gcs import GCSFilesystem

pytestmark = pytest.mark.anyio

FORBIDDEN = Answered(
    403,
    {"Content-Type": "application/json"},
    b'{"error": {"code": 403, "errors": [{"reason": "forbidden"}], "message": "no"}}',
)


async def refusal(server: LocalGCSServer | Proxy, bucket: str, **options: Any) -> str:
    with pytest.raises((PermissionDeniedError, UnavailableError)) as caught:
        await GCSFilesystem(bucket, endpoint_url=server.endpoint_url, **options).provider.start()
    return str(caught.value)


async def test_no_such_bucket(gcs_server: LocalGCSServer) -> None:
    assert "no such bucket" in await refusal(gcs_server, "there-is-none")


async def test_nobody_there() -> None:
    fs = GCSFilesystem("bucket", endpoint_url="http://127.0.0.1:9", retries=0)
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await fs.provider.start()


async def test_who_may_what(own_gcs_server: LocalGCSServer) -> None:
    server = own_gcs_server
    server.state.settings.tokens = {"all": Access(), "team": Access(prefix="team/"), "reader": Access(read_only=True)}
    assert "no credentials" in await refusal(server, server.bucket)
    assert "credentials were refused" in await refusal(server, server.bucket, token="wrong")
    assert "forbidden" in await refusal(server, server.bucket, prefix="other", token="team")
    async with GCSFilesystem(server.bucket, "team", server.endpoint_url, token="team") as fs:
        await fs.write_bytes("/file", b"x")
        await fs.append_bytes("/file", b"y")
        assert await fs.read_bytes("/file") == b"xy"
    async with GCSFilesystem(server.bucket, "team", server.endpoint_url, token="reader") as fs:
        assert await fs.read_bytes("/file") == b"xy"
        with pytest.raises(PermissionDeniedError, match="forbidden"):
            await fs.write_bytes("/file", b"z")


async def test_a_credential_that_may_not_list_opens(own_gcs_server: LocalGCSServer) -> None:
    def no_listing(call: Call) -> Answered | None:
        if call.path.endswith("/testPermissions"):
            return json_answer({"permissions": ["storage.objects.get"]})
        return FORBIDDEN if call.method == "GET" and call.path.endswith("/o") else None

    own_gcs_server.put("file.txt", b"x")
    own_gcs_server.state.settings.fault = no_listing
    async with GCSFilesystem(own_gcs_server.bucket, endpoint_url=own_gcs_server.endpoint_url) as fs:
        assert await fs.read_bytes("/file.txt") == b"x"
        with pytest.raises(PermissionDeniedError):
            await fs.list_dir("/")


async def test_the_clock(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    elsewhen = (datetime.now(UTC) - timedelta(hours=3)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    said = gcs_error(401, "authError")
    gcs_proxy.add(Rule(Answer(401, {**said.headers, "Date": elsewhen}, said.body)))
    assert "clock skew" in await refusal(gcs_proxy, gcs_server.bucket, token="some")


async def test_requester_pays(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    async with GCSFilesystem(gcs_server.bucket, "x", gcs_proxy.endpoint_url, user_project="payer") as fs:
        await fs.write_bytes("/file", bytes(10))
        await fs.delete("/file")
    assert all("userProject=payer" in seen.target for seen in gcs_proxy.requests)
    message = b'{"error": {"message": "Bucket is a requester pays bucket but no user project provided."}}'
    gcs_proxy.add(Rule(Answer(400, {"Content-Type": "application/json"}, message)))
    assert "user_project" in await refusal(gcs_proxy, gcs_server.bucket)


async def test_no_minute_is_lost_on_a_server_that_is_not_googles(gcs_server: LocalGCSServer) -> None:
    begun = time.monotonic()
    async with GCSFilesystem(gcs_server.bucket, "quick", gcs_server.endpoint_url) as fs:
        await fs.write_bytes("/file", b"x")
        assert await fs.list_dir("/")
    assert time.monotonic() - begun < 10


def key_file(server: LocalGCSServer, kind: str) -> Mapping[str, str]:
    uri = f"{server.endpoint_url}/token"
    if kind == "authorized_user":
        return {"type": kind, "client_id": "id", "client_secret": "sec", "refresh_token": "ref", "token_uri": uri}
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {"type": kind, "client_email": "me@example.com", "private_key": key.decode(), "token_uri": uri}


async def test_every_way_to_say_who_asks(own_gcs_server: LocalGCSServer, tmp_path: Path) -> None:
    server = own_gcs_server
    server.state.settings.tokens = {"token": Access()}
    key = key_file(server, "service_account")
    (tmp_path / "key.json").write_text(json.dumps(key))
    (tmp_path / "token").write_text("token\n")

    async def call() -> tuple[str, float]:
        return "token", time.time() + 1000

    ways: list[dict[str, Any]] = [
        {"token": "token"},
        {"token_file": tmp_path / "token"},
        {"credentials": key},
        {"credentials": str(tmp_path / "key.json")},
        {"credentials_file": tmp_path / "key.json"},
        {"credentials": UserCredentials("token")},  # type: ignore[no-untyped-call]
        {"credentials": call},
        {"credentials": lambda: "token"},
    ]
    for way in ways:
        async with GCSFilesystem(server.bucket, "w", server.endpoint_url, **way) as fs:
            await fs.write_bytes("/file", b"x")
    nobodies: list[object] = ["anonymous", AnonymousCredentials()]  # type: ignore[no-untyped-call]
    for nobody in nobodies:
        assert "no credentials" in await refusal(server, server.bucket, credentials=nobody)
    assert "no credentials" in await refusal(server, server.bucket, token_file=tmp_path / "none")
    assert "no credentials" in await refusal(server, server.bucket, credentials={"type": "strange"})


async def test_a_token_that_is_refused_is_renewed(own_gcs_server: LocalGCSServer) -> None:
    server = own_gcs_server
    server.state.settings.tokens = {}
    key = key_file(server, "service_account")
    async with GCSFilesystem(server.bucket, "", server.endpoint_url, dict(key)) as fs:
        await fs.write_bytes("/file", b"x")
        server.state.settings.tokens.clear()
        assert await fs.read_bytes("/file") == b"x"
        assert list(server.state.settings.tokens) == ["issued-2"]


async def test_the_environment_names_an_emulator(gcs_server: LocalGCSServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{gcs_server.port}")
    first = open_url(f"gs://{gcs_server.bucket}/by-url")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    second = open_url(f"gcs://{gcs_server.bucket}/by-url?retries=0")
    async with first:
        await first.write_bytes("/file", b"x")
    with pytest.raises(UnavailableError):
        await second.provider.start()


async def test_a_server_that_ignores_generations_is_found_out(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    bucket = gcs_server.make_bucket()
    gcs_proxy.add(Rule(StripConditions()))
    async with GCSFilesystem(bucket, "", gcs_proxy.endpoint_url) as fs:
        stat = await fs.write_bytes("/file", b"x")
        with pytest.raises(UnsupportedError, match="stale"):
            await fs.write_bytes("/file", b"y", expected_version=stat.version or "")
        assert (await fs.capabilities("/")).conditional_write == "none"
    assert gcs_server.keys(bucket=bucket) == ["file"]
    async with GCSFilesystem(bucket, "", gcs_proxy.endpoint_url, conditional_write="guarded") as fs:
        await fs.write_bytes("/file", b"y", expected_version=stat.version or "")
        assert (await fs.capabilities("/")).conditional_write == "guarded"


async def test_an_honest_server_is_asked_once_and_nothing_stays(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    bucket = gcs_server.make_bucket()
    async with GCSFilesystem(bucket, "", gcs_proxy.endpoint_url, probe_at_start=True) as fs:
        assert gcs_proxy.count() <= 6
        assert await fs.list_dir("/") == []
    gcs_proxy.reset()
    async with GCSFilesystem(bucket, "", gcs_proxy.endpoint_url, probe_at_start=True):
        assert gcs_proxy.count() == 1
    assert gcs_server.keys(bucket=bucket) == []


async def test_a_store_without_moves_and_batches(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> None:
    bucket = gcs_server.make_bucket()
    gcs_proxy.add(Rule(gcs_error(400, "invalid"), kind=("move", "batch")))
    async with GCSFilesystem(bucket, "", gcs_proxy.endpoint_url, chunk_size=CHUNK, name_checks=False) as fs:
        for index in range(5):
            await fs.write_bytes(f"/d/{index}", b"%d" % index)
        for index in range(3):
            await fs.move(f"/d/{index}", f"/moved/{index}")
            assert await fs.read_bytes(f"/moved/{index}") == b"%d" % index
        assert gcs_proxy.count("move") == 1
        await fs.remove_dir("/d", recursive=True)
        await fs.remove_dir("/moved", recursive=True)
        assert gcs_proxy.count("batch") == 1
    assert gcs_server.keys(bucket=bucket) == []


async def test_every_key_that_cannot_be_deleted_is_named(own_gcs_server: LocalGCSServer) -> None:
    def fault(call: Call) -> Answered | None:
        if call.method != "DELETE":
            return None
        if "forbidden" in call.path:
            return FORBIDDEN
        is_first = "slow" in call.path and call.path not in seen
        seen.add(call.path)
        return Answered(503) if is_first else None

    seen: set[str] = set()
    for name in ("a", "forbidden-1", "b+ %2F", "slow", "forbidden-2"):
        own_gcs_server.put(f"d/{name}", b"x")
    own_gcs_server.state.settings.fault = fault
    async with GCSFilesystem(own_gcs_server.bucket, "", own_gcs_server.endpoint_url) as fs:
        with pytest.raises(TransferError) as caught:
            await fs.remove_dir("/d", recursive=True)
    failed = dict(caught.value.failed)
    assert set(failed) == {"/d/forbidden-1", "/d/forbidden-2"}
    assert all(isinstance(error, PermissionDeniedError) for error in failed.values())
    assert own_gcs_server.keys() == ["d/forbidden-1", "d/forbidden-2"]


async def test_a_large_copy_takes_several_requests(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.state.settings.rewritten_per_call = 1 << 20
    data = bytes(range(256)) * 4 * 1024 * 5
    own_gcs_server.put("large", data)
    async with GCSFilesystem(own_gcs_server.bucket, "", own_gcs_server.endpoint_url) as fs:
        await fs.copy("/large", "/copy", overwrite=False)
    assert own_gcs_server.get("copy") == data


@pytest.mark.parametrize("given", [(), ("a",), ("a", "b"), ("a", "b", "c"), ("a", float("nan")), ("a", 10**400), b"a"])
async def test_what_is_no_token_is_said(gcs_server: LocalGCSServer, given: Any) -> None:
    assert "no credentials: what was given" in await refusal(gcs_server, gcs_server.bucket, credentials=lambda: given)


@pytest.fixture
def silence() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def test_nobody_waits_for_a_token_for_ever(
    gcs_server: LocalGCSServer, silence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def never() -> str:
        await anyio.sleep_forever()
        return ""

    user = UserCredentials(  # type: ignore[no-untyped-call]
        None, refresh_token="r", token_uri=f"http://{silence}/token", client_id="id", client_secret="sec"
    )
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP"):
        monkeypatch.setenv(name, silence)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    ways: list[dict[str, Any]] = [
        {"credentials": never, "endpoint_url": gcs_server.endpoint_url},
        {"credentials": user, "endpoint_url": gcs_server.endpoint_url},
        {},  # Google's chain, which asks the machine where it runs
    ]
    for way in ways:
        fs = GCSFilesystem("bucket1", connect_timeout=0.2, read_timeout=0.2, retries=0, **way)
        with anyio.fail_after(5), pytest.raises(OperationTimeoutError, match="token"):
            await fs.provider.start()
