"""``init``: a first ``moorage.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from moorage.cli.session import FILE_NAME, Session
from moorage.errors import PathExistsError

_CONTENT: Final = """\
# Which storage is mounted where. `moorage doctor` checks this file, `moorage providers` lists the kinds of storage
# and their options. "${NAME}" in a text is an environment variable; write $${ for the characters themselves.

# true allows a mount inside another one; the longest path wins.
nested = false

# A directory of this machine. A relative path is relative to the directory of this file.
[mounts."/files"]
provider = "local"
base_path = "./files"
# read_only = true
# display_name = "Files"
# description = "What the team works on"

# In memory, empty at every start.
[mounts."/scratch"]
provider = "memory"

# Secrets belong in the environment:
# [mounts."/corpus"]
# provider = "s3"
# bucket = "corpus"
# prefix = "2026"
# secret_access_key = "${S3_SECRET}"
# read_only = true
"""
_WITHOUT_LOCAL: Final = ('[mounts."/files"]', 'provider = "local"', 'base_path = "./files"')


def init(
    session: Session,
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Where; by default here.", show_default=False)
    ] = Path(),
) -> None:
    """Write a commented moorage.toml to start from. Never overwrites."""
    file = directory / FILE_NAME
    content = _CONTENT
    if "local" not in session.registry.providers:
        for line in _WITHOUT_LOCAL:
            content = content.replace(line, f"# {line}", 1)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(content)
    except FileExistsError:
        raise PathExistsError("exists already, and stays as it is", path=str(file)) from None
    session.output.record({"written": str(file)}, f"wrote {file}; next: moorage doctor")
