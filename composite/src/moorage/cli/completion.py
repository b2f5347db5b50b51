"""Workspace paths for the shell's completion. Silent about everything that goes wrong: a shell is waiting."""

from __future__ import annotations

from pathlib import Path

import anyio
import typer

from moorage.cli.output import Output, plain
from moorage.cli.session import Session
from moorage.errors import MoorageError
from moorage.paths import StoragePath
from moorage.registry import Registry
from moorage.streams import closing

_TIME_LIMIT = 2.0
_MOST = 200


def complete_path(ctx: typer.Context, incomplete: str) -> list[str]:
    """The entries of the directory being typed that begin with what is typed of the name."""
    params = ctx.find_root().params
    config: str | Path | None = params.get("config")
    session = Session(Registry(), Output(as_json=False))
    try:
        session.configure(Path(config) if config else None, params.get("mount") or (), debug=False)
        return anyio.run(_entries, session, incomplete)
    except (MoorageError, OSError, TimeoutError, ExceptionGroup):
        return []


async def _entries(session: Session, incomplete: str) -> list[str]:
    directory, slash, name = incomplete.rpartition("/")
    found: list[str] = []
    with anyio.fail_after(_TIME_LIMIT):
        async with session.tree() as tree, closing(tree.scan_dir(StoragePath.parse(directory))) as entries:
            async for entry in entries:
                if entry.path is None or not entry.name.startswith(name) or plain(entry.name) != entry.name:
                    continue
                found.append(f"{directory}{slash or '/'}{entry.name}{'/' if entry.is_dir else ''}")
                if len(found) == _MOST:
                    break
    return found
