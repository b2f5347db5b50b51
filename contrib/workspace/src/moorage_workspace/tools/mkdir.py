"""mkdir: make a directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from moorage import PathExistsError, PathNotFoundError
from moorage_workspace.results import Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.paths import DIRECTORY, check_writable, stat_or_none
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool


class Mkdir(Arguments):
    path: str = Field(description="The directory to make.")
    recursive: bool = Field(True, description="Also make the directories above it that are missing.")


def _describe(options: Mapping[str, object]) -> str:
    return "Make a directory. One that exists already is fine. Writing a file makes its directories by itself."


def _targets(call: ToolCall, arguments: Mkdir) -> Targets:
    return Targets(writes=(call.path(arguments.path),))


async def _plan(call: ToolCall, arguments: Mkdir) -> Plan:
    path = call.path(arguments.path)
    await check_writable(call.files, path)
    stat = await stat_or_none(call.files, path)
    if stat is not None and not stat.is_dir:
        raise PathExistsError("a file is there already", path=str(path))
    there = stat is not None
    if not there and not arguments.recursive and not await call.files.exists(path.parent):
        raise PathNotFoundError("its directory is not there; recursive makes that too", path=str(path.parent))
    return Plan(f"{'keep' if there else 'make'} the directory {path}", basis={str(path): DIRECTORY if there else None})


async def _act(call: ToolCall, arguments: Mkdir, plan: Plan) -> Output:
    path = call.path(arguments.path)
    await call.files.make_dir(path, parents=arguments.recursive)
    made = plan.basis[str(path)] is None
    return Output(f"{'Made' if made else 'Already there:'} {path}", {"path": str(path), "made": made})


MKDIR: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.MKDIR,
    arguments=Mkdir,
    describe=_describe,
    annotations=Annotations(read_only=False, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
)
