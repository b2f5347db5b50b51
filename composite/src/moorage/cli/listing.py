"""``ls``, ``tree``, ``find`` and ``du``. What cannot be listed is reported, and the rest goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from moorage.cli.arguments import WorkspacePath
from moorage.cli.completion import complete_path
from moorage.cli.criteria import KINDS, Criteria, by_glob, by_name, by_size, newer_than, of_kind, older_than
from moorage.cli.operand_loop import each
from moorage.cli.output import entry_document, entry_style, human_size, human_time, stat_document
from moorage.cli.progress import spinner
from moorage.cli.session import Session
from moorage.errors import MoorageError, PathNotDirectoryError, UnavailableError
from moorage.filesystem import Filesystem
from moorage.models import Entry, Kind
from moorage.paths import StoragePath

Depth = Annotated[int | None, typer.Option(min=1, metavar="N", help="Levels to descend.")]


async def ls(
    session: Session,
    path: WorkspacePath = "/",
    long: Annotated[bool, typer.Option("--long", "-l", help="Size, time and mount, too.")] = False,
    recursive: Annotated[bool, typer.Option("--recursive", "-R", help="Everything below.")] = False,
    unsorted: Annotated[bool, typer.Option("--unsorted", "-U", help="As the store lists, at once.")] = False,
) -> None:
    """List a directory, sorted by name; of a file, itself."""
    async with session.tree() as tree:
        try:
            if unsorted:
                async for entry in tree.scan_dir(path, recursive=recursive):
                    _print_entry(session, entry, long, recursive)
            else:
                for entry in await tree.list_dir(path, recursive=recursive):
                    _print_entry(session, entry, long, recursive)
        except PathNotDirectoryError:
            entry = Entry(StoragePath.parse(path), await tree.stat(path))
            if entry.is_dir:  # a mount whose storage did not open
                raise
            _print_entry(session, entry, long, recursive)


async def tree(session: Session, path: WorkspacePath = "/", depth: Depth = None) -> None:
    """Draw a directory and what is below it."""
    root = StoragePath.parse(path)
    async with session.tree() as filesystem:
        if session.output.as_json:
            async for entry in filesystem.scan_dir(root, recursive=True, max_depth=depth):
                _print_entry(session, entry, False, True)
        else:
            children = await filesystem.list_dir(root)
            session.output.record({}, str(root), "bold blue")
            await _draw(session, filesystem, children, "", depth)


async def find(
    session: Session,
    path: WorkspacePath = "/",
    name: Annotated[str | None, typer.Option(metavar="GLOB", help="Of the name: '*.{csv,tsv}'.")] = None,
    glob: Annotated[str | None, typer.Option(metavar="GLOB", help="Of the path below PATH: '**/raw/*'.")] = None,
    size: Annotated[str | None, typer.Option(metavar="SIZE", help="+10k more, -1M less, 42 exactly.")] = None,
    newer: Annotated[str | None, typer.Option(metavar="TIME", help="Changed since: 2d, 3h, or 2026-01-31.")] = None,
    older: Annotated[str | None, typer.Option(metavar="TIME", help="Not changed since: 2d, 3h, or 2026-01-31.")] = None,
    kind: Annotated[str | None, typer.Option("--type", metavar=KINDS, help="File, directory, link, other.")] = None,
    depth: Depth = None,
) -> None:
    """Print the paths below PATH that meet every condition, as they are found.

    What cannot be searched is reported on standard error, and the exit code is then 1.
    """
    root = StoragePath.parse(path)
    tests = [
        *([by_name(name)] if name is not None else []),
        *([by_glob(glob, root)] if glob is not None else []),
        *([by_size(size)] if size is not None else []),
        *([newer_than(newer)] if newer is not None else []),
        *([older_than(older)] if older is not None else []),
        *([of_kind(kind)] if kind is not None else []),
    ]
    criteria = Criteria(tuple(tests))
    async with session.tree() as filesystem:
        async for entry in filesystem.scan_dir(root, recursive=True, max_depth=depth):
            _report_failure(session, entry)
            if criteria.hold(entry):
                session.output.record(entry_document(entry), _full_name(entry), entry_style(entry))


async def du(
    session: Session,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Workspace paths.", autocompletion=complete_path)
    ] = None,
) -> None:
    """Count files, directories and bytes of trees."""
    async with session.tree() as filesystem:

        async def count(path: str) -> None:
            with spinner(session.output, f"counting {path}"):
                usage = await filesystem.du(path)
            counted = {"files": usage.files, "directories": usage.directories, "size": usage.size}
            session.output.record(
                {"path": path, **counted},
                f"{human_size(usage.size):>10}  {usage.files} files  {usage.directories} directories  {path}",
            )
            for error in usage.errors:
                session.problem(error)

        await each(session, paths or ["/"], count)


def _print_entry(session: Session, entry: Entry, long: bool, full: bool) -> None:
    _report_failure(session, entry)
    name = _full_name(entry) if full else _name(entry)
    if long:
        size = "-" if entry.is_dir else human_size(entry.stat.size)
        name = f"{size:>10}  {human_time(entry.stat.modified_at):<20}  {name}{_remarks(entry)}"
    session.output.record(entry_document(entry), name, entry_style(entry))


async def _draw(
    session: Session, filesystem: Filesystem, children: list[Entry], indent: str, depth: int | None
) -> None:
    for number, entry in enumerate(children, 1):
        last = number == len(children)
        _report_failure(session, entry)
        session.output.record(
            {}, f"{indent}{'└── ' if last else '├── '}{_name(entry)}{_remarks(entry)}", entry_style(entry)
        )
        if not entry.is_dir or entry.path is None or depth == 1 or _failure(entry):
            continue
        try:
            below = await filesystem.list_dir(entry.path)
        except MoorageError as error:
            session.problem(error)
            continue
        await _draw(session, filesystem, below, indent + ("    " if last else "│   "), depth and depth - 1)


def _failure(entry: Entry) -> MoorageError | None:
    """Why what is below this entry is missing."""
    if entry.error is None and entry.mount is not None and entry.mount.error is not None:
        return UnavailableError(entry.mount.error, path=str(entry.mount.path), provider=entry.mount.provider)
    return entry.error


def _report_failure(session: Session, entry: Entry) -> None:
    failure = _failure(entry)
    if failure is None:
        return
    if session.output.as_json:
        session.output.failed = True  # the entry's own document says why
    else:
        session.problem(failure)


def _name(entry: Entry) -> str:
    return entry.name + ("/" if entry.is_dir else "")


def _full_name(entry: Entry) -> str:
    return entry.name if entry.path is None else str(entry.path)


def _remarks(entry: Entry) -> str:
    remarks: list[str] = []
    if entry.kind is Kind.LINK:
        remarks.append(f"-> {stat_document(entry.stat)['link_target'] or '(outside)'}")
    if entry.path is None:
        remarks.append("(no path can express this name)")
    if entry.mount is not None:
        access = "read-only" if entry.mount.read_only else "read-write"
        label = entry.mount.labels.display_name
        shown = [entry.mount.provider, access, entry.mount.status.value, *([label] if label else [])]
        remarks.append(f"[{', '.join(shown)}]")
    return "".join(f"  {remark}" for remark in remarks)
