"""The edit engine: only the matched bytes change, whatever surrounds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.text.editing import SHOWN_MATCHES, Edit, NotFound, NotUnique, TooLarge, edit, first_lines
from moorage_workspace.text.lines import line_number

BOM = b"\xef\xbb\xbf"


def content(data: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    done = edit(data, old, new, replace_all=replace_all)
    assert isinstance(done, Edit)
    return bytes(done.content)


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        pytest.param(b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n", id="one line of CRLF"),
        pytest.param(b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n", id="lines of CRLF"),
        pytest.param(b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny", id="the line end before, on the last line"),
        pytest.param(b"a\r\nb\n", "a", "x\ny", b"x\r\ny\r\nb\n", id="the line end after, in a mixed file"),
        pytest.param(b"a", "a", "x\ny", b"x\ny", id="no line end anywhere"),
        pytest.param(
            b"x\r\ny\nz\r\n", "x\ny\nz", "x\nq\ny\nz", b"x\r\nq\r\ny\nz\r\n", id="each line keeps its own end"
        ),
        pytest.param(b"x\r\ny\nz\r\nw", "x\ny\nz\nw", "x\nw", b"x\r\nw", id="lines taken out"),
        pytest.param(b"a\r\r\nb", "a\r", "c", b"c\r\nb", id="a lone CR is a character"),
        pytest.param(b"a\r\nb\n", "a\r\nb", "a\nb!", b"a\r\nb!\n", id="CRLF in the old text matches itself"),
        pytest.param(b"a\nb", "a\nb", "a\r\nb", b"a\r\nb", id="CRLF in the new text is meant"),
        pytest.param(BOM + b"abc", "a", "x", BOM + b"xbc", id="BOM kept and not needed"),
        pytest.param(BOM + b"abc", "\ufeffa", "x", BOM + b"xbc", id="BOM kept though it was named"),
        pytest.param(b"abc", "a", "\ufeffx", b"xbc", id="BOM never added"),
        pytest.param(b"a b", "a", r"$& \1 $0 \n \g<0>", rb"$& \1 $0 \n \g<0>" + b" b", id="no patterns"),
        pytest.param(b"a.c abc", "a.c", "x", b"x abc", id="no patterns in the old text"),
        pytest.param(b"a\nb", "b", "c", b"a\nc", id="no final newline"),
        pytest.param("a\u2028b\x0cc\x85".encode(), "b", "x", "a\u2028x\x0cc\x85".encode(), id="no line ends"),
        pytest.param("äöü".encode(), "ö", "o", "äoü".encode(), id="beyond ASCII"),
        pytest.param(b"a\r\n\r\nb", "\n\nb", "\nb", b"a\r\nb", id="newlines at the edge of the old text"),
    ],
)
def test_only_the_match_changes(data: bytes, old: str, new: str, expected: bytes) -> None:
    assert content(data, old, new) == expected


def test_replace_all_gives_each_place_its_own_line_ends() -> None:
    assert content(b"a;\r\na;\na;\r\n", ";\n", ",\n;\n", replace_all=True) == b"a,\r\n;\r\na,\n;\na,\r\n;\r\n"


def test_what_is_there_twice_is_told_by_its_lines() -> None:
    assert edit(b"a\r\nx\r\na\r\n", "a\n", "b") == NotUnique(2, (1, 3))
    assert edit(b"aaa", "aa", "b") == NotUnique(2, (1,)), "overlapping ones are two places, too"
    found = edit(b"k\n" * 100, "k", "x")
    assert isinstance(found, NotUnique)
    assert (found.count, found.lines) == (100, tuple(range(1, 21)))


@pytest.mark.parametrize(
    ("data", "old"),
    [(b"a\nb", "a\r\nb"), (b"A", "a"), (BOM, "\ufeff"), (b"", "a"), (b"a\rb", "a\nb"), (b"a\tb", "a b")],
)
def test_nothing_is_matched_loosely(data: bytes, old: str) -> None:
    assert edit(data, old, "x") == NotFound()
    assert edit(data, old, "x", replace_all=True) == NotFound()


def test_a_result_beyond_the_limit_is_never_made() -> None:
    assert edit(b"a" * 1_000, "a", "x" * 1_000_000, replace_all=True, max_size=10_000) == TooLarge(1_000_999)
    assert edit(b"a" * 1_000, "a", "x" * 100, replace_all=True, max_size=10_000) == TooLarge(100_000)
    assert edit(b"a", "a", "x" * 1_000, max_size=100) == TooLarge(1_000)


def test_the_spans_say_what_was_replaced_and_where_it_is_now() -> None:
    done = edit(b"a\r\nb\r\na\r\n", "a\n", "x\ny\n", replace_all=True)
    assert isinstance(done, Edit)
    assert [(one.start, one.end, one.length) for one in done.replaced] == [(0, 3, 6), (6, 9, 6)]
    assert first_lines(b"a\r\nb\r\na\r\n", done) == (1, 4)


def test_a_hostile_old_text_takes_no_more_than_linear_time() -> None:
    assert edit(b"\n\r\n" * 200_000, "\n" * 5_000 + "x", "y") == NotFound()


UNITS = st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n", "\ufeff", "\U0001f600"]), max_size=12)
OLD = st.text(st.sampled_from("ab\né"), min_size=1, max_size=3)
NEW = st.text(st.sampled_from("ab\n$\\1&"), max_size=4)


def places(units: list[str], old: str, *, overlapping: bool) -> list[int]:
    flat = ["\n" if unit == "\r\n" else unit for unit in units]
    found: list[int] = []
    for at in range(len(flat) - len(old) + 1):
        free = overlapping or not found or at >= found[-1] + len(old)
        if free and "".join(flat[at : at + len(old)]) == old:
            found.append(at)
    return found


@given(UNITS, OLD, NEW)
def test_an_edit_touches_one_place_or_none(units: list[str], old: str, new: str) -> None:
    data = "".join(units).encode()
    found = places(units, old, overlapping=True)
    done = edit(data, old, new)
    if len(found) != 1:
        assert isinstance(done, NotUnique if found else NotFound)
        return
    assert isinstance(done, Edit)
    before, after = "".join(units[: found[0]]).encode(), "".join(units[found[0] + len(old) :]).encode()
    changed = bytes(done.content)
    assert changed.startswith(before)
    assert changed[len(before) :].endswith(after)
    put = changed[len(before) : len(changed) - len(after)]
    assert put.replace(b"\r\n", b"\n") == new.encode()
    if "\r\n" not in units:
        assert put == new.encode()
    elif "\n" not in units:
        assert put == new.replace("\n", "\r\n").encode()


@given(UNITS, OLD, NEW)
def test_the_lines_are_those_of_the_new_content(units: list[str], old: str, new: str) -> None:
    data = "".join(units).encode()
    done = edit(data, old, new, replace_all=True)
    if not isinstance(done, Edit):
        return
    changed, moved = bytes(done.content), 0
    lines: list[int] = []
    for part in done.replaced[:SHOWN_MATCHES]:
        lines.append(line_number(changed, part.start + moved))
        moved += part.length - (part.end - part.start)
    assert first_lines(data, done) == tuple(dict.fromkeys(lines))


@given(UNITS, OLD, NEW)
def test_an_edit_knows_whether_it_alters_anything(units: list[str], old: str, new: str) -> None:
    data = "".join(units).encode()
    done = edit(data, old, new)
    if isinstance(done, Edit):
        assert done.alters(data) == (bytes(done.content) != data)


@given(UNITS, OLD, NEW)
def test_replacing_all_touches_every_place_and_nothing_else(units: list[str], old: str, new: str) -> None:
    found = places(units, old, overlapping=False)
    done = edit("".join(units).encode(), old, new, replace_all=True)
    if not found:
        assert done == NotFound()
        return
    assert isinstance(done, Edit)
    flat = "".join("\n" if unit == "\r\n" else unit for unit in units)
    assert bytes(done.content).replace(b"\r\n", b"\n") == flat.replace(old, new).encode()
    kept: list[bytes] = []
    at = 0
    for part in done.replaced:
        kept.append("".join(units).encode()[at : part.start])
        at = part.end
    outside = [unit for number, unit in enumerate(units) if not any(p <= number < p + len(old) for p in found)]
    assert b"".join([*kept, "".join(units).encode()[at:]]) == "".join(outside).encode()
