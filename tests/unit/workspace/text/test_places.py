"""Places of a text: hidden bytes are as if something else stood there."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.text.editing import MOST_PLACES, Edit, NotFound, NotUnique, TooMany, edit

UNITS = st.lists(st.tuples(st.sampled_from(["a", "b", "é", "\n", "\r\n"]), st.booleans()), max_size=14)
OLD = st.text(st.sampled_from("ab\né"), min_size=1, max_size=3)


def hiding(spans: list[tuple[int, int]]) -> Callable[[int, int], bool]:
    return lambda start, end: all(end <= first or last <= start for first, last in spans)


def place(units: list[tuple[str, bool]]) -> tuple[bytes, bytes, list[tuple[int, int]]]:
    """A content, the same with something else where it is hidden, and the hidden spans."""
    data = other = b""
    spans: list[tuple[int, int]] = []
    for unit, is_hidden in units:
        raw = unit.encode()
        if is_hidden:
            spans.append((len(data), len(data) + len(raw)))
        data += raw
        other += b"\0" * len(raw) if is_hidden else raw
    return data, other, spans


@given(UNITS, OLD, st.booleans())
def test_what_is_hidden_may_as_well_be_anything_else(
    units: list[tuple[str, bool]], old: str, replace_all: bool
) -> None:
    data, other, spans = place(units)
    done = edit(data, old, "xy", replace_all=replace_all, shows=hiding(spans))
    expected = edit(other, old, "xy", replace_all=replace_all)
    if not isinstance(expected, Edit):
        lines = other.count(b"\n") == data.count(b"\n") or not isinstance(expected, NotUnique)
        assert type(done) is type(expected)
        assert not lines or done == expected
        return
    assert isinstance(done, Edit)
    assert done.replaced == expected.replaced


def test_a_hidden_place_takes_none_away_that_overlaps_it() -> None:
    done = edit(b"xccc", "cc", "d", replace_all=True, shows=hiding([(0, 2)]))
    assert isinstance(done, Edit)
    assert bytes(done.content) == b"xcd"


def test_however_many_are_hidden_the_next_is_found() -> None:
    data = b"ab" * MOST_PLACES * 2 + b"ab"
    hidden = hiding([(0, len(data) - 2)])
    for replace_all in (False, True):
        done = edit(data, "ab", "x", replace_all=replace_all, shows=hidden)
        assert isinstance(done, Edit)
        assert [(one.start, one.end) for one in done.replaced] == [(len(data) - 2, len(data))]
    assert edit(data, "ab", "x", shows=hiding([(0, len(data))])) == NotFound()


def test_of_too_many_places_those_that_are_hidden_are_not_counted() -> None:
    data = b"a" + b"a\n" * MOST_PLACES
    done = edit(data, "a", "b", replace_all=True, shows=hiding([(0, 1)]))
    assert isinstance(done, Edit)
    assert len(done.replaced) == MOST_PLACES
    assert edit(data, "a", "b", replace_all=True) == TooMany()
    found = edit(data, "a", "b", shows=hiding([(0, 1)]))
    assert isinstance(found, NotUnique)
    assert found.count == MOST_PLACES
