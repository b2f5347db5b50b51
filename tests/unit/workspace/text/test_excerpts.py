"""Pieces of a content with the secrets masked that their edges cut through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.text.excerpts import REACH, excerpt, excerpts, unchanged
from moorage_workspace.text.names import meant
from moorage_workspace.text.shared_ends import shared_end, shared_start

SECRET = "correct-horse-bättery-staple"
REDACT = Gate([SECRET]).redact


@given(st.integers(0, 90), st.integers(0, 90))
def test_no_edge_lets_a_part_of_a_secret_out(start: int, end: int) -> None:
    data = f"one\ntwo {SECRET} three {SECRET} four\nfive".encode()
    start, end = min(start, end), max(start, end)
    text = excerpt(data, start, end, REDACT)
    for at in range(len(SECRET) - 4):
        assert SECRET[at : at + 5] not in text
    inside = data.index(SECRET.encode())
    if start <= 4 and end >= inside + len(SECRET.encode()):
        assert MASK in text


def test_what_is_not_secret_comes_as_it_is() -> None:
    data = f"one\ntwo {SECRET} three\nfour".encode()
    at = data.index(b"three")
    assert excerpt(data, at, at + 5, REDACT) == "three"
    assert excerpt(data, 0, 7, REDACT) == "one\ntwo"
    assert excerpt(data, at, len(data), unchanged) == "three\nfour"
    assert excerpts(data, [(0, 3), (at, at + 5)], REDACT) == ["one", "three"]
    assert excerpts(data, [], REDACT) == []


def test_bytes_that_are_no_text_come_back_as_they_were() -> None:
    data = bytes(range(256)) * 3
    assert excerpt(data, 100, 500, REDACT).encode("utf-8", "surrogateescape") == data[100:500]


def test_pieces_far_apart_see_what_surrounds_them() -> None:
    data = SECRET.encode() + b"\n" + b"x" * 1_000_000 + b"\n" + SECRET.encode()
    texts = excerpts(data, [(8, 12), (len(data) - 6, len(data))], REDACT)
    assert texts == [MASK, MASK]


def test_only_so_much_is_looked_at() -> None:
    seen: list[int] = []

    def redact(text: str) -> str:
        seen.append(len(text))
        return text

    excerpt(b"x" * 10_000_000, 5_000_000, 5_000_010, redact)
    assert 2 * REACH + 10 <= max(seen) < 3 * REACH
    assert sum(seen) < 4 * REACH
    seen.clear()
    excerpt(b"x y\n" * 1_000_000, 2_000_000, 2_000_010, redact)
    assert seen == [2 * REACH + 10]


def test_near_pieces_are_looked_at_together_though_others_are_far() -> None:
    seen: list[int] = []

    def redact(text: str) -> str:
        seen.append(len(text))
        return text

    near = [(at, at + 50) for at in range(1_000_000, 1_010_000, 100)]
    assert len(excerpts(b"x\n" * 1_000_000, [(0, 5), *near], redact)) == 101
    assert seen == [REACH + 5, 2 * REACH + 9_950]


@given(st.text("ab", max_size=300), st.text("ab", max_size=300), st.integers(0, 5))
def test_how_far_texts_agree(one: str, other: str, at: int) -> None:
    whole = one[:200]
    for left, right in ((one, other), (whole + one, whole + other), (one, one)):
        expected = next((i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
        assert shared_start(left, right) == (min(len(left), len(right)) if expected is None else expected)
        assert shared_end(left[::-1].encode(), right[::-1].encode()) == shared_start(left, right)
    assert shared_start("x" * at + one, one, at) == len(one)


def test_which_names_are_meant() -> None:
    found = meant("café.md", ["cafe\u0301.md", "cafe.md", "CAFÉ.md", "other"])
    assert found.equivalent == ("cafe\u0301.md",)
    assert found.near[0] == "CAFÉ.md"
    assert "cafe.md" in found.near
    assert meant("x", ["unlike"]).near == ()
