"""The command line: ``moorage ls /data``. Needs the extra ``cli`` (typer and rich).

Exit codes: 0 done, 1 failed, 2 wrong usage, path or configuration, 3 stale, 4 read-only, 5 not found, 130 interrupted,
141 when the reader of a pipe went away.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from moorage.cli.app import build_app
from moorage.cli.failures import BROKEN_PIPE, INTERRUPTED, USAGE
from moorage.cli.output import Output, discard_output
from moorage.cli.session import Session
from moorage.registry import Registry

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None, *, registry: Registry | None = None) -> int:
    """Run one command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    output = Output(as_json=_asks_for_json(given))
    try:
        code = _run(Session(registry or Registry(), output), given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    return code


def _run(session: Session, arguments: list[str]) -> int:
    app = build_app(session)
    try:
        result: object = app(args=arguments, prog_name="moorage", standalone_mode=not session.output.as_json)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except typer.TyperException as error:
        session.output.usage_error(error.format_message())
        return USAGE
    return result if isinstance(result, int) else 0


def _asks_for_json(arguments: list[str]) -> bool:
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own
