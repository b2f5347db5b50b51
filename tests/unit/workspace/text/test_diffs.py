"""The diff that is approved: right, masked, and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.redaction import Gate
from moorage_workspace.text.diffs import MOST_LINES, unified_diff
from moorage_workspace.text.line_changes import line_changes

PEM = b"-----BEGIN PRIVATE KEY-----\n" + b"MIIEvQIBADANBgkqhkiG9w0BAQEFAAS\n" * 20 + b"-----END PRIVATE KEY-----\n"
NUMBERS = [b"%d\n" % number for number in range(1, 41)]


def body(before: bytes | None, after: bytes | None, max_lines: int = MOST_LINES) -> str:
    text = unified_diff("/a", before, after, max_lines=max_lines)
    head, plus, rest = text.split("\n", 2)
    assert head == ("--- /dev/null" if before is None else "--- /a")
    assert plus == ("+++ /dev/null" if after is None else "+++ /a")
    return rest


def test_hunks_have_three_lines_of_context_and_true_numbers() -> None:
    after = [*NUMBERS[:9], b"ten\n", *NUMBERS[10:29], b"29.5\n", *NUMBERS[29:]]
    assert body(b"".join(NUMBERS), b"".join(after)) == (
        "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
        "@@ -27,6 +27,7 @@\n 27\n 28\n 29\n+29.5\n 30\n 31\n 32\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, b"a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
        (None, b"", ""),
        (b"a\n", None, "@@ -1 +0,0 @@\n-a\n"),
        (b"a\n", b"", "@@ -1 +0,0 @@\n-a\n"),
        (b"a", b"a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\nb", b"a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (b"a\r\nb\r\n", b"a\r\nb\n", "@@ -1,2 +1,2 @@\n a␍\n-b␍\n+b\n"),
        (b"a\rb\n", b"a\rc\n", "@@ -1 +1 @@\n-a\\u{d}b\n+a\\u{d}c\n"),
        (b"a\n", b"\x1b[2Ka\xe2\x80\xae\n", "@@ -1 +1 @@\n-a\n+\\u{1b}[2Ka\\u{202e}\n"),
        (
            b"a\n\xe2\x80\xa8\xc2\x85\x0c\n",
            b"b\n\xe2\x80\xa8\xc2\x85\x0c\n",
            "@@ -1,2 +1,2 @@\n-a\n+b\n \\u{2028}\\u{85}\\u{c}\n",
        ),
        (b"\0\1", b"a\n", "binary content: 2 bytes before, 2 bytes after\n"),
        (b"caf\xe9", b"cafe", "binary content: 4 bytes before, 4 bytes after\n"),
    ],
)
def test_what_is_shown(before: bytes | None, after: bytes | None, expected: str) -> None:
    assert body(before, after) == expected


def test_only_what_is_drawn_is_redacted() -> None:
    seen: list[int] = []

    def redact(text: str) -> str:
        seen.append(len(text))
        return text

    text = unified_diff("/a", None, b"ordinary line of text\n" * 90_000, redact=redact)
    assert text.count("\n") <= MOST_LINES + 3
    assert sum(seen) < 500_000


def test_nothing_changes_nothing() -> None:
    assert unified_diff("/a", b"a", b"a") == ""
    assert unified_diff("/a", None, None) == ""


def test_near_changes_share_a_hunk() -> None:
    after = [*NUMBERS[:9], b"x\n", *NUMBERS[10:15], b"y\n", *NUMBERS[16:]]
    assert body(b"".join(NUMBERS), b"".join(after)).count("@@ -") == 1


def test_a_long_line_is_cut_to_what_changes() -> None:
    text = body(b"a" * 3_000_000 + b"OLD" + b"b" * 3_000_000, b"a" * 3_000_000 + b"NEW" + b"b" * 3_000_000)
    assert len(text) < 2_000
    assert "-…aaa" in text
    assert "aOLDb" in text
    assert "aNEWb" in text


def test_a_long_diff_is_cut_and_says_so() -> None:
    before, after = b"x\n" * 300_000, b"y\n" * 300_000
    text = body(before, after, max_lines=40)
    assert text.count("\n") <= 42
    assert "more lines are removed]" in text or "[the diff is longer" in text
    text = body(b"".join(NUMBERS), b"z\n" * 400_000, max_lines=40)
    assert "-1\n" in text
    assert "[30 more lines are removed]\n+z\n" in text
    assert "more lines are added]" in text


def test_many_hunks_are_cut_and_say_so() -> None:
    before = b"".join(b"%d\n" % number for number in range(100_000))
    after = before.replace(b"00\n", b"oo\n")
    text = unified_diff("/a", before, after, max_lines=30)
    assert text.count("\n") <= 34
    assert text.endswith("[the diff is longer; the rest is not shown]\n")


def test_a_key_of_many_lines_is_masked_though_the_diff_cuts_into_it() -> None:
    redact = Gate().redact
    before = b"top\n" + PEM + b"bottom\n"
    for after in (b"new\n" + PEM + b"bottom\n", b"top\n" + PEM + b"new\n", b"top\n" + PEM.replace(b"MIIE", b"MIIF", 9)):
        text = unified_diff("/a", before, after, redact=redact)
        assert text.count("\n") >= 8
        assert "MII" not in text
    assert "MII" not in unified_diff("/a", None, before, redact=redact)


def test_a_secret_in_a_long_line_is_masked() -> None:
    redact = Gate(["correct-horse-battery-staple"]).redact
    for lead in range(380, 420):
        before = b"x" * lead + b"correct-horse-battery-staple" + b"y" * 1_000
        text = unified_diff("/a", before, b"z" + before, redact=redact)
        assert "corr" not in text
        assert "staple" not in text


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"a\r\n", b"\n", b"c\n"]), max_size=30)


@given(LINES, LINES, st.sampled_from([b"", b"end"]))
def test_the_changes_make_the_one_into_the_other(before: list[bytes], after: list[bytes], tail: bytes) -> None:
    old, new = b"".join(before) + tail, b"".join(after)
    rebuilt, at = b"", 0
    for change in line_changes(old, new):
        rebuilt += old[at : change.old_start] + new[change.new_start : change.new_end]
        assert len(rebuilt) == change.new_end
        at = change.old_end
    assert rebuilt + old[at:] == new


def test_changes_are_found_beyond_one_window() -> None:
    old = [b"%d\n" % number for number in range(5_000)]
    new = [line for number, line in enumerate(old) if number % 900 != 17]
    new[2_000:2_000] = [b"inserted %d\n" % number for number in range(300)]
    changes = list(line_changes(b"".join(old), b"".join(new)))
    removed = sum(b"".join(old).count(b"\n", change.old_start, change.old_end) for change in changes)
    added = sum(b"".join(new).count(b"\n", change.new_start, change.new_end) for change in changes)
    assert (removed, added) == (6, 300)
