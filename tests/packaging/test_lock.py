"""The locks: complete, hashed, and without the address of any index."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
SERVERS_LOCK = (ROOT / "requirements-servers.lock").read_text(encoding="utf-8")


def projects() -> list[Path]:
    found = [ROOT / "pyproject.toml", ROOT / "composite" / "pyproject.toml"]
    found += sorted(ROOT.glob("providers/*/pyproject.toml"))
    found += sorted(path for path in ROOT.glob("contrib/*/pyproject.toml") if path.parent.name != "_template")
    return found


PROJECTS = {tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]: path for path in projects()}


def wanted(path: Path) -> Iterator[Requirement]:
    """What one pyproject.toml asks of other people's packages, to run, build and develop; servers are apart."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    asked = [*data["build-system"]["requires"], *data["project"].get("dependencies", [])]
    extras = data["project"].get("optional-dependencies", {}).values()
    groups = [*extras, data.get("dependency-groups", {}).get("dev", [])]
    for group in groups:
        asked += [entry for entry in group if isinstance(entry, str)]
    for requirement in map(Requirement, asked):
        if requirement.name not in PROJECTS:
            yield requirement


def pins(lock: str = LOCK) -> dict[str, list[Version]]:
    """Every locked version by name; a name has two where platforms differ."""
    found: dict[str, list[Version]] = {}
    for name, version in re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^ ;\\]+)", lock, flags=re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(Version(version))
    return found


def applies(marker: Marker | None, extra: str) -> bool:
    return marker is None or marker.evaluate({"extra": extra})


@pytest.mark.parametrize("lock", [LOCK, SERVERS_LOCK], ids=["requirements", "servers"])
def test_names_no_index(lock: str) -> None:
    assert "://" not in lock
    assert not re.search(r"^\s*(--(?!hash=)|-\w )", lock, flags=re.MULTILINE), "the lock sets an option of an installer"
    assert " @ " not in lock


@pytest.mark.parametrize("lock", [LOCK, SERVERS_LOCK], ids=["requirements", "servers"])
def test_every_pin_has_a_hash(lock: str) -> None:
    blocks = re.split(r"\n(?=\S)", lock.strip())
    assert len(blocks) > 20
    bare = [block for block in blocks if "==" not in block.splitlines()[0] or "--hash=sha256:" not in block]
    assert bare == []


def test_pins_no_member() -> None:
    assert pins().keys().isdisjoint({canonicalize_name(name) for name in PROJECTS})


@pytest.mark.parametrize("project", PROJECTS)
def test_every_requirement_is_met(project: str) -> None:
    locked = pins()
    unmet: dict[str, list[str]] = {}
    for requirement in wanted(PROJECTS[project]):
        versions = locked.get(canonicalize_name(requirement.name), [])
        if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
            unmet[str(requirement)] = [str(version) for version in versions]
    assert unmet == {}, "run scripts/lock"


def test_the_servers_are_locked_apart() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = pins(SERVERS_LOCK)
    for requirement in map(Requirement, data["dependency-groups"]["servers"]):
        versions = locked.get(canonicalize_name(requirement.name), [])
        assert any(requirement.specifier.contains(version) for version in versions), f"{requirement}: run scripts/lock"


def test_locks_what_is_needed_and_nothing_else() -> None:
    """Follow the requirements through what is installed here; what other platforms alone need is not seen."""
    todo = [(r.name, frozenset(r.extras)) for path in PROJECTS.values() for r in wanted(path) if applies(r.marker, "")]
    seen = set(todo)
    while todo:
        name, extras = todo.pop()
        for requirement in map(Requirement, requires(name) or []):
            found = (requirement.name, frozenset(requirement.extras))
            if found not in seen and any(applies(requirement.marker, extra) for extra in ("", *extras)):
                seen.add(found)
                todo.append(found)
    needed = {canonicalize_name(name) for name, _ in seen}
    lines = re.findall(r"^([\w.-]+)==[^ ]+(?: ; ([^\\]+))?", LOCK, flags=re.MULTILINE)
    locked = {canonicalize_name(name) for name, marker in lines if applies(Marker(marker) if marker else None, "")}
    assert locked == needed, "run scripts/lock"


def test_distributions_share_one_version() -> None:
    versions = {
        name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"] for name, path in PROJECTS.items()
    }
    assert len(set(versions.values())) == 1, versions
