"""The marks that tell whether a write whose answer was lost took effect."""

from __future__ import annotations

import pytest

from moorage.objects import ABSENT, Matches
from moorage_gcs.write_marks import NAME, Base, Mark, WriteMarks

KEY = "some/key"


def stored(mark: Mark, generation: int) -> dict[str, object]:
    """The object that this write made, as the JSON API tells it."""
    return {"name": mark.key, "generation": str(generation), "metadata": {NAME: str(mark)}}


def test_a_mark_is_read_as_it_was_written() -> None:
    for mark in (
        WriteMarks().new(KEY, None),
        WriteMarks().new(KEY, ABSENT),
        WriteMarks().new(KEY, Matches("7")),
        Mark(KEY, "0" * 16, (Base("9", "1" * 16), Base("8", "2" * 16))),
        Mark(KEY, "0" * 16, (Base("9", "1" * 16), Base("8", ""))),
    ):
        assert Mark.of(stored(mark, 10), KEY) == mark


def test_a_chain_grows_with_what_is_known() -> None:
    marks = WriteMarks()
    first = marks.new(KEY, Matches("1"))
    marks.wrote("2", first)
    second = marks.new(KEY, Matches("2"))
    marks.saw(stored(second, 3))
    third = marks.new(KEY, Matches("3"))
    assert third.bases == (Base("3", second.word), Base("2", first.word), Base("1", ""))
    assert (third.generation_of(first.word), third.generation_of(second.word)) == ("2", "3")
    assert third.is_based_on("1")
    assert not third.is_based_on("4")
    assert third.oldest == "1"
    assert marks.new(KEY, Matches("4")).bases == (Base("4", ""),)
    assert marks.new("other", Matches("3")).bases == (Base("3", ""),)


def test_the_chain_stays_small_and_the_memory_too() -> None:
    marks = WriteMarks()
    mark = marks.new(KEY, ABSENT)
    for generation in range(10**18, 10**18 + 400):
        marks.wrote(str(generation), mark)
        mark = marks.new(KEY, Matches(str(generation)))
    assert len(mark.bases) == 16
    assert len(str(mark)) < 700
    assert len(marks._seen) == 256
    assert Mark.of(stored(mark, 1), KEY) == mark


def test_a_mark_has_as_much_of_its_chain_as_there_is_room_for() -> None:
    named = Mark(KEY, "0" * 16, (Base("9", "1" * 16), Base("8", "2" * 16), Base("7", "")))
    for size in range(200):
        text = named.within(size)
        assert len(text) <= size
        read = Mark.of({"metadata": {NAME: text}}, KEY)
        if len(text) == 27:
            assert read.bases == (Base("9", ""),)
        else:
            assert read.bases == named.bases[: len(read.bases)]
            assert bool(read.word) == bool(read.bases)
    assert [len(named.within(size)) for size in (26, 27, 44, 63, 65, 200)] == [0, 27, 44, 63, 65, 65]
    of_nothing = WriteMarks().new(KEY, None)
    assert (of_nothing.within(24), of_nothing.within(25)) == ("", str(of_nothing))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0badc0de/0123456789abcdef",
        "{tag}/0123456789ABCDEF",
        "{tag}/0123456789abcdef/x",
        "{tag}/0123456789abcdef/1/2",
        "{tag}/0123456789abcdef/1.0123456789abcdef" + "/1.0123456789abcdef" * 16,
        "{tag}/0123456789abcdef/" + "1" * 20,
        "{tag}/0123456789abcdef\n",
        "{tag}/\u0660123456789abcde",
    ],
)
def test_what_is_no_mark_of_this_object_is_none(text: str) -> None:
    tag = str(Mark(KEY, "")).split("/")[0]
    mark = Mark.of({"metadata": {NAME: text.replace("{tag}", tag)}}, KEY)
    assert (mark.word, mark.bases) == ("", ())
    assert not mark.is_based_on("1")
    assert mark.generation_of("") is None


@pytest.mark.parametrize("resource", [{}, {"metadata": None}, {"metadata": "x"}, {"metadata": {NAME: 7}}])
def test_metadata_of_any_kind_are_read(resource: dict[str, object]) -> None:
    marks = WriteMarks()
    marks.saw(resource)
    assert Mark.of(resource, KEY).word == ""
    assert not marks._seen
