"""``doctor``: what is wrong, before it hurts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

import typer

from moorage.cli.output import Output
from moorage.cli.progress import spinner
from moorage.cli.session import Session
from moorage.config import Configuration, ProviderOptions
from moorage.config.validation import build_filesystem
from moorage.errors import MoorageError
from moorage.filesystem import Filesystem
from moorage.streams import closing

_LEFTOVER_AGE: Final = 3600.0
_NAMES_SHOWN: Final = 20


async def doctor(
    session: Session,
    fix: Annotated[bool, typer.Option("--fix", help="Remove what killed writers left, if older than an hour.")] = False,
    scan: Annotated[
        int, typer.Option(min=0, metavar="N", help="Entries a mount to check for names no path can express; 0: none.")
    ] = 10_000,
) -> None:
    """Check the configuration, the plug-ins, and that every mount opens; list stored names that no path can express.

    Exit code 1 if anything is wrong.
    """
    report = _Report(session.output)
    for name, reason in session.registry.broken.items():
        report.bad("plug-in", name, reason)
    report.good("plug-ins", ", ".join(sorted(session.registry.providers)) or "none")
    configuration = _configuration(session, report)
    if configuration is None:
        return
    for path, options in configuration.mounts.items():
        await _check_mount(report, path, options, fix, scan)


def _configuration(session: Session, report: _Report) -> Configuration | None:
    try:
        configuration = session.configuration()
        configuration.build()
    except MoorageError as error:
        report.bad("configuration", "", error.message)
        return None
    report.good("configuration", configuration.origin)
    return configuration


async def _check_mount(report: _Report, path: str, options: ProviderOptions, fix: bool, scan: int) -> None:
    try:
        async with build_filesystem(options, path) as filesystem:
            access = "read-only" if options.read_only else "read-write"
            report.good("mount", path, f"{filesystem.provider.scheme}, {access}")
            if scan:
                with spinner(report.output, f"looking at the names in {path}"):
                    names = await _look_at_names(filesystem, scan)
                _report_names(report, path, names)
            if fix:
                await _sweep(report, path, filesystem)
    except MoorageError as error:
        report.bad("mount", path, str(error))


@dataclass(slots=True)
class _Names:
    """What a look at the names of a mount found."""

    seen: int = 0
    odd: int = 0
    whole: bool = True
    examples: list[str] = field(default_factory=list[str])
    unlisted: list[str] = field(default_factory=list[str])


async def _look_at_names(filesystem: Filesystem, most: int) -> _Names:
    names = _Names()
    async with closing(filesystem.scan_dir("/", recursive=True)) as entries:
        async for entry in entries:
            if names.seen == most:
                names.whole = False
                break
            names.seen += 1
            if entry.error is not None:
                names.unlisted.append(str(entry.error))
            if entry.path is None:
                names.odd += 1
                if names.odd <= _NAMES_SHOWN:
                    names.examples.append(entry.name)
    return names


def _report_names(report: _Report, mount: str, names: _Names) -> None:
    for error in names.unlisted:
        report.bad("listing", mount, error)
    for name in names.examples:
        report.bad("name", mount, f"no path can express the stored name {name!r}")
    if names.odd > len(names.examples):
        report.bad("name", mount, f"nor {names.odd - len(names.examples)} more stored names")
    if not names.whole:
        report.good("names", mount, f"the first {names.seen} entries were looked at; --scan sets how many")


async def _sweep(report: _Report, mount: str, filesystem: Filesystem) -> None:
    if filesystem.info().read_only:
        report.good("leftovers", mount, "not swept: the mount is read-only")
        return
    removed = await filesystem.provider.sweep_leftovers(_LEFTOVER_AGE)
    report.good("leftovers", mount, f"{removed} removed")


class _Report:
    """One line for each thing that was looked at."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def good(self, check: str, subject: str, detail: str = "") -> None:
        self._line(check, subject, detail, ok=True)

    def bad(self, check: str, subject: str, detail: str) -> None:
        self.output.failed = True
        self._line(check, subject, detail, ok=False)

    def _line(self, check: str, subject: str, detail: str, *, ok: bool) -> None:
        said = " ".join(part for part in (subject, f"({detail})" if ok and detail else detail) if part)
        self.output.record(
            {"check": check, "subject": subject, "ok": ok, "detail": detail},
            f"{'ok ' if ok else 'BAD'}  {check:<14} {said}",
            "" if ok else "red",
        )
