"""``write``, ``mkdir`` and ``rm``."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from stat import S_ISREG
from typing import Annotated

import anyio
import typer

from moorage.cli.arguments import (
    ExpectedTime,
    ExpectedVersion,
    WorkspacePath,
    WorkspacePaths,
    given_time,
    given_version,
)
from moorage.cli.operand_loop import each
from moorage.cli.output import stat_document
from moorage.cli.progress import counted, progress_bar, spinner
from moorage.cli.session import Session
from moorage.errors import PathIsDirectoryError

_CHUNK = 1 << 20


async def write(
    session: Session,
    path: WorkspacePath,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="The content; by default standard input.")] = None,
    append: Annotated[
        bool, typer.Option("--append", "-a", help="Add to the end; standard input is held in memory first.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite/--no-overwrite", help="Replace what is there.")] = True,
    parents: Annotated[bool, typer.Option("--parents/--no-parents", help="Make missing directories.")] = True,
    expected_version: ExpectedVersion = None,
    expected_mtime: ExpectedTime = None,
    media_type: Annotated[str | None, typer.Option(metavar="TYPE", help="Like text/csv, where it is kept.")] = None,
) -> None:
    """Write a file, all or nothing, from standard input or --text, and print its new version.

    --expected-version refuses, with exit code 3, when the file changed since it was seen.
    """
    if append and (not overwrite or media_type is not None):
        raise typer.BadParameter("goes with neither --no-overwrite nor --media-type", param_hint="--append")
    version, mtime = given_version(expected_version), given_time(expected_mtime)
    given = None if text is None else _encoded(text)
    async with session.tree() as tree:
        if append:
            data = given if given is not None else b"".join([chunk async for chunk in _stdin()])
            stat = await tree.append_bytes(
                path, data, create_parents=parents, expected_version=version, expected_mtime=mtime
            )
        else:
            watched = given is not None or not sys.stdin.isatty()
            with progress_bar(session.output, "write") if watched else nullcontext() as report:
                chunks, total = (_stdin(), _size_of_stdin()) if given is None else (_once(given), len(given))
                stat = await tree.write_stream(
                    path,
                    counted(path, chunks, report, total),
                    overwrite=overwrite,
                    create_parents=parents,
                    expected_version=version,
                    expected_mtime=mtime,
                    media_type=media_type,
                )
    session.output.record({"path": path, **stat_document(stat)}, stat.version or "")


async def mkdir(
    session: Session,
    paths: WorkspacePaths,
    parents: Annotated[
        bool, typer.Option("--parents", "-p", help="Make missing parents; a directory that exists is no error.")
    ] = False,
) -> None:
    """Make directories."""
    async with session.tree() as tree:

        async def make(path: str) -> None:
            await tree.make_dir(path, parents=parents, exist_ok=parents)
            session.output.done({"path": path, "kind": "directory"})

        await each(session, paths, make)


async def rm(
    session: Session,
    paths: WorkspacePaths,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Directories and all they hold, too.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="What is not there is no error.")] = False,
    expected_version: ExpectedVersion = None,
    expected_mtime: ExpectedTime = None,
) -> None:
    """Remove files; with --recursive directories, too. Of a link, the link alone."""
    version, mtime = given_version(expected_version), given_time(expected_mtime)
    async with session.tree() as tree:

        async def remove(path: str) -> None:
            try:
                await tree.delete(path, missing_ok=force, expected_version=version, expected_mtime=mtime)
            except PathIsDirectoryError:
                if not recursive:
                    raise
                with spinner(session.output, f"removing {path}"):
                    await tree.remove_dir(path, recursive=True, missing_ok=force)
            session.output.done({"path": path, "removed": True})

        await each(session, paths, remove)


def _encoded(text: str) -> bytes:
    """UTF-8; arguments may hold bytes that are none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise typer.BadParameter("is not UTF-8; give bytes on standard input", param_hint="--text") from None


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _size_of_stdin() -> int | None:
    """What is still to come, where that can be known: of a regular file."""
    try:
        descriptor = sys.stdin.fileno()
        found = os.fstat(descriptor)
        return found.st_size - os.lseek(descriptor, 0, os.SEEK_CUR) if S_ISREG(found.st_mode) else None
    except (AttributeError, OSError):
        return None


async def _stdin() -> AsyncIterator[bytes]:
    """Standard input, chunk by chunk, without a thread that Ctrl-C would have to wait for."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError):
        yield sys.stdin.buffer.read()
        return
    while chunk := await _read(descriptor):
        yield chunk


async def _read(descriptor: int) -> bytes:
    try:
        await anyio.wait_readable(descriptor)
    except PermissionError:  # a regular file, which never keeps anybody waiting
        await anyio.lowlevel.checkpoint()
    return os.read(descriptor, _CHUNK)
