"""What is said of a text that is not there."""

from __future__ import annotations

import pytest

from moorage_workspace.text.nearest import is_numbered, nearest

CODE = b"import os\n\n\ndef load(name):\n\tif name:\n\t\treturn open(name)\n\treturn None\n"


@pytest.mark.parametrize(
    ("data", "old", "line", "differences"),
    [
        (CODE, "    if name:\n        return open(name)", 5, ("indentation",)),
        (CODE, "def load(name):   \n\tif name:", 4, ("spaces at the end of lines",)),
        (CODE, "DEF load(Name):", 4, ("upper and lower case",)),
        (CODE, "def load( name ):", 4, ("spaces between words",)),
        (CODE, "def load(name):\r\n\tif name:", 4, ("line ends",)),
        (CODE, "    IF name:", 5, ("indentation", "upper and lower case")),
        (CODE, "def load(path):\n\tif path:", 4, ()),
        ("say \u201chi\u201d \u2013 now\n".encode(), 'say "hi" - now', 1, ("quotes or dashes",)),
        ("x\ncafe\u0301 au lait\n".encode(), "caf\u00e9 au lait", 2, ("Unicode form",)),
    ],
)
def test_the_nearest_lines_and_what_differs(data: bytes, old: str, line: int, differences: tuple[str, ...]) -> None:
    found = nearest(data, old)
    assert found is not None
    assert (found.line, found.differences) == (line, differences)
    assert data[: found.start].count(b"\n") == line - 1
    assert data[found.start : found.end].count(b"\n") == old.count("\n") + 1


@pytest.mark.parametrize("data", [b"", b"\n\n", b"nothing alike is here\n"])
def test_nothing_near_is_nothing(data: bytes) -> None:
    assert nearest(data, "def load(name):") is None


def test_the_best_of_several_wins() -> None:
    data = b"value = 1\nother\n" * 10 + b"def total(value):\n    value = 1\n    return value\n"
    found = nearest(data, "def total(value):\n  value = 1\n  return value")
    assert found is not None
    assert found.line == 21


def test_line_numbers_that_were_copied_along_are_known() -> None:
    assert is_numbered("    12→\tif name:\n    13→\t\treturn")
    assert not is_numbered("12 → 13")


def test_huge_contents_and_texts_are_searched_in_bounded_work() -> None:
    data = b"a" * 3_000_000 + b"\n" + CODE + b"b" * 3_000_000
    found = nearest(data, "  if name:")
    assert found is not None
    assert found.line == 6
    assert nearest(data, "x" * 1_000_000 + "\nif name:\n" + "x" * 1_000_000) is None
    assert nearest(data, "aaaa " * 1_000_000) is None
