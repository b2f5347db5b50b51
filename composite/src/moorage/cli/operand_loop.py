"""Several operands: what becomes of one does not keep the others waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import typer

from moorage.cli.failures import worst
from moorage.cli.session import Session
from moorage.errors import MoorageError


async def each(session: Session, paths: Iterable[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Do all of them, one after the other, and report those that failed; the exit code is that of the worst failure."""
    codes: list[int] = []
    for path in paths:
        try:
            await work(path)
        except MoorageError as error:
            codes.append(session.problem(error))
    if codes:
        raise typer.Exit(worst(codes))
