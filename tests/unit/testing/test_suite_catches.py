"""The suite fails for providers that are wrong, each time in the test that is about the mistake."""

from __future__ import annotations

import pytest
from tests.unit.testing.broken_providers import CAUGHT

pytest_plugins = ["pytester"]

HEADER = """
import pytest
from moorage import MemoryProvider
from moorage.testing import ProviderConformance
from tests.unit.testing import broken_providers
"""

CLASS = """
class Test{name}(ProviderConformance):
    shrinks, settling, keys = False, 0.05, 1_100

    @pytest.fixture
    def provider(self):
        return broken_providers.{name}()
"""

READ_ONLY = """
from moorage.testing import ReadOnlyConformance

class TestReadOnly(ReadOnlyConformance):
    async def poke(self, path, data):
        await self.inner.write(path, data)

    @pytest.fixture
    def provider(self):
        self.inner = MemoryProvider()
        return broken_providers.LetsAppendsThrough(self.inner)
"""

SOUND = """
class TestSound(ProviderConformance):
    keeps_content_in_process, keys = True, 1_100

    @pytest.fixture
    def provider(self):
        return MemoryProvider()
"""


def test_every_mistake_is_noticed_by_the_test_that_is_about_it(pytester: pytest.Pytester) -> None:
    source = HEADER + "".join(CLASS.format(name=broken.__name__) for broken in CAUGHT)
    file = pytester.makepyfile(test_broken=source)
    wanted = [(broken.__name__, test) for broken, tests in CAUGHT.items() for test in tests]
    chosen = [f"{file}::Test{name}::{test}" for name, test in wanted]
    outcome = pytester.inline_run("-p", "no:cacheprovider", "--tb=no", "-q", *chosen)
    passed, skipped, failed = outcome.listoutcomes()
    noticed = {report.nodeid.partition("::")[2] for report in failed}
    assert {f"Test{name}::{test}" for name, test in wanted} - noticed == set()
    assert (passed, skipped) == ([], [])


def test_the_same_tests_pass_for_a_provider_without_mistakes(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(test_sound=HEADER + SOUND)
    tests = sorted({test for tests in CAUGHT.values() for test in tests})
    outcome = pytester.inline_run("-p", "no:cacheprovider", "-q", *(f"{file}::TestSound::{test}" for test in tests))
    outcome.assertoutcome(passed=len(tests))


def test_a_read_only_wrapper_with_a_hole_is_noticed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_read_only=HEADER + READ_ONLY)
    _, skipped, failed = pytester.inline_run("-p", "no:cacheprovider", "--tb=no", "-q").listoutcomes()
    assert skipped == []
    assert {report.nodeid.rpartition("::")[2] for report in failed} == {
        "test_every_mutating_primitive_is_refused",
        "test_every_mutating_method_is_refused_whatever_else_is_wrong",
    }
