"""Which links a path leads through."""

from __future__ import annotations

from contextlib import aclosing

from moorage import Entry, Kind, LinkLoopError, MoorageError, PathEscapeError, StoragePath
from moorage_workspace.ignore_rules import mount_paths
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.paths import stat_or_none


async def link_on(call: ToolCall, path: StoragePath) -> StoragePath | None:
    """The first link on the way to ``path``, itself included; ``None`` where each part is stored in the one before.

    What the store does not tell apart from a link counts as one.
    """
    if path.is_root or not (await call.files.capabilities(path)).symlinks:
        return None
    mounts = mount_paths(call.files)
    above: tuple[str, ...] = ()
    for part in (*reversed([*path.parents]), path):
        try:
            lineage = await call.lineage(part)
        except (PathEscapeError, LinkLoopError):
            return part
        if not part.is_root and part not in mounts:
            if lineage[1:] != above:
                return part
            if _is_named(part, lineage):
                if await stat_or_none(call.files, part) is None:
                    return None  # nor is anything below it
            elif not await _is_stored(call, part):
                return part
        above = lineage
    return None


def _is_named(path: StoragePath, lineage: tuple[str, ...]) -> bool:
    """Whether the identity is the name in its directory, as of a file or of nothing: then no link was followed."""
    return lineage[0] == f"{lineage[1].rstrip('/')}/{path.name}"


async def _is_stored(call: ToolCall, path: StoragePath) -> bool:
    """Whether it is no link by its directory's own account: a directory's identity does not tell by what name it was
    reached.
    """
    try:
        entry = await _entry(call, path)
    except MoorageError:
        return False
    return entry is not None and entry.kind is not Kind.LINK


async def _entry(call: ToolCall, path: StoragePath) -> Entry | None:
    async with aclosing(call.files.scan_dir(path.parent)) as entries:
        async for entry in entries:
            if entry.path == path:
                return entry
    return None


async def is_link(call: ToolCall, path: StoragePath) -> bool:
    """Whether a link is there, whatever it leads to."""
    if path.is_root or not (await call.files.capabilities(path)).symlinks:
        return False
    entry = await _entry(call, path)
    return entry is not None and entry.kind is Kind.LINK


async def told(call: ToolCall, link: StoragePath) -> str:
    """For people: that it is a link, and where it leads if the store tells."""
    try:
        entry = await _entry(call, link)
    except MoorageError:
        entry = None
    if entry is None or entry.kind is not Kind.LINK:
        return f"{link} may lead elsewhere"
    target = entry.stat.link_target
    return f"{link} is a link" + (f" to {target}" if target is not None else "")
