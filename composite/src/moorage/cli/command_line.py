"""One command line, from its arguments to its exit code."""

from __future__ import annotations

import sys
from io import TextIOWrapper

import typer

from moorage.cli.app import build_app
from moorage.cli.failures import BROKEN_PIPE, INTERRUPTED, USAGE
from moorage.cli.output import Output, discard_output
from moorage.cli.session import Session
from moorage.registry import Registry


def run(arguments: list[str], registry: Registry | None) -> int:
    """Run one command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    output = Output(as_json=_asks_for_json(arguments))
    try:
        code = _run(Session(registry or Registry(), output), arguments)
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
