"""Names without secrets, and the order that they are listed in."""

from __future__ import annotations

import pytest

from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.shown_names import ShownNames

SECRET = "LITERALsecret77"


@pytest.fixture
def names() -> ShownNames:
    return ShownNames(Gate([SECRET]).redact)


def test_each_name_is_shown_by_itself(names: ShownNames) -> None:
    assert names.of_path(f"a/k-{SECRET}/password=hunter2secret9") == f"a/k-{MASK}/password={MASK}"
    assert names.of_path("a/-password hunter2secret9") == f"a/-password {MASK}"
    assert names.of_path("") == ""


def test_of_many_paths_those_names_are_told_that_hide_something(names: ShownNames) -> None:
    assert names.masked(["a/b", "c\nd", "-----BEGIN PRIVATE KEY-----", "MIIEvQ", ""]) == {}
    assert names.masked([f"a/{SECRET}", f"b\n{SECRET}"]) == {SECRET: MASK}


def test_of_a_list_it_is_told_whether_anything_is_hidden(names: ShownNames) -> None:
    assert names.show("a/b\nLITERAL/c\n")
    assert not names.show(f"a/b\nx/k-{SECRET}\n")
    assert not names.show("a/-password hunter2secret9\n")


def test_the_order_is_by_what_is_shown(names: ShownNames) -> None:
    paths = [f"{SECRET}/b", "LITERALs", "LITERALz", "a", "[[", f"{SECRET}2/a"]
    expected = ["LITERALs", "LITERALz", "[[", f"{SECRET}2/a", f"{SECRET}/b", "a"]
    assert sorted(paths, key=names.ordering(paths)) == sorted(expected, key=names.ordering(paths))
    shown = [names.of_path(path) for path in sorted(paths, key=names.ordering(paths))]
    assert shown == sorted(shown)


def test_what_is_remembered_is_bounded(names: ShownNames) -> None:
    for number in range(25_000):
        names.of_name(str(number))
    assert len(names._known) <= 10_000
