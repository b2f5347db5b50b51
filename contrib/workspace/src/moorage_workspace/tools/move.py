"""move: a file, link or directory to another path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from moorage import Kind, PathExistsError, TransferError
from moorage_workspace.results import Change, Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.contents import lost, placed
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.leading import is_link
from moorage_workspace.tools.paths import check_removable, explained, remember, unfollowed
from moorage_workspace.tools.placing import Ends, Expected, Placing, check_apart, check_source, looked_at, planned
from moorage_workspace.tools.tool import Annotations, Needs, Targets, Tool


def _describe(options: Mapping[str, object]) -> str:
    return (
        "Move or rename a file or directory. Refused where something is there already, unless it is a file, which "
        "overwrite lets another file replace. The root and mount points cannot be moved."
    )


def _targets(call: ToolCall, arguments: Placing) -> Targets:
    return Targets(writes=(call.path(arguments.source), call.path(arguments.destination)))


async def _plan(call: ToolCall, arguments: Placing) -> Plan:
    for text in (arguments.source, arguments.destination):
        await check_removable(call.files, call.path(text), "moved or replaced")
    ends = await looked_at(call, arguments, follow=False)
    await check_apart(call, ends, "move")
    if ends.seen.is_dir and ends.replaced is not None:
        raise PathExistsError(
            "a directory is there already, and another does not replace it; move what is in it, or delete that one "
            "first",
            path=str(ends.destination),
        )
    if ends.replaced is not None and ends.replaced.is_file:
        await call.require_seen(ends.destination, [(0, ends.replaced.size)])
    plan = await planned(call, ends, "move")
    return replace(plan, changes=await _changes(call, ends)) if call.asks else plan


async def _changes(call: ToolCall, ends: Ends) -> tuple[Change, ...]:
    """None of a link: it goes, and what it leads to stays."""
    if ends.replaced is None or not ends.replaced.is_file or await is_link(call, ends.destination):
        return ()
    if not ends.seen.is_file or await is_link(call, ends.source):
        return (await lost(call, ends.destination, ends.replaced),)
    return (await placed(call, ends.source, ends.seen, ends.destination, ends.replaced),)


async def _act(call: ToolCall, arguments: Placing, plan: Plan) -> Output:
    source, destination = call.path(arguments.source), call.path(arguments.destination)
    seen = await unfollowed(call.files, source)
    check_source(seen, plan, source)
    identity, replaced = await call.identity(source), await call.identity(destination)
    record = call.session.reads.get(identity)
    expected = Expected.by(plan, destination)
    try:
        arrived = await call.files.move(
            source, destination, overwrite=expected.overwrite, expected_version=expected.expected_version
        )
    except TransferError as error:
        raise explained(error) from error
    if source != destination:
        call.session.reads.forget(replaced, destination)
        if seen.kind is not Kind.LINK:
            call.session.reads.forget(identity, source)
            remember(call, record, seen, await call.identity(destination), destination, arrived)
    done = plan.summary.removeprefix("move ")
    return Output(f"Moved {done}", {"source": str(source), "destination": str(destination)})


MOVE: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.MOVE,
    arguments=Placing,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
)
