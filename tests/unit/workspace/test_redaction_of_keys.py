"""Private keys line by line: what is shown of their lines, and where their blocks go on."""

from __future__ import annotations

import pytest

from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.redaction.open_keys import OpenKey, may_be_open, start_of_key

BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
BODY = "MIIEabcdefgh/+123456"


def test_the_lines_of_a_key_keep_their_numbers() -> None:
    lines = ["a", BEGIN, BODY, f"  {BODY}", "", "Version: GnuPG v1", END, "b"]
    numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, 9))
    shown = ["a", BEGIN, MASK, f"  {MASK}", "", MASK, END, "b"]
    expected = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(shown, 9))
    assert Gate().redact(numbered) == expected
    assert Gate().redact(expected) == expected


@pytest.mark.parametrize("line", [f"12 {BODY}", f"12:{BODY}", "1234567", f"+{BODY}", f"# {BODY}"])
def test_nothing_else_is_kept_of_them(line: str) -> None:
    assert Gate().redact(f"{BEGIN}\n{line}\n").split("\n")[1] == MASK


@pytest.mark.parametrize(
    ("content", "is_open"),
    [
        ("", False),
        (f"x\n{BEGIN}\n", True),
        (f"x\n{BEGIN}\n{BODY}\n\nVersion: 1 of it\n{BODY}\n", True),
        (f'x "{BEGIN}"\n', True),
        (f'if "{BEGIN}" in text: return\n', False),
        (f"{BEGIN}\n{BODY}\n{END}\n", False),
        (f"{BEGIN}\n{BODY}\n{END}\n{BODY}\n", False),
        (f"{BEGIN}\n{BODY}\ntwo words here\n{BODY}\n", False),
        (f"{BEGIN}\n{BODY}\nComment: PRIVATE KEY\n{BODY}\n", True),
        (f"{BEGIN}\n{BODY}\n{END}\n{BEGIN}\n{BODY}\n", True),
        (f"{'x' * 30_000} {BEGIN}\n{BODY}\n", True),
        (f"{BEGIN}\n{BODY * 1_000}\n{BODY}\n", True),
        (f"{BEGIN}\n{'two words ' * 1_000}\n{BODY}\n", False),
    ],
)
def test_a_key_is_open_as_the_gate_sees_it(content: str, is_open: bool) -> None:
    data = content.encode()
    assert (MASK in Gate().redact(f"{content}{BODY}\n").split("\n")[-2]) is is_open
    for size in (1, 7, 64, 1_000, 100_000):
        key = OpenKey()
        for at in range(0, len(data), size):
            key.feed(data[at : at + size])
        assert key.is_open is is_open, size
    if is_open:
        assert may_be_open(data, len(data))
    assert (start_of_key(data, len(data)) < len(data)) is is_open


def test_a_key_begins_in_the_line_of_its_marker() -> None:
    data = f"one\n  k: {BEGIN}\n{BODY}\n{BODY}\nx y\n".encode()
    assert start_of_key(data, data.index(b"x y")) == data.index(b"  k")
    assert start_of_key(data, len(data)) == len(data)
