"""Lines of bytes, and the window that picks some of them out of chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.text.excerpts import REACH
from moorage_workspace.text.lines import LineWindow, after_lines, line_end, line_number, line_start, split_lines


def picked(
    chunks: list[bytes], first: int, count: int | None, capacity: int = 1_000
) -> tuple[LineWindow, bytes | None]:
    window = LineWindow(first, count, capacity)
    for chunk in chunks:
        window.feed(chunk)
    if window.start is None:
        return window, None
    found = window.picked()
    content = b"".join(chunks)
    assert content[found.base : found.base + len(found.data)] == found.data
    assert window.start == found.base + found.start
    return window, found.data[found.start : found.end]


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")), st.integers(0, 8), st.integers(0, 60))
def test_after_lines_counts_line_ends(data: bytes, count: int, start: int) -> None:
    start = min(start, len(data))
    ends = [at + 1 for at in range(start, len(data)) if data[at] == 0x0A]
    assert after_lines(data, count, start) == (start if count == 0 else ends[count - 1] if count <= len(ends) else None)


def test_after_lines_in_a_large_content() -> None:
    data = b"".join(b"%d\n" % number for number in range(100_000))
    for count in (1, 2, 500, 99_999, 100_000):
        at = after_lines(data, count)
        assert at is not None
        assert data[:at].count(b"\n") == count
        assert data[at - 1 : at] == b"\n"
    assert after_lines(data, 100_001) is None


def test_places_in_lines() -> None:
    data = b"one\ntwo\nthree"
    assert [line_number(data, at) for at in (0, 3, 4, 12)] == [1, 1, 2, 3]
    assert [line_start(data, at) for at in (0, 3, 4, 12)] == [0, 0, 4, 8]
    assert [line_end(data, at) for at in (0, 3, 4, 12)] == [4, 4, 8, 13]


def test_lines_end_with_newlines_and_nothing_else() -> None:
    assert split_lines("a\r\nb\nc") == ["a", "b", "c"]
    assert split_lines("a\rb\x0cc\u2028d\x85e\n") == ["a\rb\x0cc\u2028d\x85e"]
    assert split_lines("") == []
    assert split_lines("\n\n") == ["", ""]


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"bb\n", b"c\r\n", b""]), max_size=20),
    st.integers(1, 8),
    st.one_of(st.none(), st.integers(1, 8)),
)
def test_the_window_is_the_lines_whatever_the_chunks(chunks: list[bytes], first: int, count: int | None) -> None:
    lines = b"".join(chunks).split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    window, found = picked(chunks, first, count)
    assert window.lines == len(lines)
    if first <= len(lines):
        assert found == b"".join(lines[first - 1 :][:count])
    else:
        assert not found


@pytest.mark.parametrize("size", [1, 7, 1_000, 100_000, 10_000_000])
def test_memory_and_surroundings_are_bounded(size: int) -> None:
    content = b"".join(b"line %d\n" % number for number in range(200_000))
    chunks = [content[at : at + size] for at in range(0, len(content), size)] if size > 1 else [content]
    window, found = picked(chunks, 100_001, None)
    assert window.lines == 200_000
    assert found is not None
    assert found.startswith(b"line 100000\n")
    assert found.endswith(b"\n")
    assert 980 < len(found) <= 1_000
    assert len(window.kept) == 1_000 + 2 * REACH
    assert window.filled


def test_a_line_beyond_the_capacity_is_cut_between_characters() -> None:
    window = LineWindow(1, None, 1_000)
    window.feed("äöü".encode() * 100_000 + b"\n")
    found = window.picked()
    assert found.within_line
    assert found.end == 1_000
    window = LineWindow(1, None, 1_001)
    window.feed("äöü".encode() * 100_000)
    assert window.picked().end == 1_000
    window = LineWindow(2, 1, 1_000)
    window.feed(b"short\nexact\n")
    assert not window.picked().within_line
