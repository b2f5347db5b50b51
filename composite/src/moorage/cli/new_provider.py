"""``new-provider``: the template of a provider's package, under a name of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

import typer

from moorage.cli.session import Session
from moorage.errors import InvalidArgumentError, PathExistsError

_NAME: Final = re.compile(r"[a-z]([a-z0-9_-]*[a-z0-9])?")
_PLACEHOLDER: Final = re.compile("moorage_example|Example|example")
_OURS: Final = (
    "agents", "core", "fuse", "gcs", "gitlab", "local", "mcp", "memory", "moorage", "s3", "workspace"
)  # fmt: skip
"""Packages of this project are called moorage-NAME, installed or not."""
_LEFT_OUT: Final = ("__pycache__", ".pytest_cache", ".hypothesis", ".venv", "dist")


def new_provider(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the provider: lower-case letters, digits, - and _.")],
    directory: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Where; by default moorage-NAME here.", show_default=False)
    ] = None,
) -> None:
    """Write the package of a new provider: it installs, registers and passes the conformance suite as it comes."""
    if _NAME.fullmatch(name) is None:
        raise InvalidArgumentError(f"{name!r} is no name for a provider: it must match {_NAME.pattern}")
    if (scheme := _scheme(name)) in _OURS:
        raise InvalidArgumentError(f"{scheme!r} is a name of this project; choose another")
    if scheme in session.registry.providers:
        raise InvalidArgumentError(f"a provider {scheme!r} is installed already; choose another name")
    target = directory or Path(f"moorage-{scheme}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PathExistsError("exists already, and stays as it is", path=str(target))
    written = [_write(source, target / _renamed(place, name), name) for place, source in _template_files()]
    session.output.record(
        {"directory": str(target), "files": [str(file) for file in written]},
        f"wrote {len(written)} files to {target}; next: pip install -e '{target}[test]' && pytest {target}",
    )


def _template_files() -> Iterator[tuple[str, Traversable]]:
    """Every file of the template, with its place in it."""
    pending = [("", resources.files("moorage.cli") / "template")]
    while pending:
        place, directory = pending.pop()
        for found in directory.iterdir():
            below = f"{place}{found.name}"
            if found.name in _LEFT_OUT:
                continue
            if found.is_dir():
                pending.append((f"{below}/", found))
            else:
                yield below, found


def _write(source: Traversable, target: Path, name: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("x", encoding="utf-8") as file:
        file.write(_renamed(source.read_text(encoding="utf-8"), name))
    return target


def _renamed(text: str, name: str) -> str:
    """``text`` with the template's name replaced, each time in the spelling of the place."""
    spelled = {
        "moorage_example": f"moorage_{_scheme(name).replace('-', '_')}",
        "Example": "".join(part.capitalize() for part in re.split("[-_]+", name)),
        "example": _scheme(name),
    }
    return _PLACEHOLDER.sub(lambda found: spelled[found[0]], text)


def _scheme(name: str) -> str:
    return name.replace("_", "-")
