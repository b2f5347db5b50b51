"""Does a rule that was kept answer for a call?"""

from __future__ import annotations

from collections.abc import Mapping

from moorage import StoragePath
from moorage_workspace.approval import ApprovalRule
from moorage_workspace.results import Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.leading import link_on
from moorage_workspace.tools.paths import is_tree


async def is_covered(call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan) -> bool:
    """Whether any rule of the session does, as things are now."""
    for rule in call.session.rules:
        if rule.tool != call.key or (is_tree(plan) and not rule.whole_directories):
            continue
        if await _covers(call, rule, paths, given):
            return True
    return False


async def _covers(
    call: ToolCall, rule: ApprovalRule, paths: tuple[StoragePath, ...], given: Mapping[str, object]
) -> bool:
    if rule.path is not None:
        return paths == (rule.path,) and await link_on(call, rule.path) is None
    if rule.below is not None:
        return bool(paths) and await _all_below(call, paths, rule.below)
    asked = (given.get("command"), given.get("cwd"), given.get("background", False))
    return not paths and asked == (rule.command, rule.cwd, rule.background)


async def _all_below(call: ToolCall, paths: tuple[StoragePath, ...], directory: StoragePath) -> bool:
    """Both as written and as stored: neither a link below it nor the directory as a link leads a rule elsewhere."""
    if not all(path.is_below(directory) for path in paths) or await link_on(call, directory) is not None:
        return False
    holder = (await call.lineage(directory))[0]
    return all([holder in (await call.place(path))[1:] for path in paths])
