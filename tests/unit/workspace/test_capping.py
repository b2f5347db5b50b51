"""What is left of a text that is too long."""

from __future__ import annotations

import random

import pytest

from moorage_workspace.capping import cap, tail_lines
from moorage_workspace.redaction import MASK
from moorage_workspace.results import Keep
from moorage_workspace.tokens import estimate

LINES = "".join(f"line {number} of many\n" for number in range(10_000))


class Counting:
    """Counts characters as tokens, and how much it was asked to count."""

    def __init__(self) -> None:
        self.asked = 0
        self.calls = 0

    def __call__(self, text: str) -> int:
        self.asked += len(text)
        self.calls += 1
        return len(text)


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "\n\n"])
def test_what_fits_stays_as_it_is(text: str, keep: Keep) -> None:
    kept = cap(text, 10, keep, len)
    assert (kept.text, kept.whole, kept.dropped_lines) == (text, True, 0)
    assert kept.lines == len(text.splitlines())


def test_the_start_is_kept_in_whole_lines() -> None:
    kept = cap(LINES, 2_000, Keep.START, estimate)
    assert LINES.startswith(kept.text)
    assert kept.text.endswith("\n")
    assert not kept.whole
    assert kept.lines == kept.text.count("\n")
    assert kept.lines + kept.dropped_lines == 10_000
    assert 1_900 <= estimate(kept.text) <= 2_000


def test_a_single_line_is_cut_within() -> None:
    kept = cap("x" * 5_000_000, 100, Keep.START, len)
    assert (kept.text, kept.lines, kept.dropped_lines) == ("x" * len(kept.text), 0, 1)
    assert 96 <= len(kept.text) <= 100


def test_a_tenth_from_the_start_and_the_rest_from_the_end() -> None:
    kept = cap(LINES, 2_000, Keep.ENDS, estimate)
    head, _, rest = kept.text.partition("[... ")
    notice, _, tail = rest.partition(" left out ...]\n")
    assert notice == f"{kept.dropped_lines:,} lines"
    assert LINES.startswith(head)
    assert LINES.endswith(tail)
    assert head.count("\n") + tail.count("\n") == kept.lines == 10_000 - kept.dropped_lines
    assert 150 <= estimate(head) <= 200
    assert 1_700 <= estimate(tail) <= 1_850


def test_of_a_single_line_both_ends_are_kept() -> None:
    text = "".join(f"{number:07}," for number in range(10_000))
    kept = cap(text, 1_000, Keep.ENDS, len)
    head, tail = kept.text.split("\n[... ")
    left_out, tail = tail.split(" characters left out ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(left_out.replace(",", "")) + len(tail) == len(text)


def test_head_and_tail_that_count_less_apart_do_not_meet() -> None:
    kept = cap("a\nb", 2, Keep.ENDS, lambda text: 3 if len(text) == 3 else 0)
    assert kept.text == "[... 2 characters left out ...]\nb"


@pytest.mark.parametrize("keep", Keep)
def test_a_mask_is_never_parted(keep: Keep) -> None:
    for before in range(60):
        text = "y" * before + MASK * 3 + "x" * 60
        kept = cap(text, 50, keep, len)
        assert "[[" not in kept.text.replace(MASK, "").replace("[... ", "")
        assert "redacted" not in kept.text.replace(MASK, "")


@pytest.mark.parametrize("character", ["e\u0301", "n\u0303\u0323", "\U0001f469\u200d\U0001f4bb", "\u270c\ufe0f"])
@pytest.mark.parametrize("keep", Keep)
def test_a_character_is_not_parted_from_its_marks(character: str, keep: Keep) -> None:
    for before in range(len(character)):
        kept = cap("x" * before + character * 100, 50, keep, len)
        for part in kept.text.split("\n"):
            whole = part.lstrip("x") if not part.startswith("[...") else ""
            assert whole == character * (len(whole) // len(character))


@pytest.mark.parametrize("keep", Keep)
def test_few_counts_of_little_text(keep: Keep) -> None:
    counter = Counting()
    cap(LINES * 20, 2_000, keep, counter)
    assert counter.calls < 30
    assert counter.asked < 30 * 2_000 * 16


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("seed", range(3))
def test_any_text_fits_afterwards(seed: int, keep: Keep) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        text = "".join(chance.choices(["a", "word ", "\n", "漢", MASK, "x" * 40, "e\u0301"], k=chance.randint(0, 80)))
        most = chance.randint(0, 60)
        kept = cap(text, most, keep, estimate)
        notice = 20 if keep is Keep.ENDS and not kept.whole else 0
        assert estimate(kept.text) <= most + notice
        assert kept.lines + kept.dropped_lines == len(text.splitlines())


@pytest.mark.parametrize(
    ("text", "lines", "shown", "dropped"),
    [
        ("a\nb\nc\n", 2, "b\nc\n", 1),
        ("a\nb\nc", 2, "b\nc", 1),
        ("a\nb\nc\n", 0, "a\nb\nc\n", 0),
        ("a\nb\n", 5, "a\nb\n", 0),
        ("a\n\n\n", 1, "\n", 2),
        ("", 1, "", 0),
    ],
)
def test_the_last_lines(text: str, lines: int, shown: str, dropped: int) -> None:
    assert tail_lines(text, lines) == (shown, dropped)
