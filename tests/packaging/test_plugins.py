"""Ours register as a stranger's package does, and an installed plug-in that is broken takes nothing down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from moorage import ProviderOptions, Registry

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [ROOT / "composite", *sorted(ROOT.glob("providers/*"))]


def entry_points(project: Path) -> dict[str, str]:
    data = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, str] = data["project"].get("entry-points", {}).get("moorage", {})
    return found


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_every_provider_of_ours_is_found_through_its_entry_point(project: Path) -> None:
    registry = Registry()
    names = entry_points(project)
    assert names
    for name in names:
        assert name not in registry.broken
        assert issubclass(registry.options(name), ProviderOptions)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_plugin_module_is_cheap_to_import(project: Path) -> None:
    heavy = ("pydantic", "typer", "rich", "fsspec", "aiobotocore", "s3fs", "gcsfs")
    for module in entry_points(project).values():
        code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
        assert subprocess.check_output([sys.executable, "-c", code]).strip() == b"[]"


@pytest.fixture
def install(tmp_path: Path) -> Any:
    """Install a package of one module, as a directory on the path with its metadata."""

    def make(name: str, module: str) -> None:
        (tmp_path / f"{name}_plugin.py").write_text(module)
        info = tmp_path / f"moorage_{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: moorage-{name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[moorage]\n{name} = {name}_plugin\n")

    return make


def moorage(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import sys; from moorage.cli import main; sys.exit(main())", *arguments],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_broken_packages_are_named_and_the_others_work(tmp_path: Path, install: Any) -> None:
    install("unimportable", "import no_such_module_anywhere\n")
    install("unparsable", "def broken(:\n")
    install("exiting", "raise SystemExit('bye')\n")
    install("hookless", "")
    install(
        "taking",
        "from moorage import ProviderSpec, hookimpl\n"
        "@hookimpl\n"
        "def moorage_providers():\n"
        "    return [ProviderSpec('memory', 'Mine now', 'a:B')]\n",
    )
    install(
        "fine",
        "from moorage import ProviderSpec, hookimpl\n"
        "@hookimpl\n"
        "def moorage_providers():\n"
        "    return [ProviderSpec('fine', 'A stranger', 'moorage.memory_options:MemoryOptions')]\n",
    )
    listed = moorage(tmp_path, "providers", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    documents = [json.loads(line) for line in listed.stdout.splitlines()]
    schemes = {document["scheme"] for document in documents if "scheme" in document}
    broken = {document["broken"]: document["reason"] for document in documents if "broken" in document}
    assert {"memory", "fine"} <= schemes
    assert {name: reason.split(":")[0] for name, reason in broken.items()} == {
        "exiting": "cannot import exiting_plugin",
        "hookless": "implements no hook",
        "taking": "the provider 'memory' is taken already",
        "unimportable": "cannot import unimportable_plugin",
        "unparsable": "cannot import unparsable_plugin",
    }
    assert moorage(tmp_path, "ls", "--mount", "/a=fine://", "--mount", "/b=memory://").stdout == "a/\nb/\n"
    assert moorage(tmp_path, "doctor", "--mount", "/a=fine://").returncode == 1
