"""Terminal output as text: nothing of an escape sequence survives, and nothing beside it is lost."""

from __future__ import annotations

import random

import pytest

from moorage_workspace.ansi import StreamStripper, strip

SEQUENCES = [
    *["\x1b[0m", "\x1b[1;31m", "\x1b[38;2;1;2;3m", "\x1b[?25l", "\x1b[2J", "\x1b[10;5H", "\x1b[!p", "\x9b31m"],
    *["\x1b]0;a title\x07", "\x1b]8;;https://x/y\x1b\\", "\x9d0;title\x9c", "\x1bP1$r0m\x1b\\", "\x1b_app\x1b\\"],
    *["\x1b^private\x1b\\", "\x1bXstring\x1b\\", "\x1b(B", "\x1b7", "\x1bc", "\x1b=", "\x1b M", "\x84", "\x00", "\x07"],
]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_goes_and_its_neighbours_stay(sequence: str) -> None:
    assert strip(f"a{sequence}b\n{sequence}c") == "ab\nc"


@pytest.mark.parametrize("begun", ["\x1b", "\x1b[", "\x1b[1;3", "\x9b", "\x1b(", "\x1b]0;title", "\x1bPdata"])
def test_a_sequence_without_its_end_hides_no_more_than_its_line(begun: str) -> None:
    assert strip(f"a{begun}") == "a"
    assert strip(f"a{begun}\nb\n") == "a\nb\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
        ("10%\r\x1b[K20%\r", "20%"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("_\bx abc\b\bd", "x ad"),
        ("\b\ba", "a"),
        ("a\tb\fc\u2028d", "a\tb\fc\u2028d"),
        ("äöü 漢字 🎉", "äöü 漢字 🎉"),
    ],
)
def test_what_was_written_over_is_gone(text: str, shown: str) -> None:
    assert strip(text) == shown


@pytest.mark.parametrize("seed", range(3))
def test_pieces_come_out_as_the_whole_does(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        text = "".join(chance.choices([*SEQUENCES, "a", "bc", "\n", "\x1b", "\x1b[", "\x1b]"], k=12))
        stripper, shown, at = StreamStripper(), "", 0
        while at < len(text):
            size = chance.randint(1, 5)
            shown += stripper.feed(text[at : at + size])
            at += size
        assert shown + stripper.finish() == strip(text)


def test_a_stream_leaves_what_is_only_settled_at_the_end() -> None:
    assert StreamStripper().feed("10%\r\x1b[K20%\b\r\n") == "10%\r20%\b\r\n"


def test_an_endless_sequence_is_not_held_for_ever() -> None:
    stripper = StreamStripper()
    shown = "".join(stripper.feed("\x1b]" + "x" * 1_000 if number == 0 else "x" * 1_000) for number in range(50))
    assert len(shown) > 30_000
    assert "\x1b" not in shown


@pytest.mark.parametrize("unit", ["\x1b", "\x1b[", "\x1b]", "a\b", "a\r", "\x1b[1", "\x9b;"])
def test_hostile_text_takes_time_in_proportion(unit: str) -> None:
    shown = strip(unit * 300_000)
    assert not set(shown) - {"a", "1"}
