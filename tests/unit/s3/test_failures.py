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
