"""The suite is put together of topics that do not get in each other's way."""

from __future__ import annotations

import inspect
from collections import Counter

from moorage.testing import Harness, ProviderConformance


def test_no_two_topics_have_a_test_or_anything_else_of_one_name() -> None:
    topics = [each for each in ProviderConformance.__mro__ if Harness in each.__mro__ and each is not Harness]
    names = Counter(name for topic in topics for name in vars(topic) if not name.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_test_is_about_a_provider_and_says_what_holds() -> None:
    tests = [value for name, value in inspect.getmembers(ProviderConformance) if name.startswith("test_")]
    assert len(tests) > 100
    assert all(len(inspect.getsource(test).splitlines()) <= 40 for test in tests)
