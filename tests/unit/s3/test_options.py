"""Options: what is refused, by name and without its value; aliases, URLs, files; where secrets do not show."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from moorage import ConfigError, ReadOnly, open_url
from moorage.registry import Registry
from moorage_s3 import Credentials, S3Filesystem, S3Options, S3Provider
from moorage_s3.translating import settings_of

SECRET = "s3cr3t-v4lue-0123456789"
WHO = {"access_key_id": "AKIDEXAMPLE", "secret_access_key": SECRET}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"regoin": "x"}, "regoin: unknown option; did you mean 'region'"),
        ({"bucket": "a/b"}, "bucket:"),
        ({"bucket": "ab"}, "bucket:"),
        ({"bucket": "x\r\ny: z"}, "bucket:"),
        ({"prefix": "a/../b"}, "prefix:"),
        ({"region": "eu west"}, "region:"),
        ({"endpoint_url": "ftp://x"}, "endpoint_url:"),
        ({"endpoint_url": "http://x/?a=b"}, "endpoint_url:"),
        ({"endpoint_url": f"http://me:{SECRET}@x"}, "endpoint_url:"),
        ({"access_key_id": "k"}, "secret_access_key: is needed with access_key_id"),
        ({"secret_access_key": SECRET}, "access_key_id: is needed with secret_access_key"),
        ({**WHO, "key": "k"}, "key: access_key_id is given, too"),
        ({"session_token": SECRET}, "session_token: needs access_key_id"),
        ({**WHO, "anonymous": True}, "access_key_id and anonymous"),
        ({**WHO, "profile": "p"}, "access_key_id and profile"),
        ({"credentials": lambda: None, "profile": "p"}, "profile and credentials"),
        ({"kms_key_id": "id"}, "kms_key_id: needs sse"),
        ({"sse": "AES256", "kms_key_id": "id"}, "kms_key_id: needs sse"),
        ({"sse": "rot13"}, "sse:"),
        ({"bucket_key": True}, "bucket_key: needs sse"),
        ({"addressing": "virtual", "endpoint_url": "http://127.0.0.1:9"}, "addressing:"),
        ({"addressing": "sideways"}, "addressing:"),
        ({"conditional_write": "maybe"}, "conditional_write:"),
        ({"conditional_write": "none", "probe_at_start": True}, "probe_at_start:"),
        ({"part_size": 1 << 20}, "part_size:"),
        ({"retries": -1}, "retries:"),
        ({"read_timeout": 0}, "read_timeout:"),
        ({"storage_class": "A\r\nx-evil: 1"}, "storage_class:"),
        ({"user_agent": "a\nb"}, "user_agent:"),
        ({"expected_bucket_owner": "me"}, "expected_bucket_owner:"),
        ({"checksums": "md4"}, "checksums:"),
        ({**WHO, "session_token": ""}, "session_token:"),
        ({"key": "k", "secret": ""}, "secret:"),
        ({"anonymous": True, "requester_pays": True}, "requester_pays: "),
        ({"ca_bundle": "/no/such/file.pem"}, "ca_bundle: "),
        ({"proxy": f"http://me:{SECRET}@host:1?x"}, "proxy:"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        S3Filesystem(**{"bucket": "bucket", **options})
    assert named in str(refused.value)
    assert SECRET not in f"{refused.value!r} {refused.value} {refused.value.__cause__!r} {refused.value.__context__!r}"


def test_every_name_of_the_keys_is_taken() -> None:
    for names in (("access_key_id", "secret_access_key", "session_token"), ("key", "secret", "token")):
        options = S3Options.model_validate({"bucket": "bucket", **dict(zip(names, ("k", SECRET, "t"), strict=True))})
        assert options.access_key_id == "k"
        assert options.secret_access_key is not None
        assert options.secret_access_key.get_secret_value() == SECRET
    assert isinstance(S3Filesystem("bucket", "p", "eu-west-1", None, "k", SECRET).provider, S3Provider)


def test_a_url_makes_the_filesystem_that_its_parts_say() -> None:
    url = f"s3://corpus/some/pre%20fix?region=eu-west-1&read_only=true&key=k&secret={SECRET}"
    fs = open_url(url)
    assert isinstance(fs, S3Filesystem)
    assert isinstance(fs.provider, ReadOnly)
    assert isinstance(fs.provider.inner, S3Provider)
    assert SECRET not in f"{fs!r} {fs.provider.inner!r} {fs.provider.inner.client!r} {fs.info()!r}"


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///x",
        f"s3://k:{SECRET}@bucket",
        "s3://bucket:80/x",
        "s3://bucket/x?nope=1",
        f"s3://b?secret={SECRET}",
    ],
)
def test_a_wrong_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        open_url(url)
    assert SECRET not in str(refused.value)


def test_the_plug_in_is_found() -> None:
    assert Registry().options("s3") is S3Options


def test_nothing_that_holds_a_secret_shows_or_pickles_it() -> None:
    options = S3Options.model_validate({"bucket": "bucket", **WHO, "session_token": SECRET})
    fs = options.build()
    assert isinstance(fs.provider, S3Provider)
    credentials = Credentials("AKIDEXAMPLE", SECRET, SECRET)
    for thing in (options, fs, fs.provider, fs.provider.client, credentials):
        assert SECRET not in f"{thing!r} {thing}"
        assert "AKIDEXAMPLE" not in f"{thing!r} {thing}"
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    assert SECRET not in options.model_dump_json()
    assert copy.copy(options) == options


def test_a_proxy_with_a_password_shows_nowhere() -> None:
    options = S3Options.model_validate({"bucket": "bucket", "proxy": f"http://me:{SECRET}@host:1"})
    settings = settings_of(options)
    assert settings.limits.proxy == f"http://me:{SECRET}@host:1"
    assert SECRET not in f"{options!r} {options.model_dump()} {options.model_dump_json()} {settings!r}"


@pytest.mark.parametrize(
    "url", ["localhost:9000", f"http://me:{SECRET}@h:1", "ftp://h:1", "http://h:99999", "http://[::1"]
)
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_of_the_environment_is_checked_like_one_that_is_given(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    monkeypatch.setenv(name, url)
    with pytest.raises(ConfigError) as refused:
        S3Filesystem("bucket")
    assert f"{name}:" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_changed_environment_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("first", "second"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"of {name}")
        made.append(S3Filesystem("bucket"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    found = []
    for fs in made:
        assert isinstance(fs.provider, S3Provider)
        found.append(_key_of(fs.provider))
    assert found == ["first", "second"]


def _key_of(provider: S3Provider) -> str:
    import asyncio

    credentials = asyncio.run(provider._client._source.fresh())
    assert credentials is not None
    return credentials.access_key_id
