"""Does a rule that was kept answer for a call?"""

from __future__ import annotations

from collections.abc import Mapping

from moorage import StoragePath
from moorage_workspace.approval import ApprovalRule
from moorage_workspace.ignore_rules import mount_paths
from moorage_workspace.results import Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.leading import link_on
from moorage_workspace.tools.paths import is_tree


async def is_covered(call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan) -> bool:
    """Whether any rule of the session does, as things are now."""
    for rule in call.session.rules:
        if await covers(call, rule, paths, given, plan):
            return True
    return False


async def covers(
    call: ToolCall, rule: ApprovalRule, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan
) -> bool:
    """Whether this rule does, as things are now."""
    if rule.tool != call.key or (is_tree(plan) and not rule.whole_directories):
        return False
    if rule.path is not None:
        return paths == (rule.path, *rule.further) and all([await link_on(call, path) is None for path in paths])
    if rule.below is not None:
        return bool(paths) and await _all_below(call, paths, rule.below)
    asked = (given.get("command"), given.get("cwd"), given.get("background", False))
    return not paths and asked == (rule.command, rule.cwd, rule.background)


async def _all_below(call: ToolCall, paths: tuple[StoragePath, ...], directory: StoragePath) -> bool:
    """Both as written and as stored: neither a link below it nor the directory as a link leads a rule elsewhere."""
    if not all(path.is_below(directory) for path in paths) or await link_on(call, directory) is not None:
        return False
    return all([await _is_held(call, path, directory) for path in paths])


async def _is_held(call: ToolCall, path: StoragePath, directory: StoragePath) -> bool:
    """Whether what is stored there is below the directory, or in a mount that is."""
    mounts = mount_paths(call.files)
    if path in mounts:
        return True
    inside = [mount for mount in mounts if mount.is_within(directory) and path.is_below(mount)]
    nearest = max(inside, key=lambda mount: len(mount.parts), default=directory)
    return (await call.lineage(nearest))[0] in (await call.place(path))[1:]
