"""`moorage new-provider NAME`: what it writes installs, registers and passes the conformance suite as it comes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from moorage import Registry
from moorage.cli import main

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program away from this project's environment, and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MOORAGE_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(project: Path, directory: Path) -> Path:
    before = set(directory.glob("*.whl"))
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory, cwd=project)
    [wheel] = set(directory.glob("*.whl")) - before
    return wheel


def install(python: Path, wheels: Path, *requirements: str) -> None:
    """Install from wheels on this disk, checking that every declared dependency is met, without the network."""
    if uv := shutil.which("uv"):
        run(uv, "pip", "install", "-q", "--offline", "--no-index", "--find-links", wheels, "--python", python,
            *requirements, cwd=wheels)  # fmt: skip
    else:
        run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-input",
            "--disable-pip-version-check", "--root-user-action", "ignore", "--find-links", wheels, *requirements,
            cwd=wheels)  # fmt: skip


def third_parties(distribution: str, extras: frozenset[str]) -> Iterator[importlib.metadata.Distribution]:
    """What a distribution of ours needs of other people's, at any depth."""
    seen: set[tuple[str, frozenset[str]]] = set()
    pending = [(distribution, extras)]
    while pending:
        name, wanted = pending.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found = importlib.metadata.distribution(name)
        if not name.startswith("moorage"):
            yield found
        for requirement in map(Requirement, found.requires or ()):
            environments = [{"extra": extra} for extra in ("", *wanted)]
            if requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments):
                pending.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))


def fresh_environment(directory: Path) -> Path:
    """An environment with the third parties that core declares, linked rather than downloaded, and nothing else."""
    venv.create(directory, symlinks=True, with_pip=False)
    variables = {"base": str(directory), "platbase": str(directory)}
    packages = Path(sysconfig.get_path("purelib", "venv", variables))
    for distribution in third_parties("moorage-core", frozenset({"cli", "testing"})):
        tops = {Path(file).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
        for top in tops:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))))
    return directory / "bin"


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Path]:
    """Where the generated suite keeps its databases: in memory if there is room, as each commit waits for the disk."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 << 30:
        with TemporaryDirectory(prefix="moorage-test-", dir=memory) as directory:
            yield Path(directory)
    else:
        yield tmp_path


def test_what_it_writes_passes_in_an_environment_of_its_own(tmp_path: Path, databases: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(ROOT / "composite", wheels)
    programs = fresh_environment(tmp_path / "venv")
    install(programs / "python", wheels, "moorage-core[cli,testing]")

    run(programs / "moorage", "new-provider", "acme", cwd=tmp_path)
    package = tmp_path / "moorage-acme"
    build_wheel(package, wheels)
    install(programs / "python", wheels, "moorage-acme[test]")

    listed = [json.loads(line) for line in run(programs / "moorage", "providers", "--json", cwd=tmp_path).splitlines()]
    assert {document["scheme"] for document in listed} == {"acme", "memory"}
    mount = f"/data=acme://{tmp_path}/data.sqlite"
    run(programs / "moorage", "write", "/data/a/x", "--text", "one", "--mount", mount, cwd=tmp_path)
    assert run(programs / "moorage", "cat", "/data/a/x", "--mount", mount, cwd=tmp_path) == "one"
    run(programs / "moorage", "doctor", "--mount", mount, cwd=tmp_path)

    options = ("-q", "-p", "no:cacheprovider", f"--basetemp={databases / 'suite'}")
    report = run(programs / "python", "-m", "pytest", *options, cwd=package)
    passed = re.search(r"(\d+) passed", report)
    assert passed is not None
    assert int(passed[1]) > 100
    assert "moorage_acme" in run(programs / "python", "-c", "import moorage_acme; print(moorage_acme)", cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "directory", "module", "scheme", "title"),
    [
        ("acme", "moorage-acme", "moorage_acme", "acme", "Acme"),
        ("acme-cloud", "moorage-acme-cloud", "moorage_acme_cloud", "acme-cloud", "AcmeCloud"),
        ("acme_cloud2", "moorage-acme-cloud2", "moorage_acme_cloud2", "acme-cloud2", "AcmeCloud2"),
    ],
)
def test_the_name_is_replaced_everywhere(
    name: str, directory: str, module: str, scheme: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-provider", name]) == 0
    package = tmp_path / directory
    files = [file for file in package.rglob("*") if file.is_file()]
    assert {str(file.relative_to(package)) for file in files} >= {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        f"src/{module}/plugin.py",
        "tests/test_conformance.py",
    }
    for file in files:
        assert "example" not in f"{file}{file.read_text()}".lower().replace(str(tmp_path).lower(), "")
    options = (package / "src" / module / "options.py").read_text()
    assert f"class {title}Options(ProviderOptions)" in options
    plugin = (package / "src" / module / "plugin.py").read_text()
    assert f'ProviderSpec("{scheme}", ' in plugin
    assert f'"{module}.options:{title}Options"' in plugin


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "README.md").write_text("mine")
    assert main(["new-provider", "acme", "--directory", str(target)]) == 1
    assert [file.read_text() for file in target.iterdir()] == ["mine"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["new-provider", "acme", "--directory", str(empty)]) == 0


@pytest.mark.parametrize("name", ["Acme", "1acme", "a.b", "acme-", "../acme", "", "äcme", "memory"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    assert main(["new-provider", name, "--directory", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "name", ["agents", "core", "fuse", "gcs", "gitlab", "local", "mcp", "memory", "moorage", "s3", "workspace"]
)
def test_the_names_of_this_project_are_refused_installed_or_not(name: str, tmp_path: Path) -> None:
    nothing = Registry(installed=())
    assert main(["new-provider", name, "--directory", str(tmp_path / "new")], registry=nothing) == 2
    assert not (tmp_path / "new").exists()


def test_no_package_of_this_project_has_a_name_that_is_free(tmp_path: Path) -> None:
    for project in (ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml"), *ROOT.glob("*/*/pyproject.toml")):
        name = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"].removeprefix("moorage-")
        if name != "example":
            assert main(["new-provider", name, "--directory", str(tmp_path)], registry=Registry(installed=())) == 2


def test_the_conformance_file_is_short() -> None:
    lines = (ROOT / "contrib" / "_template" / "tests" / "test_conformance.py").read_text().splitlines()
    assert len(lines) <= 30
