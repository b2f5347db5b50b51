"""Control groups for a sandbox, where this process may make them.

A command makes the sandbox's group as it enters, and its supervisor removes it when it was the last one in: nothing is
left behind, whatever becomes of this process.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moorage_workspace.sandbox.limits import SandboxLimits

_CONTROLLERS: Final = {"processes": "pids", "memory_bytes": "memory"}
_ENTER: Final = 'echo 0 > "$0/cgroup.procs"'


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A directory to make, and the files in it to set before a process enters."""

    directory: str
    settings: dict[str, str]
    holds: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """Where this process is in one mounted hierarchy."""

    parent: Path
    unified: bool


def control_groups(limits: SandboxLimits, name: str, *, proc: Path = Path("/proc/self")) -> tuple[ControlGroup, ...]:
    """The groups that hold these limits; without those that cannot be made here, which was tried."""
    hierarchies = _hierarchies(proc)
    groups: list[ControlGroup] = []
    for limit, controller in _CONTROLLERS.items():
        value: int | None = getattr(limits, limit)
        for hierarchy in hierarchies.get(controller, ()) if value is not None else ():
            group = ControlGroup(
                str(hierarchy.parent / name), _settings(controller, str(value), hierarchy), frozenset({limit})
            )
            if _works(group):
                groups.append(group)
                break
    return _together(groups)


def remove_groups(groups: Iterable[ControlGroup]) -> None:
    """Remove those that are empty and still there, because the supervisor of the last command in it was killed."""
    for group in groups:
        with suppress(OSError):
            os.rmdir(group.directory)


def _settings(controller: str, value: str, hierarchy: _Hierarchy) -> dict[str, str]:
    if controller == "pids":
        return {"pids.max": value}
    if hierarchy.unified:
        swap = {"memory.swap.max": "0"} if (hierarchy.parent / "memory.swap.max").exists() else {}
        return {"memory.max": value, **swap}
    swap = {"memory.memsw.limit_in_bytes": value} if (hierarchy.parent / "memory.memsw.limit_in_bytes").exists() else {}
    return {"memory.limit_in_bytes": value, **swap}


def _together(groups: list[ControlGroup]) -> tuple[ControlGroup, ...]:
    """One group a directory: the unified hierarchy has both controllers in one."""
    merged: dict[str, ControlGroup] = {}
    for group in groups:
        before = merged.get(group.directory, ControlGroup(group.directory, {}, frozenset()))
        merged[group.directory] = ControlGroup(
            group.directory, {**before.settings, **group.settings}, before.holds | group.holds
        )
    return tuple(merged.values())


def _works(group: ControlGroup) -> bool:
    """Really make it and enter it once, under another name."""
    trial = Path(f"{group.directory}-trial")
    try:
        trial.mkdir(exist_ok=True)
        for name, value in group.settings.items():
            (trial / name).write_text(value)
        done = subprocess.run(  # noqa: S603 (our own words)
            ["/bin/sh", "-c", _ENTER, str(trial)], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return done.returncode == 0
    except OSError:
        return False
    finally:
        with suppress(OSError):
            trial.rmdir()


def _hierarchies(proc: Path) -> dict[str, list[_Hierarchy]]:
    """By controller, the places to try, best first."""
    found: dict[str, list[_Hierarchy]] = {}
    try:
        memberships = (proc / "cgroup").read_text().splitlines()
        mounts = list(_mounts((proc / "mountinfo").read_text()))
    except OSError:
        return found
    for line in memberships:
        _, names, path = line.split(":", 2)
        for kind, root, point, options in mounts:
            if kind == "cgroup" and names and set(names.split(",")) <= options:
                own = _Hierarchy(_below(point, root, path), unified=False)
                for controller in names.split(","):
                    found.setdefault(controller, []).append(own)
            elif kind == "cgroup2" and not names:
                own_directory = _below(point, root, path)
                for parent in dict.fromkeys((own_directory, own_directory.parent)):
                    for controller in _handed_down(parent, point):
                        found.setdefault(controller, []).append(_Hierarchy(parent, unified=True))
    return found


def _handed_down(directory: Path, point: Path) -> list[str]:
    """The controllers that groups below this one have."""
    if not directory.is_relative_to(point):
        return []
    with suppress(OSError):
        return (directory / "cgroup.subtree_control").read_text().split()
    return []


def _mounts(text: str) -> Iterator[tuple[str, str, Path, set[str]]]:
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        columns = fields.split(" ")
        yield kind, columns[3], Path(columns[4]), set(options.split(","))


def _below(point: Path, root: str, path: str) -> Path:
    """A group's directory, also where only part of the hierarchy is mounted."""
    relative = os.path.relpath(path, root)
    return point if relative.startswith("..") else point / relative
