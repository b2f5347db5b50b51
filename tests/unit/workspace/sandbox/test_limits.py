"""What limits become."""

from __future__ import annotations

import pytest

from moorage import InvalidArgumentError
from moorage_workspace.sandbox.limits import SandboxLimits

NAMES = ["processes", "memory_bytes", "cpu_seconds", "file_bytes", "open_files"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_is_positive(name: str, value: int) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        SandboxLimits(**{name: value})


def test_each_is_a_resource_limit() -> None:
    limits = SandboxLimits(processes=1, memory_bytes=2, cpu_seconds=3, file_bytes=4, open_files=5)
    assert limits.resources() == {
        "RLIMIT_CORE": 0,
        "RLIMIT_NPROC": 1,
        "RLIMIT_DATA": 2,
        "RLIMIT_CPU": 3,
        "RLIMIT_FSIZE": 4,
        "RLIMIT_NOFILE": 5,
    }


def test_what_is_not_limited_is_left_alone() -> None:
    assert SandboxLimits(processes=None).resources() == {"RLIMIT_CORE": 0}


def test_how_each_holds() -> None:
    limits = SandboxLimits(processes=1, memory_bytes=2, cpu_seconds=3)
    grouped = frozenset({"processes", "memory_bytes"})
    assert limits.in_force(grouped, root=True) == {
        "processes": "cgroup",
        "memory_bytes": "cgroup",
        "cpu_seconds": "rlimit",
    }
    assert limits.in_force(frozenset(), root=True)["processes"] == "none"
    assert limits.in_force(frozenset(), root=False)["processes"] == "rlimit"
