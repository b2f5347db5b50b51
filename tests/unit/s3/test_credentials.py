"""Credentials: where they come from, when they are fetched again, and what is said where there are none."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moorage import ConfigError, OperationTimeoutError, PermissionDeniedError, UnavailableError
from moorage_s3 import Credentials, S3Filesystem, sdk
from moorage_s3.credentials import CredentialSource, called, fixed

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No credentials of this machine's, and no question to any network."""
    for name in list(sdk.environment()):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return tmp_path


async def test_a_plain_and_an_async_function_give_credentials_once() -> None:
    calls = []

    def plain() -> Credentials:
        calls.append("plain")
        return Credentials("k", "s")

    async def later() -> dict[str, object]:
        calls.append("async")
        return {"access_key_id": "k", "secret_access_key": "s", "session_token": "t"}

    for call in (plain, later):
        source = CredentialSource(called(call))
        assert source.current() is None
        found = await asyncio.gather(*[source.fresh() for _ in range(5)])
        assert {each.access_key_id for each in found if each} == {"k"}
        assert source.current() is found[0]
    assert calls == ["plain", "async"]


@pytest.mark.parametrize("given", [None, {}, {"access_key_id": 1, "secret_access_key": "s"}, "k:s"])
async def test_a_function_that_returns_none_is_told_so(given: Any) -> None:
    with pytest.raises(PermissionDeniedError, match="no credentials"):
        await CredentialSource(called(lambda: given)).fresh()


@pytest.mark.parametrize(
    ("key", "secret", "token"),
    [
        ("k\r\nx: y", "s", None),
        ("", "s", None),
        ("k", "", None),
        ("k", "s3cr\ud800et", None),
        ("k", "s", "t0ken\n"),
        ("k", "s", ""),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_not_shown(key: str, secret: str, token: str | None) -> None:
    for source in (
        CredentialSource(fixed(Credentials(key, secret, token))),
        CredentialSource(called(lambda: Credentials(key, secret, token))),
    ):
        with pytest.raises(PermissionDeniedError, match="no credentials") as refused:
            await source.fresh()
        shown = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__context__!r}"
        assert "s3cr" not in shown
        assert "t0ken" not in shown
        assert source.current() is None


async def test_a_function_that_fails_is_named_by_its_error_alone() -> None:
    def fails() -> Credentials:
        raise RuntimeError("secret=hunter2")

    with pytest.raises(UnavailableError, match="RuntimeError") as raised:
        await CredentialSource(called(fails)).fresh()
    assert "hunter2" not in f"{raised.value} {raised.value.__cause__} {raised.value.__context__}"


@pytest.mark.parametrize("is_plain", [True, False])
async def test_a_function_that_never_returns_is_given_up(is_plain: bool) -> None:
    released = threading.Event()

    def plain() -> Credentials:
        released.wait(60)
        return Credentials("k", "s")

    async def later() -> Credentials:
        await asyncio.Event().wait()
        return Credentials("k", "s")

    source = CredentialSource(called(plain if is_plain else later), patience=0.05)
    with pytest.raises(OperationTimeoutError):
        await source.fresh()
    assert source.current() is None
    released.set()


async def test_what_runs_out_is_fetched_again_in_time() -> None:
    made: list[Credentials] = []

    async def call() -> Credentials:
        left = 10_000.0 if made else 200.0
        made.append(Credentials(str(len(made)), "s", None, datetime.now(UTC) + timedelta(seconds=left)))
        return made[-1]

    source = CredentialSource(called(call))
    first = await source.fresh()
    assert source.current() is first  # for a moment, so that credentials that are always about to run out work
    source._until = time.time() - 1
    assert source.current() is None
    assert await source.fresh() is made[1]
    assert await source.fresh(instead_of=made[1]) is made[2]


async def test_the_chain_reads_profiles(nowhere: Path) -> None:
    (nowhere / "credentials").write_text("[work]\naws_access_key_id = kw\naws_secret_access_key = sw\n")
    (nowhere / "config").write_text("[profile work]\nregion = eu-central-1\n")
    found = await sdk.chain(sdk.environment(), "work")()
    assert (found.access_key_id, found.secret_access_key) == ("kw", "sw")
    assert sdk.configured_region(sdk.environment(), "work") == "eu-central-1"


async def test_a_bad_profile_then_a_good_one(nowhere: Path) -> None:
    with pytest.raises(ConfigError, match="no such profile"):
        await S3Filesystem("bucket", profile="work", retries=0).init()
    (nowhere / "credentials").write_text("[work]\naws_access_key_id = kw\naws_secret_access_key = sw\n")
    assert (await sdk.chain(sdk.environment(), "work")()).access_key_id == "kw"


async def test_nothing_anywhere_is_no_credentials() -> None:
    with pytest.raises(PermissionDeniedError, match="no credentials"):
        await S3Filesystem("bucket", endpoint_url="http://127.0.0.1:1", retries=0).init()


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("eu-west-1", "https://s3.eu-west-1.amazonaws.com"),
        ("us-east-1", "https://s3.us-east-1.amazonaws.com"),
        ("cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn"),
    ],
)
async def test_the_sdk_knows_the_endpoints(region: str, endpoint: str) -> None:
    assert sdk.endpoint_of_region(region) == endpoint
