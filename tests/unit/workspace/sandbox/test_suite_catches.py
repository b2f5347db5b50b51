"""The conformance suite fails for sandboxes that are wrong, each time in the test that is about the mistake."""

from __future__ import annotations

import pytest
from tests.unit.workspace.sandbox.broken_sandboxes import CAUGHT

from moorage_workspace.testing import sleepers

pytest_plugins = ["pytester"]

HEADER = """
from moorage_workspace import LocalSandbox
from moorage_workspace.testing import SandboxConformance
from tests.unit.workspace.sandbox import broken_sandboxes
"""

BROKEN = """
class Test{name}(SandboxConformance):
    isolated, network, read_only_mounts = {isolated}, {network}, True

    def make_sandbox(self, directory, *, timeout):
        return broken_sandboxes.{name}(directory, timeout=timeout{isolation})

    def shell_path(self, path):
        return path if {bwrap} else f".{{path}}"
"""

MUTE = """
class TestMute(SandboxConformance):
    isolated, background, mounts, read_only_mounts, network = False, False, False, False, True

    def make_sandbox(self, directory, *, timeout):
        return LocalSandbox(directory, timeout=timeout)
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays is waited for in vain; the suite runs in this process, so it must be as patient again afterwards."""
    monkeypatch.setattr(sleepers, "_PATIENCE", 2.0)


BWRAPPED = {"MountsWritable"}


def source(name: str) -> str:
    bwrap = name in BWRAPPED
    isolation = ", isolation='bwrap'" if bwrap else ""
    isolated = bwrap or name == "ClaimsIsolation"
    return BROKEN.format(name=name, isolated=isolated, network=not bwrap, bwrap=bwrap, isolation=isolation)


def outcomes(pytester: pytest.Pytester, *chosen: str) -> tuple[set[str], set[str], int]:
    """The names of the tests that passed and that failed, and how many were skipped."""
    passed, skipped, failed = pytester.inline_run("-p", "no:cacheprovider", "--tb=no", "-q", *chosen).listoutcomes()
    names = [{report.nodeid.partition("::")[2] for report in reports} for reports in (passed, failed)]
    return names[0], names[1], len(skipped)


def test_every_mistake_is_noticed_by_the_test_that_is_about_it(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(test_broken=HEADER + "".join(source(broken.__name__) for broken in CAUGHT))
    wanted = {f"Test{broken.__name__}::{test}" for broken, tests in CAUGHT.items() for test in tests}
    passed, failed, skipped = outcomes(pytester, *(f"{file}::{name}" for name in sorted(wanted)))
    assert (wanted - failed, passed, skipped) == (set(), set(), 0)


def test_a_wrong_declaration_is_noticed(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(test_mute=HEADER + MUTE)
    wanted = {
        "TestMute::test_background_processes_are_there_as_declared",
        "TestMute::test_mounts_are_there_as_declared",
    }
    _, failed, _ = outcomes(pytester, *(f"{file}::{name}" for name in sorted(wanted)))
    assert failed == wanted


def test_what_is_declared_missing_is_not_collected(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(test_mute=HEADER + MUTE)
    collected = pytester.inline_run("-p", "no:cacheprovider", "--collect-only", "-q", str(file))
    names = {item.name for call in collected.getcalls("pytest_itemcollected") for item in [call.item]}
    assert "test_a_signal_is_128_and_its_number[TERM-143]" in names
    assert not {name for name in names if name.startswith(("test_stopping_ends_them_all", "test_files_go_both_ways"))}
