"""One key for one path, at most one path for one key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import InvalidPathError, NameTooLongError, StoragePath
from moorage.objects.keys import FOLDER_SUFFIX, KeyMap
from moorage.paths import is_segment

segments = st.text(min_size=1, max_size=8).filter(is_segment)
paths = st.lists(segments, min_size=1, max_size=4).map(lambda parts: StoragePath("/" + "/".join(parts)))
tails = st.one_of(
    st.text(alphabet="ab./\\%#?[\n\x7f é_$", max_size=12), st.lists(st.sampled_from(["", ".", "..", "a"])).map("/".join)
)


@given(paths, st.sampled_from(["", "2026", "/a/b/"]))
def test_a_path_survives_the_way_to_its_key_and_back(path: StoragePath, prefix: str) -> None:
    keys = KeyMap(prefix, 1024)
    located = keys.locate(keys.key(path), 1)
    assert located.path == path
    assert not located.is_marker


@given(tails, st.integers(0, 1))
def test_a_key_stands_for_the_path_that_makes_it_or_for_none(tail: str, size: int) -> None:
    keys = KeyMap("base", 1024)
    key = f"base/{tail}"
    located = keys.locate(key, size)
    if located.path is None or located.path.is_root:
        return
    made = keys.directory(located.path) if located.is_marker else keys.key(located.path)
    assert made == key or (located.is_marker and key == keys.key(located.path) + FOLDER_SUFFIX)


@given(st.lists(paths, min_size=2, max_size=2, unique=True))
def test_two_paths_never_share_a_key(two: list[StoragePath]) -> None:
    keys = KeyMap("", 1024)
    assert keys.key(two[0]) != keys.key(two[1])


@pytest.mark.parametrize(
    "key",
    [
        "a//b",
        "/lead",
        "//",
        "/",
        "./a",
        "a/./b",
        "../a",
        "a/..",
        "a/../b",
        "a\nb",
        "a\x7f",
        "a/\x00/b",
        "a//",
        "\udc80",
    ],
)
def test_an_odd_key_stands_for_no_path(key: str) -> None:
    assert KeyMap("", 1024).locate(key, 1).path is None


@pytest.mark.parametrize(
    "name",
    [
        "a?versionId=1",
        "a#b",
        "%41",
        "a+b",
        "[br]",
        "*",
        "{x}",
        "a\\b",
        " lead",
        "trail ",
        "é",
        "e\u0301",
        "🙂",
        "'~&=",
        "...",
    ],
)
def test_names_of_ordinary_characters_are_taken_literally(name: str) -> None:
    keys = KeyMap("", 1024)
    assert keys.key(StoragePath("/" + name)) == name
    assert keys.locate(name, 1).path == StoragePath("/" + name)


def test_a_marker_with_content_is_an_odd_key() -> None:
    keys = KeyMap("", 1024)
    assert keys.locate("a/", 0).is_marker
    assert keys.locate("a/", 1).path is None
    assert keys.locate("a" + FOLDER_SUFFIX, 0).path == StoragePath("/a")
    assert keys.locate("a" + FOLDER_SUFFIX, 1).path == StoragePath("/a" + FOLDER_SUFFIX)
    assert not keys.locate(FOLDER_SUFFIX, 0).is_marker


def test_lengths_count_in_bytes_and_with_the_prefix() -> None:
    keys = KeyMap("ab", 1024)
    assert len(keys.key(StoragePath("/" + "x" * 1021)).encode()) == 1024
    with pytest.raises(NameTooLongError) as caught:
        keys.key(StoragePath("/" + "é" * 511))
    assert caught.value.path == "/" + "é" * 511
    with pytest.raises(NameTooLongError):
        KeyMap("x" * 1024, 1024)


def test_names_of_markers_are_refused_for_new_files() -> None:
    with pytest.raises(InvalidPathError) as caught:
        KeyMap("", 1024).new_key(StoragePath("/a" + FOLDER_SUFFIX))
    assert caught.value.path == "/a_$folder$"


@pytest.mark.parametrize("prefix", ["a/../b", "a\n"])
def test_a_prefix_is_a_path(prefix: str) -> None:
    with pytest.raises(InvalidPathError):
        KeyMap(prefix, 1024)
