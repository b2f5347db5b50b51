"""A content in parts is the same content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.text.pieces import Pieces


def view(data: bytes) -> memoryview:
    return memoryview(data)


PARTS = st.lists(st.one_of(st.binary(max_size=9), st.binary(max_size=9).map(view)), max_size=6)


@given(PARTS, st.integers(0, 60), st.integers(0, 60))
def test_any_part_is_that_of_the_whole(parts: list[bytes | memoryview], start: int, end: int) -> None:
    pieces, whole = Pieces(parts), b"".join(parts)
    assert (bytes(pieces), len(pieces)) == (whole, len(whole))
    assert pieces.part(start, end) == whole[start:end]


@given(PARTS, st.integers(1, 12))
def test_chunks_are_full_but_for_the_last(parts: list[bytes | memoryview], size: int) -> None:
    whole = b"".join(parts)
    assert list(Pieces(parts).chunks(size)) == [whole[at : at + size] for at in range(0, len(whole), size)]
