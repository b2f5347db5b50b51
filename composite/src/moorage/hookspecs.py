"""Every hook that a plug-in package may implement, and the values they return.

A package names a module of its own under the entry point group ``moorage``; functions there marked with
:data:`hookimpl` are called. The module must be cheap to import: it names classes as text, and they load at first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pluggy

PROJECT = "moorage"
ENTRY_POINT_GROUP = "moorage"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A kind of storage that this package brings.

    Attributes:
        scheme: the name in ``moorage.toml`` (``provider = "s3"``) and in URLs (``s3://…``); ``[a-z][a-z0-9+.-]*``.
        summary: one line for ``moorage providers``.
        options: ``"module:Class"`` of its :class:`moorage.ProviderOptions`, loaded at first use.
    """

    scheme: str
    summary: str
    options: str


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command that this package adds to ``moorage``.

    The function may be a coroutine function. It gets the global options (``--config``, ``--mount``, ``--json``,
    ``--debug``) besides its own, and failures become exit codes, as for every command. A parameter
    ``ctx: typer.Context`` gives it the session as ``ctx.obj``: ``ctx.obj.tree()`` is the tree that the user chose, not
    yet opened, and ``ctx.obj.output.record(document, text)`` prints a result as text or, with ``--json``, as JSON.

    Attributes:
        name: what the user types; ``[a-z][a-z0-9-]*``.
        summary: one line for ``moorage --help``.
        target: ``"module:function"``, a typer callback.
        example: a command line that its help ends with.
    """

    name: str
    summary: str
    target: str
    example: str = ""


@hookspec
def moorage_providers() -> Sequence[ProviderSpec]:  # type: ignore[empty-body]
    """Return the kinds of storage that this package brings; called once when a registry loads."""


@hookspec
def moorage_commands() -> Sequence[CommandSpec]:  # type: ignore[empty-body]
    """Return the commands that this package adds to the command line; called when ``moorage`` starts."""
