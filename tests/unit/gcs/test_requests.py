"""How requests name things and what answers mean, without a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from moorage import (
    ConflictError,
    InvalidPathError,
    LimitExceededError,
    MoorageError,
    PathNotFoundError,
    PermissionDeniedError,
    StorageError,
    UnavailableError,
    UnsupportedError,
)
from moorage.objects import ABSENT, Matches, ObjectInfo, PreconditionFailed
from moorage_gcs import sdk
from moorage_gcs.clocks import moment
from moorage_gcs.failures import refusal
from moorage_gcs.objects import Bucket, KnownTimes, condition_query, downloaded_info, info_of
from moorage_gcs.uploading import _multipart


def said(status: int, reason: str, message: str = "") -> bytes:
    return json.dumps({"error": {"code": status, "message": message, "errors": [{"reason": reason}]}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "expected", "text"),
    [
        (404, said(404, "notFound", "No such object: b/x"), PathNotFoundError, "no such object"),
        (404, said(404, "notFound", "The specified bucket does not exist."), UnavailableError, "no such bucket"),
        (404, b"Not Found", PathNotFoundError, "no such object"),
        (403, said(403, "forbidden"), PermissionDeniedError, "forbidden (forbidden)"),
        (403, said(403, "rateLimitExceeded"), UnavailableError, "slow down"),
        (401, said(401, "authError"), PermissionDeniedError, "credentials were refused"),
        (400, said(400, "required", "Bucket is a requester pays bucket but"), PermissionDeniedError, "user_project"),
        (400, said(400, "invalid", "Invalid object name"), InvalidPathError, "refuses this name"),
        (400, b"<html>", StorageError, "does not understand"),
        (409, b"", ConflictError, "try again"),
        (413, b"", LimitExceededError, "larger"),
        (429, said(429, "rateLimitExceeded"), UnavailableError, "slow down"),
        (501, b"", UnsupportedError, "implement"),
        (502, b"\xff\xfe", UnavailableError, "502"),
        (418, b"[]", StorageError, "418"),
        (400, b'{"error": "text"}', StorageError, "does not understand"),
        (400, said(400, "http://evil secret"), StorageError, "does not understand the request"),
        (403, said(403, "secret1"), PermissionDeniedError, "forbidden"),
        (403, said(403, "secret" * 20), PermissionDeniedError, "forbidden"),
    ],
)
def test_every_refusal_is_one_of_ours(status: int, body: bytes, expected: type[MoorageError], text: str) -> None:
    error = refusal(status, body).error()
    assert type(error) is expected
    assert text in str(error)
    assert "secret" not in str(error)


def test_conditions() -> None:
    assert condition_query("k", None) == {}
    assert condition_query("k", ABSENT) == {"ifGenerationMatch": "0"}
    assert condition_query("k", Matches("17")) == {"ifGenerationMatch": "17"}
    for version in ("0", "00", "01", "-1", "1 ", "\u0661", "x", "", "9" * 19, "9" * 40, "1e3", "+1"):
        with pytest.raises(PreconditionFailed):
            condition_query("k", Matches(version))


def test_keys_are_one_segment_of_a_path() -> None:
    bucket = Bucket("bucket")
    assert bucket.object("a/../b?c#d%2F") == "/storage/v1/b/bucket/o/a%2F..%2Fb%3Fc%23d%252F"
    assert bucket.object("..") == "/storage/v1/b/bucket/o/%2E%2E"
    assert bucket.pair("rewriteTo", "a b", "c/d").endswith("/o/a%20b/rewriteTo/b/bucket/o/c%2Fd")


def test_a_boundary_is_nowhere_in_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["first", "second"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(drawn))
    kind, parts = _multipart({"name": "x"}, b"--first--")
    assert kind.endswith("boundary=second")
    whole = b"".join(parts)
    assert whole.count(b"--second") == 3
    assert b"\n" not in whole.replace(b"\r\n", b"")


def test_times_are_floored_to_milliseconds_and_are_utc() -> None:
    assert moment("2026-11-30T18:16:34.123999Z") == datetime(2026, 11, 30, 18, 16, 34, 123000, tzinfo=UTC)
    assert moment("2026-11-30T20:16:34+02:00") == datetime(2026, 11, 30, 18, 16, 34, tzinfo=UTC)
    assert moment("nonsense") is None


def test_an_object_is_known_by_its_content_not_by_its_metadata() -> None:
    resource = {"name": "k", "size": "3", "generation": "7", "timeCreated": "2026-01-01T00:00:00Z", "updated": "later"}
    info = info_of({**resource, "md5Hash": "AAEC", "crc32c": "AAAA"})
    assert (info.version, info.size, info.checksum) == ("7", 3, "md5:000102")
    assert info.modified_at == datetime(2026, 1, 1, tzinfo=UTC)
    for broken in ({}, {"name": "k"}, {**resource, "size": "x"}):
        with pytest.raises(StorageError):
            info_of(broken)


def test_a_download_knows_the_time_of_what_was_seen_before() -> None:
    known = KnownTimes()
    time = datetime(2026, 1, 1, tzinfo=UTC)
    known.remember(ObjectInfo("k", 1, "7", modified_at=time))
    for version, expected in (("7", time), ("8", None)):
        headers = CIMultiDictProxy(
            CIMultiDict(
                [("X-Goog-Generation", version), ("X-Goog-Hash", "crc32c=AAAAAA=="), ("x-goog-hash", "md5=AAEC")]
            )
        )
        info = downloaded_info("k", headers, 5, known)
        assert (info.version, info.size, info.modified_at, info.checksum) == (version, 5, expected, "md5:000102")
    for index in range(20_000):
        known.remember(ObjectInfo(str(index), 1, "1"))
    assert known.of("k", "7") is None


def test_checksums_are_googles() -> None:
    assert sdk.crc32c(b"123456789") == 0xE3069283
    assert sdk.encoded_crc32c(sdk.crc32c(b"56789", sdk.crc32c(b"1234"))) == "4waSgw=="
