"""``moorage agent-shell``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from moorage import ConfigError, RequestContext
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.shell.documents import Documents
from moorage_workspace.shell.drawing import Screen
from moorage_workspace.shell.loop import Shell
from moorage_workspace.shell.reading import TypedLines
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.workspace import Workspace

_FILES = WORKSPACE_TOOLS.FILESYSTEM
_CHANGING = (_FILES.WRITE_FILE, _FILES.EDIT_FILE, _FILES.DELETE, _FILES.MKDIR, _FILES.MOVE, _FILES.COPY)


async def agent_shell(
    ctx: typer.Context,
    call: Annotated[
        list[str] | None,
        typer.Option(
            "--call",
            "-e",
            metavar="LINE",
            help="Take this line, like 'read_file /plan.md', instead of asking for one; repeatable.",
        ),
    ] = None,
    sandbox: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Offer commands, which run in this directory.")
    ] = None,
    isolation: Annotated[str, typer.Option(help="How commands are kept apart: none, bwrap or seatbelt.")] = "none",
    approve: Annotated[bool, typer.Option(help="Ask before whatever changes something.")] = True,
    read_first: Annotated[
        bool, typer.Option("--read-first", help="Refuse to change a file that was not read.")
    ] = False,
    profile: Annotated[str | None, typer.Option(help="Names of the tools: mastra or coding.")] = None,
    context: Annotated[
        list[str] | None, typer.Option("--context", metavar="KEY=VALUE", help="Of the request; repeatable.")
    ] = None,
) -> None:
    """Play the agent: list the tools, call them, see exactly what a model would see, approve by diffs.

    With --json each result, question and error is a document on a line of its own, and lines are read without a prompt;
    the line after an ``approval`` answers it: y, n or a. Exit code 1 if a call of ``--call`` failed.
    """
    as_json = bool(ctx.obj.output.as_json)
    view = Documents() if as_json else Screen(Console(highlight=False))
    configured = ctx.obj.configuration()
    workspace = Workspace(
        mounts={path: options.build() for path, options in configured.mounts.items()},
        nested_mounts=configured.nested,
        sandbox=_sandbox(sandbox, isolation),
        tools=_tools(approve=approve, read_first=read_first, profile=profile),
    )
    async with workspace, workspace.session(_context(context or [])) as session:
        shell = Shell(session, view, TypedLines(prompts=not as_json))
        session.approver = shell.approve
        well = await shell.run([_as_utf8(line) for line in call or []])
    if call and not well:
        raise typer.Exit(1)


def _as_utf8(argument: str) -> str:
    """An argument of the command line as what it is, in whatever locale."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _sandbox(directory: Path | None, isolation: str) -> LocalSandbox | None:
    for known in ("none", "bwrap", "seatbelt"):
        if isolation == known:
            if directory is not None:
                return LocalSandbox(directory, isolation=known)
            if isolation == "none":
                return None
            raise ConfigError(f"--isolation {isolation} is for commands: give --sandbox DIR, too")
    raise ConfigError(f"--isolation {isolation}: choose none, bwrap or seatbelt")


def _tools(*, approve: bool, read_first: bool, profile: str | None) -> dict[str, Any]:
    tools: dict[str, Any] = {} if profile is None else {"profile": profile}
    for key in _CHANGING:
        tools[key] = {"require_approval": approve}
    for key in (_FILES.WRITE_FILE, _FILES.EDIT_FILE):
        tools[key]["require_read_before_write"] = read_first
    tools[WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND] = {"require_approval": approve}
    return tools


def _context(pairs: list[str]) -> RequestContext:
    values = dict[str, object]()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--context {pair}: write KEY=VALUE")
        values[key] = value
    return RequestContext(values)
