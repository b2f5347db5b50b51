"""Whether an object was there before a request began, by the store's clock."""

from __future__ import annotations

import pytest

from moorage.objects import ABSENT
from moorage_s3.precedence import Precedence
from moorage_s3.write_marks import HEADER, WriteMarks

NOW = "Mon, 30 Nov 2026 18:16:34 GMT"


@pytest.mark.parametrize(
    ("headers", "is_certain"),
    [
        ({"Date": NOW, "Last-Modified": "Mon, 30 Nov 2026 18:00:00 GMT"}, True),
        ({"Date": NOW, "Last-Modified": "Mon, 30 Nov 2026 18:16:33 GMT"}, False),
        ({"Date": NOW, "Last-Modified": NOW}, False),
        ({"Date": NOW, "Last-Modified": "Mon, 30 Nov 2026 19:00:00 GMT"}, False),
        ({"Date": NOW}, False),
        ({"Last-Modified": "Mon, 30 Nov 2026 18:00:00 GMT"}, False),
        ({"Date": "soon", "Last-Modified": "late"}, False),
    ],
)
def test_the_stores_clock_must_leave_no_doubt(headers: dict[str, str], is_certain: bool) -> None:
    assert Precedence(WriteMarks()).is_certain("k", headers) is is_certain


def test_what_passed_since_the_request_began_counts() -> None:
    precedence = Precedence(WriteMarks())
    precedence._began -= 3600
    assert not precedence.is_certain("k", {"Date": NOW, "Last-Modified": "Mon, 30 Nov 2026 18:00:00 GMT"})
    assert precedence.is_certain("k", {"Date": NOW, "Last-Modified": "Mon, 30 Nov 2026 16:00:00 GMT"})


def test_what_this_client_had_seen_was_there_before() -> None:
    write_marks = WriteMarks()
    headers = {HEADER: WriteMarks().descent("k", ABSENT).header, "ETag": '"e"', "Date": NOW, "Last-Modified": NOW}
    too_early = Precedence(write_marks)
    write_marks.saw("k", headers)
    later = Precedence(write_marks)
    later._began += 1
    assert not too_early.is_certain("k", headers)
    assert later.is_certain("k", headers)
