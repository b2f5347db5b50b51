"""The marks that tell whether a write whose answer was lost took effect."""

from __future__ import annotations

import time

from moorage.objects import ABSENT, Matches
from moorage_s3.write_marks import HEADER, Descent, WriteMarks

KEY = "some/key"


def stored(descent: Descent, etag: str = '"e"') -> dict[str, str]:
    """What a HEAD says of the object that this write made."""
    return {HEADER: descent.header, "ETag": etag}


def successor(headers: dict[str, str], key: str = KEY) -> Descent:
    """A write by somebody else, based on what a HEAD said."""
    theirs = WriteMarks()
    theirs.saw(key, headers)
    return theirs.descent(key, Matches(headers["ETag"].strip('"')))


def test_ones_own_is_recognised() -> None:
    ours = WriteMarks().descent(KEY, Matches("v"))
    assert ours.is_stored(stored(ours), KEY)
    assert ours.took_effect(stored(ours), KEY)


def test_ones_own_is_recognised_below_those_that_followed() -> None:
    ours = WriteMarks().descent(KEY, Matches("v"))
    now = stored(ours)
    for number in range(20):
        now = stored(successor(now), f'"{number}"')
    assert ours.took_effect(now, KEY)
    assert not ours.is_stored(now, KEY)


def test_a_write_that_was_overtaken_is_known_to_have_had_no_effect() -> None:
    mine, theirs = WriteMarks(), WriteMarks()
    base = stored(WriteMarks().descent(KEY, ABSENT))
    for both in (mine, theirs):
        both.saw(KEY, base)
    ours = mine.descent(KEY, Matches("e"))
    assert ours.took_effect(stored(theirs.descent(KEY, Matches("e"))), KEY) is False


def test_overtaken_by_somebody_who_knew_the_version_alone() -> None:
    mine = WriteMarks()
    mine.saw(KEY, stored(WriteMarks().descent(KEY, ABSENT)))
    ours = mine.descent(KEY, Matches("e"))
    assert ours.took_effect(stored(WriteMarks().descent(KEY, Matches("e"))), KEY) is False


def test_of_two_creators_one_knows_that_it_came_late() -> None:
    first, second = WriteMarks().descent(KEY, ABSENT), WriteMarks().descent(KEY, ABSENT)
    assert second.took_effect(stored(first), KEY) is False
    assert first.took_effect(stored(first), KEY)


def test_a_write_of_another_program_or_without_condition_hides_what_was_before() -> None:
    ours = WriteMarks().descent(KEY, Matches("v"))
    assert ours.took_effect({"ETag": '"x"'}, KEY) is None
    assert ours.took_effect(stored(WriteMarks().descent(KEY, None)), KEY) is None


def test_the_marks_of_a_copied_object_are_of_another_past() -> None:
    ours = WriteMarks().descent(KEY, ABSENT)
    assert ours.took_effect(stored(WriteMarks().descent("other", ABSENT)), KEY) is None


def test_the_header_stays_small_and_the_memory_too() -> None:
    write_marks = WriteMarks()
    now = stored(write_marks.descent(KEY, ABSENT))
    for number in range(200):
        now = stored(successor(now), f'"{number}"')
        write_marks.saw(f"key-{number}", now)
    for number in range(400):
        write_marks.wrote(f"key-{number}", "v", write_marks.descent("x", None))
    assert len(now[HEADER]) < 1024
    assert len(write_marks._seen) == 256


def test_a_hostile_header_is_no_past_of_ours() -> None:
    ours = WriteMarks().descent(KEY, Matches("v"))
    for value in ("", ",", "a,b,c", "\x00", "," * 1000):
        assert ours.took_effect({HEADER: value, "ETag": '"e"'}, KEY) is None
    tag = ours.header.split(",")[0]
    for marks in ("x" * 1900, ",".join(["mark"] * 500), "a\udcffb", "a b", "", "a,,b"):
        write_marks = WriteMarks()
        write_marks.saw(KEY, {HEADER: f"{tag},{marks}", "ETag": '"e"'})
        assert len(write_marks.descent(KEY, Matches("e")).header.encode()) < 100


def test_more_marks_than_are_kept_hide_what_was_before() -> None:
    ours = WriteMarks().descent(KEY, Matches("v"))
    now = {HEADER: WriteMarks().descent(KEY, Matches("w")).header, "ETag": '"e"'}
    for number in range(200):
        now = stored(successor(now), f'"{number}"')
    assert ours.took_effect(now, KEY) is None


def test_a_file_that_was_made_anew_hides_what_was_before() -> None:
    """What was written may have been deleted in between."""
    ours = WriteMarks().descent(KEY, Matches("v"))
    now = stored(WriteMarks().descent(KEY, ABSENT))
    assert ours.took_effect(now, KEY) is None
    assert ours.took_effect(stored(successor(now)), KEY) is None


def test_as_many_of_the_newest_marks_are_kept_as_fit() -> None:
    now = stored(WriteMarks().descent(KEY, ABSENT))
    for number in range(96):
        now = stored(successor(now), f'"{number}"')
    whole = successor(now)
    for room in (17, 25, 26, 500):
        some = whole.within(room)
        assert some is not None
        assert room - 9 < len(some.header) <= room
        assert whole.header.startswith(some.header)
        assert some.is_stored(stored(some), KEY)
    assert whole.within(1024) == whole
    assert whole.within(16) is None


def test_a_write_is_known_from_when_it_was_first_seen() -> None:
    write_marks = WriteMarks()
    before = time.monotonic()
    theirs = stored(WriteMarks().descent(KEY, ABSENT))
    write_marks.saw(KEY, theirs)
    after = time.monotonic() + 1
    write_marks.saw(KEY, theirs)
    assert write_marks.knew(KEY, theirs, after)
    assert not write_marks.knew(KEY, theirs, before)
    assert not write_marks.knew(KEY, stored(WriteMarks().descent(KEY, ABSENT)), after)
    assert not write_marks.knew(KEY, {"ETag": '"e"'}, after)
