"""Could what a call would make be made there? Asked before a person is, who else decides about nothing."""

from __future__ import annotations

from moorage import Kind, PathNotDirectoryError, StoragePath
from moorage_workspace.results import Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.paths import stat_or_none
from moorage_workspace.tools.tool import Targets


async def check_parents(call: ToolCall, targets: Targets, plan: Plan) -> None:
    """Refuse, as the store would, a plan that makes something below a file.

    Raises:
        PathNotDirectoryError: it names the file.
    """
    for path in targets.writes:
        if plan.basis.get(str(path), "") is None:
            await _check_directory_above(call, path)


async def _check_directory_above(call: ToolCall, path: StoragePath) -> None:
    for above in path.parents:
        stat = await stat_or_none(call.files, above)
        if stat is None:
            continue
        if not stat.is_dir and stat.kind is not Kind.LINK:  # where a link leads nowhere, its target is made
            raise PathNotDirectoryError("a file stands where a directory is needed", path=str(above))
        return
