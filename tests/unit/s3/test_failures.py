"""What an answer says of whether its request took effect."""

from __future__ import annotations

import pytest

from moorage_s3.failures import Refusal, refusal

BUSY = b"<Error><Code>SlowDown</Code></Error>"


@pytest.mark.parametrize(
    ("found", "is_unclear"),
    [
        (refusal(503, {}, BUSY), False),
        (refusal(503, {}, b"<html>upstream connect error</html>"), True),
        (refusal(503, {}, b""), True),
        (refusal(500, {}, b""), True),
        (refusal(504, {}, b""), True),
        (refusal(429, {}, b""), False),
        (refusal(501, {}, b""), False),
        (Refusal(412), False),
    ],
)
def test_only_the_stores_own_503_says_that_nothing_was_done(found: Refusal, is_unclear: bool) -> None:
    assert found.is_unclear is is_unclear


@pytest.mark.parametrize("code", ["SlowDown", "XMinio.Full"])
def test_a_code_is_told(code: str) -> None:
    assert code in str(refusal(418, {}, f"<Error><Code>{code}</Code></Error>".encode()).error())


@pytest.mark.parametrize("said", ["FwoGZXIvYXdzEBYaDHF2Y2", "AKIDEXAMPLE0123456789", "a" * 65, "two words"])
def test_what_could_be_taken_from_the_request_is_not_told(said: str) -> None:
    body = f"<Error><Code>{said}</Code><Region>{said}</Region></Error>".encode()
    for found in (refusal(418, {}, body), refusal(400, {"x-amz-bucket-region": said}, body)):
        assert (found.code, found.region) == ("", "")
        assert said not in str(found.error())


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-003", "auto", "nyc3", "us-gov-west-1", "EU"])
def test_a_region_is_told(region: str) -> None:
    body = f"<Error><Code>PermanentRedirect</Code><Region>{region}</Region></Error>".encode()
    assert region in str(refusal(301, {}, body).error())
