"""``cat`` and ``stat``."""

from __future__ import annotations

import base64
import re
import sys
from typing import Annotated, BinaryIO

import typer

from moorage.cli.arguments import WorkspacePaths
from moorage.cli.operand_loop import each
from moorage.cli.output import human_size, stat_document
from moorage.cli.session import Session
from moorage.models import Stat

_RANGE = re.compile(r"(\d*):(\d*)")


async def cat(
    session: Session,
    paths: WorkspacePaths,
    range_: Annotated[
        str, typer.Option("--range", metavar="START:END", help="Bytes from START up to, not including, END.")
    ] = ":",
) -> None:
    """Print files, byte for byte.

    With --json each file is one document with its content as text, or as base64 where it is not UTF-8.
    """
    start, end = _parse_range(range_)
    async with session.tree() as tree:

        async def show(path: str) -> None:
            async with tree.open_read(path, start, end) as reader:
                if session.output.as_json:
                    session.output.done({"path": path, **stat_document(reader.stat), **_content(await reader.read())})
                    return
                stdout = _binary_stdout()
                async for chunk in reader:
                    stdout.write(chunk)
                stdout.flush()

        await each(session, paths, show)


async def stat(session: Session, paths: WorkspacePaths) -> None:
    """Show what the store says of files and directories: kind, size, version, times."""
    async with session.tree() as tree:

        async def show(path: str) -> None:
            found = await tree.stat(path)
            session.output.record({"path": path, **stat_document(found)}, path)
            if not session.output.as_json:
                _print_fields(session, found)

        await each(session, paths, show)


def _print_fields(session: Session, found: Stat) -> None:
    for name, value in stat_document(found).items():
        if value is None:
            continue
        shown = f"{value} ({human_size(found.size)})" if name == "size" else str(value)
        if name == "mode" and found.mode is not None:
            shown = f"{found.mode:04o}"
        session.output.record({}, f"  {name:<12} {shown}")


def _parse_range(text: str) -> tuple[int, int | None]:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise typer.BadParameter("write it as START:END, either may be left out", param_hint="--range")
    return int(found[1] or 0), int(found[2]) if found[2] else None


def _content(data: bytes) -> dict[str, object]:
    try:
        return {"encoding": "utf-8", "content": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"encoding": "base64", "content": base64.b64encode(data).decode("ascii")}


def _binary_stdout() -> BinaryIO:
    sys.stdout.flush()
    return sys.stdout.buffer
