"""Which directories a store that has real ones is asked to remove along with a batch of keys."""

from __future__ import annotations

import pytest

from moorage_s3.deleting import emptied_directories


@pytest.mark.parametrize(
    ("keys", "directories"),
    [
        (["in/a/x", "in/a/b/c/y", "in/a_$folder$"], ["in/a/b/c/", "in/a/b/", "in/a/"]),
        (["in/a/x", "in/a/y"], []),
        (["in/a/", "in/a/b/x"], ["in/a/b/"]),
        (["x"], []),
        (["a/x", "b/y"], ["a/", "b/"]),
        (["ab/x", "ac/y"], ["ab/", "ac/"]),
    ],
)
def test_directories_between_the_keys_and_what_they_share(keys: list[str], directories: list[str]) -> None:
    assert sorted(emptied_directories(keys)) == sorted(directories)
    lengths = [len(name) for name in emptied_directories(keys)]
    assert lengths == sorted(lengths, reverse=True)
