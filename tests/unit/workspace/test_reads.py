"""What a session has read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from moorage import Kind, Stat, StoragePath
from moorage_workspace.reads import ReadTracker, Replaced, digest_of, seen_after

A = StoragePath("/a")


def stat(size: int, version: str = "1") -> Stat:
    return Stat(Kind.FILE, size, version)


def test_spans_of_one_version_add_up() -> None:
    reads = ReadTracker()
    reads.saw("a", A, stat(10), 0, 4)
    reads.saw("a", A, stat(10), 6, 10)
    record = reads.get("a")
    assert record is not None
    assert (record.whole, record.has_seen(0, 4), record.has_seen(3, 7)) == (False, True, False)
    reads.saw("a", A, stat(10), 4, 99)
    record = reads.get("a")
    assert record is not None
    assert record.whole


def test_another_version_begins_anew() -> None:
    reads = ReadTracker()
    reads.saw("a", A, stat(10), 0, 10, digest="d")
    reads.saw("a", A, stat(10, "2"), 0, 5)
    record = reads.get("a")
    assert record is not None
    assert (record.version, record.whole, record.digest) == ("2", False, None)


def test_an_empty_file_is_seen_whole() -> None:
    reads = ReadTracker()
    reads.saw("a", A, stat(0), 0, 0)
    record = reads.get("a")
    assert record is not None
    assert record.whole


def test_what_was_written_is_known() -> None:
    reads = ReadTracker()
    reads.wrote("a", A, stat(3), b"abc")
    record = reads.get("a")
    assert record is not None
    assert (record.whole, record.digest) == (True, digest_of(b"abc"))


def test_forgetting_takes_what_is_below_along() -> None:
    reads = ReadTracker()
    for name in ("d/a", "d/b/c", "da"):
        reads.saw(name, StoragePath(f"/{name}"), stat(1), 0, 1)
    reads.forget("d", StoragePath("/d"))
    assert [name for name in ("d/a", "d/b/c", "da") if reads.get(name)] == ["da"]


def test_the_records_that_were_used_longest_ago_go_first() -> None:
    reads = ReadTracker(limit=2)
    for name in ("a", "b", "a", "c"):
        reads.saw(name, A, stat(1), 0, 1)
    assert [name for name in "abc" if reads.get(name)] == ["a", "c"]


def test_dump_and_load() -> None:
    reads, again = ReadTracker(), ReadTracker()
    reads.saw("a", A, stat(10), 2, 5, digest="d")
    again.load(json.loads(json.dumps(reads.dump())))
    assert again.get("a") == reads.get("a")


def test_what_cannot_be_loaded_is_left_out() -> None:
    reads = ReadTracker()
    reads.load({"a": None, "b": ["/b", "1", "x", [], None], "c": ["/c", "1", 3, [[0, 9], [2], "x", [5, 1]], None]})
    assert (reads.get("a"), reads.get("b")) == (None, None)
    record = reads.get("c")
    assert record is not None
    assert record.spans == ((0, 3),)


Case = tuple[int, list[tuple[int, int]], list[Replaced]]


@st.composite
def edits(draw: st.DrawFn) -> Case:
    size = draw(st.integers(0, 30))
    seen = draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size)), max_size=4))
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=6)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return size, seen, [Replaced(start, end, draw(st.integers(0, 5))) for start, end in pairs]


@given(edits())
def test_an_edit_moves_what_was_seen_and_shows_nothing_new(
    case: tuple[int, list[tuple[int, int]], list[Replaced]],
) -> None:
    size, seen, replaced = case
    reads = ReadTracker()
    old = [False] * size
    for start, end in seen:
        reads.saw("a", A, stat(size), start, end)
        old[start:end] = [True] * max(0, end - start)
    new: list[bool] = []
    position = 0
    for part in replaced:
        new += old[position : part.start] + [True] * part.length
        position = part.end
    new += old[position:]
    reads.edited("a", A, stat(len(new), "2"), seen_after(reads.get("a"), replaced), None)
    record = reads.get("a")
    assert record is not None
    assert [record.has_seen(at, at + 1) for at in range(len(new))] == new


def test_very_many_edits_leave_a_small_record() -> None:
    reads = ReadTracker()
    replaced = [Replaced(at, at + 1, 1) for at in range(0, 200_000, 2)]
    reads.edited("a", A, stat(200_000, "2"), seen_after(None, replaced), None)
    record = reads.get("a")
    assert record is not None
    assert 0 < len(record.spans) <= 1_000


def test_many_edits_of_a_file_that_was_read_in_many_parts() -> None:
    reads = ReadTracker()
    reads.load({"a": ["/a", "1", 400_000, [[at, at + 3] for at in range(0, 400_000, 4)], None]})
    replaced = [Replaced(at + 1, at + 2, 2) for at in range(0, 400_000, 4)]
    spans = seen_after(reads.get("a"), replaced)
    assert spans[:2] == ((0, 4), (5, 9))
