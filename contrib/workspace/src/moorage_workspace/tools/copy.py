"""copy: a file, or a directory with what is in it, to another path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import Field

from moorage import PathIsDirectoryError, TransferError
from moorage_workspace.results import Change, Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.contents import placed
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.paths import explained, remember
from moorage_workspace.tools.placing import (
    Ends,
    Expected,
    Placing,
    check_apart,
    check_merge,
    check_source,
    looked_at,
    planned,
)
from moorage_workspace.tools.tool import Annotations, Needs, Targets, Tool


class Copy(Placing):
    recursive: bool = Field(
        False,
        description="Copy a directory with everything in it; with overwrite also into an existing one, of which it "
        "replaces no file.",
    )


def _describe(options: Mapping[str, object]) -> str:
    return (
        "Copy a file to another path, or with recursive a directory with everything in it. Refused where something is "
        "there already, unless overwrite is set: it replaces a file, and adds to a directory without replacing a file "
        "in it."
    )


def _targets(call: ToolCall, arguments: Copy) -> Targets:
    return Targets(reads=(call.path(arguments.source),), writes=(call.path(arguments.destination),))


async def _plan(call: ToolCall, arguments: Copy) -> Plan:
    ends = await looked_at(call, arguments, follow=True)
    if ends.seen.is_dir and not arguments.recursive:
        raise PathIsDirectoryError("is a directory; recursive copies it with everything in it", path=str(ends.source))
    await check_apart(call, ends, "copy")
    await check_merge(call, ends, overwrite=arguments.overwrite)
    plan = await planned(call, ends, "copy")
    return replace(plan, changes=await _changes(call, ends)) if call.asks else plan


async def _changes(call: ToolCall, ends: Ends) -> tuple[Change, ...]:
    if not ends.seen.is_file or ends.source == ends.destination:
        return ()
    return (await placed(call, ends.source, ends.seen, ends.destination, ends.replaced),)


async def _act(call: ToolCall, arguments: Copy, plan: Plan) -> Output:
    source, destination = call.path(arguments.source), call.path(arguments.destination)
    seen = await call.files.stat(source)
    check_source(seen, plan, source)
    record = call.session.reads.get(await call.identity(source))
    expected = Expected.by(plan, destination)
    try:
        arrived = await call.files.copy(
            source,
            destination,
            overwrite=expected.overwrite,
            recursive=arguments.recursive,
            expected_version=expected.expected_version,
        )
    except TransferError as error:
        raise explained(error) from error
    if source != destination:
        remember(call, record, seen, await call.identity(destination), destination, arrived)
    done = plan.summary.removeprefix("copy ")
    return Output(f"Copied {done}", {"source": str(source), "destination": str(destination)})


COPY: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.COPY,
    arguments=Copy,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
    replaces=True,
)
