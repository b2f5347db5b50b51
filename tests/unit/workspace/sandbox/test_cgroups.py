"""Where control groups would be made, from what the kernel says; the files are real, the kernel behind them is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace.sandbox.cgroups import control_groups
from moorage_workspace.sandbox.limits import SandboxLimits

BOTH = SandboxLimits(processes=7, memory_bytes=1_000_000)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    proc = tmp_path / "proc"
    proc.mkdir()
    return proc


def say(proc: Path, memberships: str, *mounts: str) -> None:
    (proc / "cgroup").write_text(memberships)
    (proc / "mountinfo").write_text("".join(f"{mount}\n" for mount in mounts))


def test_controllers_apart(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "pids" / "app").mkdir(parents=True)
    (tmp_path / "memory" / "app").mkdir(parents=True)
    say(
        proc,
        "8:pids:/app\n4:memory:/app\n0::/\n",
        f"40 1 0:30 / {tmp_path}/pids rw shared:9 - cgroup cgroup rw,pids",
        f"41 1 0:31 / {tmp_path}/memory rw - cgroup cgroup rw,memory",
    )
    groups = {group.directory: (group.settings, set(group.holds)) for group in control_groups(BOTH, "box", proc=proc)}
    assert groups == {
        f"{tmp_path}/pids/app/box": ({"pids.max": "7"}, {"processes"}),
        f"{tmp_path}/memory/app/box": ({"memory.limit_in_bytes": "1000000"}, {"memory_bytes"}),
    }


def test_one_hierarchy_for_both(proc: Path, tmp_path: Path) -> None:
    own = tmp_path / "unified" / "app" / "leaf"
    own.mkdir(parents=True)
    (own.parent / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (own / "cgroup.subtree_control").write_text("\n")
    say(proc, "0::/app/leaf\n", f"40 1 0:30 / {tmp_path}/unified rw - cgroup2 cgroup rw,nsdelegate")
    [group] = control_groups(BOTH, "box", proc=proc)
    assert group.directory == str(own.parent / "box")
    assert group.settings == {"pids.max": "7", "memory.max": "1000000"}
    assert group.holds == {"processes", "memory_bytes"}


def test_nothing_is_handed_down(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "unified").mkdir()
    (tmp_path / "cgroup.subtree_control").write_text("pids memory")  # above the mount: not ours
    say(proc, "0::/\n", f"40 1 0:30 / {tmp_path}/unified rw - cgroup2 cgroup rw")
    assert control_groups(BOTH, "box", proc=proc) == ()


def test_a_part_of_the_hierarchy_is_mounted(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    say(
        proc,
        "8:pids:/docker/abc\n",
        f"40 1 0:30 /docker/abc {tmp_path}/pids rw - cgroup cgroup rw,pids",
    )
    [group] = control_groups(SandboxLimits(processes=7), "box", proc=proc)
    assert group.directory == f"{tmp_path}/pids/box"


def test_where_none_can_be_made_there_is_none(proc: Path, tmp_path: Path) -> None:
    say(proc, "8:pids:/gone\n", f"40 1 0:30 / {tmp_path}/pids rw - cgroup cgroup rw,pids")
    assert control_groups(BOTH, "box", proc=proc) == ()
    assert control_groups(BOTH, "box", proc=tmp_path / "nothing") == ()


def test_without_a_limit_there_is_no_group(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    say(proc, "8:pids:/\n", f"40 1 0:30 / {tmp_path}/pids rw - cgroup cgroup rw,pids")
    assert control_groups(SandboxLimits(processes=None), "box", proc=proc) == ()
