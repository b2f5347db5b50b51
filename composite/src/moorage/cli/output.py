"""What the command line prints: text for people, or JSON for machines; never both.

With ``--json`` standard output has one JSON document, or one a line for streams, errors included. Without it results go
to standard output and errors to standard error. Control characters in names reach no terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.text import Text

from moorage.cli.failures import error_document, error_lines
from moorage.errors import MoorageError
from moorage.models import Entry, Kind, MountPoint, Stat

_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STYLES: Final = {Kind.DIRECTORY: "bold blue", Kind.LINK: "cyan", Kind.OTHER: "yellow"}


class Output:
    """Where the results of one command go."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.failed = False
        """Whether a part of the command failed while the rest went on."""
        self._console = Console(highlight=False)

    def record(self, document: Mapping[str, object], text: str, style: str = "") -> None:
        """One result, in whichever of its two forms was asked for."""
        if self.as_json:
            self._write_json(document)
        elif sys.stdout.isatty():
            self._console.print(Text(plain(text), style), soft_wrap=True)
        else:
            print(plain(text))

    def done(self, document: Mapping[str, object]) -> None:
        """The result of a command that says nothing to people when all is well."""
        if self.as_json:
            self._write_json(document)

    def note(self, text: str) -> None:
        """Something that people may like to know; machines don't get it."""
        if not self.as_json:
            print(plain(text), file=sys.stderr)

    def problem(self, error: MoorageError) -> None:
        """A failure; the caller decides whether it ends the command."""
        self.failed = True
        if self.as_json:
            self._write_json(error_document(error))
        else:
            for line in error_lines(error):
                print(f"moorage: {plain(line)}", file=sys.stderr)

    def usage_error(self, message: str) -> None:
        """What typer says about arguments, for a machine."""
        error = {"code": "usage", "message": message, "path": None, "operation": None, "provider": None}
        self._write_json({"error": error})

    def _write_json(self, document: Mapping[str, object]) -> None:
        print(json.dumps(document, separators=(",", ":")))


def discard_output() -> None:
    """Nobody reads standard output any more: what is still buffered goes nowhere, and says nothing at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def plain(text: str) -> str:
    """``text`` without any character that could move a cursor, colour a terminal or turn the line around."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def human_size(size: int) -> str:
    """``1.5 KiB``."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def human_time(time: datetime | None) -> str:
    """UTC, to the second; ``-`` where the store did not say."""
    return "-" if time is None else time.strftime("%Y-%m-%d %H:%M:%SZ")


def entry_style(entry: Entry) -> str:
    return "red" if entry.error or (entry.mount and entry.mount.error) else _STYLES.get(entry.kind, "")


def stat_document(stat: Stat) -> dict[str, object]:
    return {
        "kind": stat.kind.value,
        "size": stat.size,
        "version": stat.version,
        "modified_at": _iso(stat.modified_at),
        "created_at": _iso(stat.created_at),
        "checksum": stat.checksum,
        "media_type": stat.media_type,
        "mode": stat.mode,
        "link_target": stat.link_target,
    }


def entry_document(entry: Entry) -> dict[str, object]:
    document: dict[str, object] = {
        "path": None if entry.path is None else str(entry.path),
        "name": entry.name,
        **stat_document(entry.stat),
    }
    if entry.raw_name is not None:
        document["raw_name"] = entry.raw_name.hex()
    if entry.mount is not None:
        document["mount"] = mount_document(entry.mount)
    if entry.error is not None:
        document |= error_document(entry.error)
    return document


def mount_document(mount: MountPoint) -> dict[str, object]:
    return {
        "path": str(mount.path),
        "provider": mount.provider,
        "read_only": mount.read_only,
        "status": mount.status.value,
        "display_name": mount.labels.display_name,
        "icon": mount.labels.icon,
        "description": mount.labels.description,
        "error": mount.error,
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
