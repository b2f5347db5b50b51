"""The arguments that several commands share, in the same words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from moorage.cli.completion import complete_path
from moorage.models import UNSET, Unset

WorkspacePath = Annotated[str, typer.Argument(metavar="PATH", help="Workspace path.", autocompletion=complete_path)]
WorkspacePaths = Annotated[
    list[str], typer.Argument(metavar="PATH", help="Workspace paths.", autocompletion=complete_path)
]
ExpectedVersion = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Refuse unless the file has this version; `stat` shows it.")
]
ExpectedTime = Annotated[
    str | None, typer.Option(metavar="TIME", help="Refuse unless the file has this ISO 8601 time; `stat` shows it.")
]


def given_version(version: str | None) -> str | Unset:
    """An option that was left out is no expectation."""
    return UNSET if version is None else version


def given_time(time: str | None) -> datetime | Unset:
    """The time that was given, UTC where it names no zone."""
    return UNSET if time is None else parse_time(time, "--expected-mtime")


def parse_time(text: str, option: str, *, or_else: str = "") -> datetime:
    """An ISO 8601 date or time, UTC where it names no zone; ``or_else`` is what else the option takes."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        wanted = f"neither {or_else} nor an" if or_else else "no"
        raise typer.BadParameter(f"{text!r} is {wanted} ISO 8601 date or time", param_hint=option) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
