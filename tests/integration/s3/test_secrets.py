"""No secret in logs at DEBUG, errors, pickled errors, or anything that is shown."""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path

import pytest
from tests.integration.s3.support import filesystem, opened, provider_of
from tests.servers.faults import DropRequest, Rule, s3_error
from tests.servers.proxy import Proxy

from moorage import MoorageError
from moorage_s3 import sdk

pytestmark = pytest.mark.anyio

TOKEN = "FwoGZXIvYXdzEXAMPLETOKEN"
SECRET = "testsecret"


def shown(error: BaseException) -> str:
    """Everything that a careless program prints of an error, causes included."""
    texts = [f"{error!r} {error}", "".join(traceback.format_exception(error))]
    cause = error.__cause__ or error.__context__
    return " ".join([*texts, shown(cause)] if cause is not None else texts)


async def test_nothing_is_written_to_any_log(s3_proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    s3_proxy.add(Rule(DropRequest(), nth=(4, 9)))
    async with opened(s3_proxy, key="testkey", secret=SECRET) as fs:
        stat = await fs.write_text("/file", "x")
        await fs.write_text("/file", "y", expected_version=stat.version or "")
        await fs.copy("/file", "/other")
        await fs.list_dir("/")
        for thing in (fs, fs.info(), provider_of(fs), provider_of(fs).client, fs.instructions()):
            assert SECRET not in f"{thing!r} {thing}"
    assert SECRET not in caplog.text
    assert "testkey" not in caplog.text


@pytest.mark.parametrize("fault", [s3_error(403, "SignatureDoesNotMatch"), s3_error(400, "Odd"), DropRequest()])
async def test_no_error_shows_a_secret(s3_proxy: Proxy, fault: object) -> None:
    async with opened(s3_proxy, key="testkey", secret=SECRET, session_token=None, retries=0) as fs:
        s3_proxy.add(Rule(fault))  # type: ignore[arg-type]
        for call in (lambda: fs.read_bytes("/a"), lambda: fs.write_bytes("/a", b""), lambda: fs.list_dir("/")):
            with pytest.raises(MoorageError) as raised:
                await call()
            text = shown(raised.value) + repr(pickle.loads(pickle.dumps(raised.value)))
            assert SECRET not in text
            assert "Signature=" not in text
            assert s3_proxy.endpoint_url not in str(raised.value)


async def test_a_token_is_sent_and_not_shown(s3_proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fs = filesystem(s3_proxy, key="testkey", secret=SECRET, session_token=TOKEN, retries=0)
    with pytest.raises(MoorageError) as raised:
        await fs.init()
    assert TOKEN not in shown(raised.value) + caplog.text


async def test_the_sdk_is_quiet_while_it_fetches_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in sdk.environment():
        monkeypatch.delenv(name)
    process = tmp_path / "give-keys"
    process.write_text(f'#!/bin/sh\necho \'{{"Version": 1, "AccessKeyId": "AKIDP", "SecretAccessKey": "{TOKEN}"}}\'\n')
    process.chmod(0o700)
    config = tmp_path / "config"
    config.write_text(f"[profile work]\ncredential_process = {process}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    found = await sdk.chain(sdk.environment(), "work")()
    assert found.secret_access_key == TOKEN
    assert TOKEN not in caplog.text
    logging.getLogger("botocore.parsers").debug("what others say is still heard")
    assert "still heard" in caplog.text
