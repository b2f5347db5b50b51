"""The options of GCS: what is accepted, and what is refused by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage import ConfigError, Registry, from_config, open_url
from moorage.config import ProviderOptions
from moorage_gcs import GCSFilesystem, GCSOptions
from moorage_gcs.translating import settings_of


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"buckt": "x"}, "buckt: unknown option; did you mean 'bucket'"),
        ({"bucket": "Upper"}, "bucket: no name of a bucket"),
        ({"bucket": "a..b"}, "bucket: no name of a bucket"),
        ({"prefix": "a/../b"}, "prefix: written like a path"),
        ({"endpoint_url": "ftp://host"}, "endpoint_url: an http"),
        ({"endpoint_url": "http://user@host"}, "endpoint_url: takes no query"),
        ({"endpoint_url": "http://[::1"}, "endpoint_url: an http"),
        ({"endpoint_url": "http://example.com", "token": "t"}, "endpoint_url: token would be sent in clear"),
        ({"credentials": 5}, "credentials: a key, its path"),
        ({"credentials": "key.json", "credentials_file": "other.json"}, "credentials and credentials_file"),
        ({"token": "t", "anonymous": True}, "token and anonymous: only one"),
        ({"requester_pays": True}, "requester_pays: needs project"),
        ({"chunk_size": 300_000}, "chunk_size"),
        ({"retries": -1}, "retries"),
        ({"read_timeout": 0}, "read_timeout"),
        ({"concurrency": 0}, "concurrency"),
        ({"kms_key": "a b"}, "kms_key"),
        ({"user_agent": "a\r\nb"}, "user_agent"),
        ({"conditional_write": "maybe"}, "conditional_write"),
        ({"conditional_write": "atomic", "probe_at_start": True}, "probe_at_start"),
    ],
)
def test_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        GCSFilesystem(**{"bucket": "bucket", **options})
    assert named in str(caught.value)


def kind(**options: Any) -> str:
    return settings_of(GCSOptions(bucket="bucket", **options)).credentials.kind


def test_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    assert kind() == "default"
    assert kind(endpoint_url="http://127.0.0.1:1") == "anonymous"
    assert kind(endpoint_url="https://example.com") == "default"
    assert kind(credentials="anonymous") == kind(anonymous=True) == "anonymous"
    assert kind(credentials="key.json") == kind(credentials_file="key.json") == "key_file"
    assert kind(credentials={"type": "service_account"}) == "key"
    assert kind(credentials=lambda: "token") == "call"
    assert (kind(token="t"), kind(token_file="t")) == ("token", "token_file")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "localhost:9000")
    settings = settings_of(GCSOptions(bucket="bucket"))
    assert (settings.endpoint, settings.is_google) == ("http://localhost:9000", False)


def test_where_google_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    assert settings_of(GCSOptions(bucket="bucket")).endpoint == "https://storage.googleapis.com"
    monkeypatch.setenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "example.net")
    settings = settings_of(GCSOptions(bucket="bucket"))
    assert (settings.endpoint, settings.is_google) == ("https://storage.example.net", True)


def test_who_pays() -> None:
    def payer(**options: Any) -> dict[str, str]:
        return dict(settings_of(GCSOptions(bucket="bucket", **options)).sending.query)

    assert payer(project="mine") == {}
    assert payer(project="mine", requester_pays=True) == {"userProject": "mine"}
    assert payer(project="mine", user_project="theirs") == {"userProject": "theirs"}


def test_urls_and_files(tmp_path: Path) -> None:
    for scheme in ("gs", "gcs"):
        fs = open_url(f"{scheme}://bucket/a%20b/c?read_only=true&anonymous=true&chunk_size=524288")
        assert (fs.info().provider, fs.info().read_only) == ("gcs", True)
    with pytest.raises(ConfigError, match="takes a bucket"):
        open_url("gs:///prefix")
    config = tmp_path / "moorage.toml"
    config.write_text('[mounts."/m"]\nprovider = "gcs"\nbucket = "bucket"\ncredentials = "key.json"\n')
    from_config(config)


def test_a_relative_key_file_is_relative_to_the_configuration() -> None:
    options = GCSOptions.model_validate(
        {"bucket": "bucket", "credentials": "key.json"}, context={"directory": Path("/etc")}
    )
    assert options.credentials_file == Path("/etc/key.json")


def test_the_plug_in_names_its_options() -> None:
    for scheme in ("gs", "gcs"):
        assert Registry().options(scheme) is GCSOptions
    assert issubclass(GCSOptions, ProviderOptions)


def test_two_filesystems_share_no_client() -> None:
    one, two = (GCSFilesystem("bucket", endpoint_url="http://127.0.0.1:1") for _ in range(2))
    assert one.provider.client is not two.provider.client  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["credentials", "credentials_file", "token_file"])
def test_the_content_of_a_key_is_not_taken_for_a_path(name: str) -> None:
    """A path is shown by ``repr``."""
    key = '{"type": "service_account", "private_key": "secret"}'
    with pytest.raises(ConfigError, match=f"{name}: a path is wanted") as caught:
        GCSFilesystem("bucket", **{name: key})  # type: ignore[arg-type]  # as configuration files may
    with pytest.raises(ValueError, match="a path is wanted") as refused:
        GCSOptions.model_validate({"bucket": "bucket", name: key})
    assert "secret" not in f"{caught.value!r}{refused.value!r}{refused.value}"


def test_an_emulator_of_the_environment_gets_no_secret_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://emulator.example:9000")
    with pytest.raises(ConfigError, match="STORAGE_EMULATOR_HOST"):
        GCSFilesystem("bucket", token="secret")
    assert settings_of(GCSOptions(bucket="bucket")).credentials.kind == "anonymous"
