"""``cp`` and ``mv``, within the tree and between it and this machine's disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Final

import typer

from moorage.cli.completion import complete_path
from moorage.cli.operands import HOST_PREFIX, Operand, Operands
from moorage.cli.progress import progress_bar
from moorage.cli.session import Session
from moorage.errors import InvalidArgumentError
from moorage.filesystem import Filesystem
from moorage.models import OnProgress
from moorage.paths import StoragePath

_HELP = "Workspace path, or local:PATH for this machine's disk."

Sources = Annotated[list[str], typer.Argument(metavar="SOURCE", help=_HELP, autocompletion=complete_path)]
Target = Annotated[str, typer.Argument(metavar="TARGET", help=_HELP, autocompletion=complete_path)]
Exact = Annotated[
    bool, typer.Option("--exact", "-T", help="TARGET is the new name itself, even if it is a directory by now.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite/--no-overwrite", help="Replace files that are there.")]

_ROOT: Final = StoragePath("/")

Transfer = Callable[[Filesystem, Operand, Operand, OnProgress | None], Awaitable[object]]


async def cp(
    session: Session,
    sources: Sources,
    target: Target,
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Directories, too.")] = False,
    overwrite: Overwrite = True,
    exact: Exact = False,
) -> None:
    """Copy files, or with --recursive trees, within the workspace or from and to local: paths.

    Where TARGET is a directory, the copy goes into it under its own name; a directory of that name is merged into.
    """

    async def copy(tree: Filesystem, source: Operand, place: Operand, progress: OnProgress | None) -> object:
        return await tree.copy(source.path, place.path, overwrite=overwrite, recursive=recursive, progress=progress)

    await _transfer(session, sources, target, copy, "copy", exact)


async def mv(
    session: Session,
    sources: Sources,
    target: Target,
    overwrite: Overwrite = True,
    exact: Exact = False,
) -> None:
    """Move files and trees, within the workspace or from and to local: paths.

    Across storages each file is copied, verified, and only then removed. Where TARGET is a directory, it goes into it.
    """

    async def move(tree: Filesystem, source: Operand, place: Operand, progress: OnProgress | None) -> object:
        return await tree.move(source.path, place.path, overwrite=overwrite, progress=progress)

    await _transfer(session, sources, target, move, "move", exact)


async def _transfer(
    session: Session, sources: list[str], target: str, transfer: Transfer, verb: str, exact: bool
) -> None:
    _refuse_host_to_host(sources, target)
    operands = Operands(session)
    froms = [operands.source(text, read_only=verb == "copy") for text in sources]
    to = operands.target(target)
    with operands.as_written():
        async with session.tree(operands.mounts) as tree:
            if to.on_host and [source.path for source in froms] == [_ROOT]:
                froms = await _mounts(tree, operands)
            for source, place in _places(froms, to, into=await _goes_into(tree, froms, to, exact)):
                with progress_bar(session.output, verb) as progress:
                    await transfer(tree, source, place, progress)
                session.output.done({"source": source.text, "path": place.text})


def _refuse_host_to_host(sources: list[str], target: str) -> None:
    if target.startswith(HOST_PREFIX) and (both := [text for text in sources if text.startswith(HOST_PREFIX)]):
        raise InvalidArgumentError("both are on this machine's disk, for which it has commands", path=both[0])


async def _mounts(tree: Filesystem, operands: Operands) -> list[Operand]:
    """What stands for the root when all of the workspace is copied out of it: what it holds, but for host mounts."""
    entries = [entry for entry in await tree.list_dir(_ROOT) if str(entry.path) not in operands.mounts]
    return [Operand(f"/{entry.name}", entry.path, entry.name) for entry in entries if entry.path is not None]


async def _goes_into(tree: Filesystem, sources: list[Operand], to: Operand, exact: bool) -> bool:
    """Whether the target is the directory that holds the copies, rather than the name of the one copy."""
    if exact:
        if len(sources) > 1:
            raise InvalidArgumentError("--exact takes one source: the target is its new name", path=to.text)
        return False
    return to.directory_meant or len(sources) != 1 or await tree.is_dir(to.path)


def _places(sources: list[Operand], to: Operand, *, into: bool) -> Iterator[tuple[Operand, Operand]]:
    for source in sources:
        if into and not source.name:
            raise InvalidArgumentError("a root has no name to go by; --exact makes TARGET its name", path=source.text)
        yield source, to.child(source.name) if into else to
