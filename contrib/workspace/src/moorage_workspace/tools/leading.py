"""Which links a path leads through."""

from __future__ import annotations

from moorage import LinkLoopError, MoorageError, PathEscapeError, StoragePath
from moorage_workspace.ignore_rules import mount_paths
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.paths import unfollowed


async def link_on(call: ToolCall, path: StoragePath) -> StoragePath | None:
    """The first link on the way to ``path``, itself included; ``None`` where each part is stored in the one before."""
    if path.is_root or not (await call.files.capabilities(path)).symlinks:
        return None
    mounts = mount_paths(call.files)
    above: tuple[str, ...] = ()
    for part in (*reversed([*path.parents]), path):
        try:
            lineage = await call.lineage(part)
        except (PathEscapeError, LinkLoopError):
            return part
        if not part.is_root and part not in mounts and lineage[1:] != above:
            return part
        above = lineage
    return None


async def told(call: ToolCall, link: StoragePath) -> str:
    """For people: that it is a link, and where it leads if the store tells."""
    try:
        target = (await unfollowed(call.files, link)).link_target
    except MoorageError:
        target = None
    return f"{link} is a link" + (f" to {target}" if target is not None else "")
