"""The path type: what it accepts, what it refuses, and what holds for every path."""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import InvalidPathError, StoragePath
from moorage.paths import is_segment

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(is_segment)
paths = st.lists(names, max_size=5).map(lambda parts: StoragePath("/" + "/".join(parts)))
anything = st.text(st.characters(), max_size=20)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", "/"), (".", "/"), ("/", "/"), ("//", "/"), ("a/b", "/a/b"), ("/a/b", "/a/b"), ("./a//b", "/a/b"),
        ("a/b/", "/a/b"), ("a/./b/.", "/a/b"), (" a ", "/ a "), ("A", "/A"), ("%41", "/%41"), ("a\\b", "/a\\b"),
        ("e\u0301", "/e\u0301"), ("..a", "/..a"), ("notes..md", "/notes..md"), ("...", "/..."), ("\x85", "/\x85"),
    ],
)  # fmt: skip
def test_what_is_accepted(written: str, text: str) -> None:
    assert str(StoragePath.parse(written)) == text


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("..", "segment 1"), ("a/../b", "segment 2"), ("/a//./..", "segment 2"), ("a\x00", "U\\+0000 at position 1"),
        ("\n", "U\\+000A at position 0"), ("ab\x7f", "U\\+007F at position 2"), ("a\ud800", "U\\+D800 at position 1"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_and_where(written: str, why: str) -> None:
    with pytest.raises(InvalidPathError, match=why) as raised:
        StoragePath.parse(written)
    assert raised.value.path == written
    assert isinstance(raised.value, ValueError)


@given(anything)
def test_parsing_is_total_and_idempotent(written: str) -> None:
    try:
        path = StoragePath.parse(written)
    except InvalidPathError:
        return
    assert str(StoragePath.parse(str(path))) == str(path)
    assert str(path).startswith("/")
    assert all(is_segment(part) for part in path.parts)
    str(path).encode()


@given(paths, names)
def test_a_child_has_its_parent_and_its_name(path: StoragePath, name: str) -> None:
    child = path.child(name)
    assert (child.parent, child.name, child.parts) == (path, name, (*path.parts, name))
    assert child == path / name == StoragePath(f"{path}/{name}")
    assert child.is_below(path)
    assert child.parents == (path, *path.parents)
    assert child.relative == str(child)[1:]
    assert path < child


@given(paths, paths, paths)
def test_rebasing_there_and_back_is_nothing(old: StoragePath, new: StoragePath, below: StoragePath) -> None:
    path = below.rebased(StoragePath("/"), old)
    assert path.is_within(old)
    moved = path.rebased(old, new)
    assert moved.is_within(new)
    assert moved.parts == (*new.parts, *below.parts)
    assert moved.rebased(new, old) == path


@given(paths, paths)
def test_within_is_by_whole_segments(path: StoragePath, other: StoragePath) -> None:
    assert path.is_within(other) == (path.parts[: len(other.parts)] == other.parts)
    if not path.is_within(other):
        with pytest.raises(ValueError, match="is not within"):
            path.rebased(other, StoragePath("/"))


@given(st.lists(paths, max_size=6))
def test_paths_sort_by_segments_and_are_values(many: list[StoragePath]) -> None:
    assert sorted(many) == sorted(many, key=lambda path: path.parts)
    for path in many:
        assert {path: 1}[StoragePath(str(path))] == 1
        assert pickle.loads(pickle.dumps(path)) == deepcopy(path) == path


def test_a_path_does_not_change() -> None:
    path = StoragePath("/a")
    with pytest.raises(AttributeError, match="immutable"):
        path._text = "/b"
    with pytest.raises(AttributeError, match="immutable"):
        del path._text
    for wrong in ("a/b", "", ".", "..", "a\n"):
        with pytest.raises(InvalidPathError):
            path.child(wrong)
