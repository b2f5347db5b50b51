"""Opening: what is wrong with a bucket, a key or a clock is said in those words."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.integration.s3.support import filesystem, opened, provider_of
from tests.servers.faults import Answer, DropRequest, Rule, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import MoorageError, PermissionDeniedError, UnavailableError
from moorage_s3 import Credentials, sending

pytestmark = pytest.mark.anyio

MALFORMED = (
    b"<Error><Code>AuthorizationHeaderMalformed</Code><Message>secret text</Message><Region>eu-west-9</Region></Error>"
)


async def refusal(at: object, **options: object) -> MoorageError:
    with pytest.raises(MoorageError) as raised:
        await filesystem(at, retries=1, **options).init()  # type: ignore[arg-type]
    return raised.value


async def test_no_such_bucket(seaweedfs: S3Server) -> None:
    error = await refusal(seaweedfs, bucket="no-such-bucket-here")
    assert isinstance(error, UnavailableError)
    assert "no such bucket" in str(error)
    assert not error.retryable


@pytest.mark.parametrize(("key", "secret"), [("testkey", "wrong-secret"), ("nobody", "testsecret")])
async def test_wrong_keys_are_forbidden(seaweedfs: S3Server, key: str, secret: str) -> None:
    error = await refusal(seaweedfs, key=key, secret=secret)
    assert isinstance(error, PermissionDeniedError)
    assert "forbidden" in str(error)
    assert secret not in str(error)


async def test_anonymous_is_not_signed(seaweedfs: S3Server) -> None:
    assert isinstance(await refusal(seaweedfs, anonymous=True), PermissionDeniedError)


async def test_a_credential_for_one_prefix_opens_that_prefix(seaweedfs: S3Server) -> None:
    team = seaweedfs.team
    assert team is not None
    who = {"key": team.access_key_id, "secret": team.secret_access_key}
    async with opened(seaweedfs, "team", **who) as fs:
        stat = await fs.write_text("/file", "x")
        await fs.write_text("/file", "y", expected_version=stat.version or "")
        assert await fs.read_text("/file") == "y"
    assert isinstance(await refusal(seaweedfs, prefix="elsewhere", **who), PermissionDeniedError)


async def test_a_reader_reads_and_is_refused_writes(seaweedfs: S3Server) -> None:
    reader = seaweedfs.reader
    assert reader is not None
    seaweedfs.put("shared/file", b"x")
    async with opened(seaweedfs, "shared", key=reader.access_key_id, secret=reader.secret_access_key) as fs:
        assert await fs.read_bytes("/file") == b"x"
        for call in (
            lambda: fs.write_bytes("/file", b"y"),
            lambda: fs.write_bytes("/new", b"y", overwrite=False),
            lambda: fs.delete("/file"),
            lambda: fs.copy("/file", "/other"),
            lambda: fs.make_dir("/dir"),
        ):
            with pytest.raises(PermissionDeniedError):
                await call()
    assert seaweedfs.get("shared/file") == b"x"


async def test_a_bucket_elsewhere_is_followed_once(s3_proxy: Proxy) -> None:
    moved = Answer(301, {"x-amz-bucket-region": "us-east-1"}, b"")
    rule = s3_proxy.add(Rule(moved, nth=1))
    async with opened(s3_proxy, region="eu-west-9") as fs:
        await fs.write_text("/file", "x")
        assert rule.fired == 1
        assert provider_of(fs).client._do.sender.place.region == "us-east-1"  # type: ignore[attr-defined]


@pytest.mark.parametrize("answer", [Answer(301, {"x-amz-bucket-region": "eu-west-9"}, b""), Answer(400, {}, MALFORMED)])
async def test_a_wrong_region_that_cannot_be_followed_is_named(s3_proxy: Proxy, answer: Answer) -> None:
    s3_proxy.add(Rule(answer))
    error = await refusal(s3_proxy, region="us-east-1")
    assert "wrong region: the bucket is in eu-west-9" in str(error)
    assert "secret text" not in str(error)
    assert s3_proxy.count() == 2


@pytest.mark.parametrize("offset", [-3600, 3600])
async def test_a_wrong_clock_is_corrected_once(s3_proxy: Proxy, monkeypatch: pytest.MonkeyPatch, offset: int) -> None:
    real = time.time
    monkeypatch.setattr("moorage_s3.sending.time.time", lambda: real() + offset)
    date = format_datetime(datetime.now(UTC), usegmt=True)
    skewed = s3_error(403, "RequestTimeTooSkewed")
    s3_proxy.add(Rule(Answer(403, {**skewed.headers, "Date": date}, skewed.body), nth=1))
    async with opened(s3_proxy) as fs:
        await fs.write_text("/file", "x")
        assert await fs.exists("/file")
        assert abs(provider_of(fs).client._do.sender._skew + offset) < 5  # type: ignore[attr-defined]


async def test_a_clock_that_stays_wrong_is_named(s3_proxy: Proxy) -> None:
    skewed = s3_error(403, "RequestTimeTooSkewed")
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    s3_proxy.add(Rule(Answer(403, {**skewed.headers, "Date": date}, skewed.body)))
    error = await refusal(s3_proxy)
    assert isinstance(error, PermissionDeniedError)
    assert "clock skew" in str(error)


@pytest.mark.parametrize("status", [400, 403])
async def test_credentials_that_ran_out_are_fetched_again(s3_proxy: Proxy, status: int) -> None:
    given: list[Credentials] = []

    def call() -> Credentials:
        given.append(Credentials("testkey", "testsecret"))
        return given[-1]

    s3_proxy.add(Rule(s3_error(status, "ExpiredToken"), nth=1))
    async with opened(s3_proxy, credentials=call) as fs:
        await fs.write_text("/file", "x")
    assert len(given) == 2
    s3_proxy.add(Rule(s3_error(status, "ExpiredToken")))
    error = await refusal(s3_proxy, credentials=call)
    assert isinstance(error, PermissionDeniedError)
    assert "expired" in str(error)


async def test_keys_are_fetched_again_when_a_head_is_refused_without_a_word(s3_proxy: Proxy) -> None:
    given: list[Credentials] = []

    async def call() -> Credentials:
        given.append(Credentials("testkey", "testsecret"))
        return given[-1]

    async with opened(s3_proxy, credentials=call) as fs:
        await fs.write_text("/file", "x")
        s3_proxy.add(Rule(Answer(400), kind="head_object", nth=1))
        assert (await fs.stat("/file")).size == 1
    assert len(given) == 2


async def test_nobody_there_is_unavailable(s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(DropRequest()))
    error = await refusal(s3_proxy)
    assert isinstance(error, UnavailableError)
    assert error.retryable


async def test_headers_that_options_stand_for_are_sent(seaweedfs: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[sending.Request] = []
    original: Callable[..., object] = sending.Sender._once

    async def watched(self: sending.Sender, request: sending.Request, *rest: object) -> sending.Answer:
        seen.append(request)
        return await original(self, request, *rest)  # type: ignore[no-any-return, misc]

    monkeypatch.setattr(sending.Sender, "_once", watched)
    async with opened(
        seaweedfs, storage_class="STANDARD", acl="private", requester_pays=True, user_agent="mine/1"
    ) as fs:
        await fs.write_text("/file", "x")
        sender = provider_of(fs).client._do.sender  # type: ignore[attr-defined]
    put = next(request for request in seen if request.method == "PUT")
    assert (put.headers["x-amz-storage-class"], put.headers["x-amz-acl"]) == ("STANDARD", "private")
    assert sender._options.headers == {"x-amz-request-payer": "requester"}
    assert sender._options.user_agent == "mine/1"
