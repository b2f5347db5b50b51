"""Our signature is the one that botocore makes, for every key, query and header."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

import pytest
from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials as BotoCredentials  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from moorage_s3.addressing import place
from moorage_s3.credentials import Credentials
from moorage_s3.signing import UNSIGNED, Signer, encode_key, encode_query

ODD_KEYS = [
    "a//b", "/lead", "a/./b", "a/../b", "..", ".", "tr/", "k?versionId=1", "a#b", "%20", "a%2Fb", "a+b", "a b",
    "[br]*{x}", "ä/ö", "a\u0308", "日本語", "😀", "~'!()&=;:@,$", "\\", "a\nb", "x" * 1024,
]  # fmt: skip

keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
headers_drawn = st.dictionaries(
    st.sampled_from(["if-match", "if-none-match", "range", "x-amz-meta-moorage-writes", "content-type", "x-amz-acl"]),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=30).map(str.strip).filter(bool),
)


def botocore_signs(method: str, url: str, headers: dict[str, str], token: str | None, payload: str) -> str:
    request: Any = AWSRequest(method=method, url=url, headers={**headers, "X-Amz-Content-SHA256": payload})
    auth: Any = S3SigV4Auth(BotoCredentials("AKID", "secret", token), "s3", "eu-west-1")
    auth.payload = lambda _: payload
    auth.add_auth(request)
    return str(request.headers["Authorization"])


def we_sign(
    method: str, path: str, query: str, headers: dict[str, str], token: str | None, now: float
) -> dict[str, str]:
    signed = {"host": "s3.example", "x-amz-content-sha256": UNSIGNED, **headers}
    credentials = Credentials("AKID", "secret", token)
    Signer().sign(credentials, "eu-west-1", method, path, query, signed, now=now)
    return signed


def agree(key: str, query: dict[str, str], headers: dict[str, str], token: str | None) -> None:
    where = place("bucket", "https://s3.example", "eu-west-1", "path", is_own=True)
    path, encoded = where.path(key), encode_query(query)
    while True:
        now = time.time()
        theirs = botocore_signs("PUT", str(where.url(path, encoded)), headers, token, UNSIGNED)
        if int(time.time()) == int(now):
            break
    assert we_sign("PUT", path, encoded, headers, token, now)["authorization"] == theirs


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_odd_key_is_signed_like_botocore_does(key: str) -> None:
    agree(key, {}, {}, None)


@given(
    key=keys, query=st.dictionaries(keys, keys, max_size=3), headers=headers_drawn, token=st.none() | st.just("t/+=")
)
def test_anything_is_signed_like_botocore_does(
    key: str, query: dict[str, str], headers: dict[str, str], token: str | None
) -> None:
    agree(key, query, headers, token)


@pytest.mark.parametrize("key", ODD_KEYS)
def test_no_odd_key_is_normalised_on_its_way_into_the_url(key: str) -> None:
    where = place("bucket", "https://s3.example", "eu-west-1", "path", is_own=True)
    url = where.url(where.path(key), "")
    assert isinstance(url, URL)
    assert unquote(url.raw_path_qs) == f"/bucket/{key}"
    assert encode_key(key) in str(url)


def test_a_key_of_another_day_or_secret_is_not_reused() -> None:
    signer = Signer()
    made = set()
    for secret, now in (("one", 0.0), ("two", 0.0), ("one", 86_400.0), ("one", 0.0)):
        headers = {"host": "h", "x-amz-content-sha256": UNSIGNED}
        signer.sign(Credentials("k", secret), "r", "GET", "/", "", headers, now=now)
        made.add(headers["authorization"])
    assert len(made) == 3
