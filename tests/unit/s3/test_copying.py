"""Which copies can give their source's metadata themselves."""

from __future__ import annotations

import pytest

from moorage_s3.metadata import is_repeatable, kept_metadata, room_for_marks

MARK = "0badc0de,abcdefgh"


@pytest.mark.parametrize(
    ("headers", "can"),
    [
        ({}, True),
        ({"Content-Type": "text/plain", "X-Amz-Meta-Owner": "me"}, True),
        ({"x-amz-meta-a": "x" * 2000}, True),
        ({"x-amz-meta-a": "x" * 2020}, False),
        ({"x-amz-meta-a": "x" * 1000, "x-amz-meta-b": "x" * 1020}, False),
        ({"Content-Disposition": "x" * 4000}, True),
        ({"x-amz-meta-owner": "\xe9"}, False),
        ({"x-amz-meta-owner": "\udcc3\udca9"}, False),
        ({"x-amz-meta-owner": "a\tb"}, False),
        ({"x-amz-missing-meta": "1"}, False),
    ],
)
def test_metadata_that_can_be_sent_as_they_are_stored(headers: dict[str, str], can: bool) -> None:
    kept = kept_metadata(headers)
    assert (is_repeatable(headers, kept) and room_for_marks(kept) >= len(MARK)) is can
