"""Credentials are in no text: repr, logs, errors, pickles, info."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tests.servers.gcs import LocalGCSServer
from tests.servers.gcs.state import Access

from moorage import ConfigError, MoorageError, from_config, open_url
from moorage_gcs import GCSFilesystem, GCSOptions

pytestmark = pytest.mark.anyio

SECRET = "sup3r-s3cret-t0ken"


@pytest.fixture
def server(own_gcs_server: LocalGCSServer) -> LocalGCSServer:
    own_gcs_server.state.settings.tokens = {SECRET: Access(prefix="in/")}
    return own_gcs_server


async def test_nothing_shows_them(server: LocalGCSServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fs = GCSFilesystem(server.bucket, "in", server.endpoint_url, token=SECRET)
    shown: list[object] = [fs, fs.provider, vars(fs), vars(fs.provider), vars(fs.provider.client)]  # type: ignore[attr-defined]
    async with fs:
        await fs.write_bytes("/file", b"x")
        shown += [await fs.stat("/file"), fs.info(), fs.instructions(), vars(fs.provider.client)]  # type: ignore[attr-defined]
        server.state.settings.tokens = {}
        with pytest.raises(MoorageError) as caught:
            await fs.read_bytes("/file")
    error: BaseException | None = caught.value
    while error is not None:
        shown += [error, vars(error), error.args]
        error = error.__cause__ or error.__context__
    assert SECRET not in "".join(map(repr, shown)) + "".join(map(str, shown)) + caplog.text


def test_options_show_nothing_and_are_not_pickled(server: LocalGCSServer) -> None:
    key = {"type": "service_account", "private_key": SECRET}
    for options in (GCSOptions(bucket="bucket", token=SECRET), GCSOptions(bucket="bucket", credentials=key)):  # type: ignore[arg-type]
        assert SECRET not in f"{options!r} {options} {options.model_dump()} {options.model_dump_json()}"
        for copied in (options, options.build(), options.build().provider):
            with pytest.raises(TypeError, match="not pickled"):
                pickle.dumps(copied)


def test_refused_configuration_shows_nothing(tmp_path: Any) -> None:
    config = tmp_path / "moorage.toml"
    config.write_text(f'[mounts."/m"]\nprovider = "gcs"\nbucket = "b"\ntoken = "{SECRET}"\n')
    calls: list[Callable[[], object]] = [
        lambda: GCSFilesystem("B", token=SECRET),
        lambda: GCSFilesystem("bucket", token=SECRET, anonymous=True),
        lambda: GCSFilesystem("bucket", credentials=5 * [SECRET]),  # type: ignore[arg-type]
        lambda: open_url(f"gs://bucket?token={SECRET}&retries=many"),
        lambda: from_config(config),
    ]
    for call in calls:
        with pytest.raises(ConfigError) as caught:
            call()
        assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"


async def test_the_place_of_an_upload_is_a_secret_too(server: LocalGCSServer) -> None:
    server.state.settings.tokens = None
    fs = GCSFilesystem(server.bucket, "in", server.endpoint_url, chunk_size=1 << 18, retries=0)
    async with fs:
        server.state.settings.fault = None
        places: list[str] = []

        def fault(call: Any) -> Any:
            from tests.servers.gcs import Answer

            if "upload_id" in call.query and call.method == "PUT":
                places.append(call.query["upload_id"])
                return Answer(403, {"Content-Type": "application/json"}, json.dumps({"error": call.path}).encode())
            return None

        server.state.settings.fault = fault
        with pytest.raises(MoorageError) as caught:
            await fs.write_bytes("/large", bytes(1 << 19))
    assert places
    assert places[0] not in f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert server.pending_uploads() == []
