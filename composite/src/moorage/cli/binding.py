"""From a function to a command: the session goes in, the global options are added, failures become exit codes."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import typer

from moorage.cli.failures import BROKEN_PIPE, FAILED, INTERRUPTED, leaves
from moorage.cli.output import discard_output
from moorage.cli.session import Session
from moorage.errors import MoorageError, StorageError

_PANEL: Final = "Global options"

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="The configuration; by default $MOORAGE_CONFIG, else the nearest moorage.toml here or above.",
        rich_help_panel=_PANEL,
    ),
]
MountOption = Annotated[
    list[str] | None,
    typer.Option(metavar="/PATH=URL", help="One more mount, like /scratch=memory://; repeat.", rich_help_panel=_PANEL),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, errors too.", rich_help_panel=_PANEL)]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error came from.", rich_help_panel=_PANEL)]

_GLOBAL: Final[dict[str, tuple[Any, object]]] = {
    "config": (ConfigOption, None),
    "mount": (MountOption, None),
    "json": (JsonOption, False),
    "debug": (DebugOption, False),
}


def bind(session: Session, function: Callable[..., Any]) -> Callable[..., None]:
    """A typer callback that runs ``function``, a coroutine function or not, with the global options added.

    A parameter named ``session`` gets the session; a global option that the function declares itself stays its own.
    """
    signature = inspect.signature(function, eval_str=True)
    wants_session = "session" in signature.parameters
    own = [parameter for name, parameter in signature.parameters.items() if name != "session"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _GLOBAL.items()
        if name not in signature.parameters
    ]

    def command(*args: Any, **kwargs: Any) -> None:
        given = {parameter.name: kwargs.pop(parameter.name, parameter.default) for parameter in added}
        session.configure(given.get("config"), given.get("mount") or (), debug=given.get("debug", False))
        with_session = {"session": session} if wants_session else {}
        _run(session, partial(function, *args, **with_session, **kwargs), inspect.iscoroutinefunction(function))

    setattr(command, "__signature__", inspect.Signature([*own, *added]))  # noqa: B010 (no type knows it)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    command.__doc__ = function.__doc__
    command.__name__ = function.__name__
    return command


def _run(session: Session, work: Callable[[], Any], asynchronous: bool) -> None:
    """Run one command to its end. Ctrl-C cancels what is under way, so that nothing stays half-written."""
    try:
        if asynchronous:
            anyio.run(work)
        else:
            work()
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except KeyboardInterrupt:
        session.output.note("moorage: interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(BROKEN_PIPE) from None
    except BaseExceptionGroup as group:
        _fail(session, *leaves(group))
    except Exception as error:
        _fail(session, error)
    if session.output.failed:
        raise typer.Exit(FAILED)


def _fail(session: Session, *errors: BaseException) -> None:
    """Report the errors and end with the code of the first."""
    codes = [session.problem(_as_ours(error)) for error in errors]
    raise typer.Exit(codes[0])


def _as_ours(error: BaseException) -> MoorageError:
    """Our own errors as they are; the operating system's in its words; what is left is a bug, and goes up as it is."""
    if isinstance(error, MoorageError):
        return error
    if isinstance(error, OSError) and error.errno != errno.EPIPE:
        named = f"{error.filename}: " if error.filename else ""
        ours = StorageError(f"{named}{error.strerror or type(error).__name__}")
        ours.__cause__ = error
        return ours
    raise error
