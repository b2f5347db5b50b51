"""file_stat: what a path is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from moorage import Kind, PathNotDirectoryError, PathNotFoundError, Stat, StoragePath
from moorage_workspace.results import Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_OTHER: Final = "special file (FIFO, socket or device; never opened)"


class FileStat(Arguments):
    path: str = Field(description="The path to look at; a link is followed.")


def _describe(options: Mapping[str, object]) -> str:
    return "Tell what a path is: its type, size in bytes and time of modification. Says so where nothing is there."


def _targets(call: ToolCall, arguments: FileStat) -> Targets:
    return Targets(reads=(call.path(arguments.path),))


async def _act(call: ToolCall, arguments: FileStat, plan: Plan) -> Output:
    path = call.path(arguments.path)
    try:
        stat = await call.files.stat(path)
    except PathNotFoundError as error:
        hint = (await not_found(call, path, error)).message
        return Output(f"{path}\nexists: no ({hint})", {"path": str(path), "exists": False})
    except PathNotDirectoryError as error:
        return Output(f"{path}\nexists: no ({error.message})", {"path": str(path), "exists": False})
    return _told(path, stat)


def _told(path: StoragePath, stat: Stat) -> Output:
    modified = None if stat.modified_at is None else stat.modified_at.isoformat().replace("+00:00", "Z")
    size = None if stat.is_dir else stat.size
    kind = {Kind.OTHER: _OTHER, Kind.LINK: "link that leads to nothing"}.get(stat.kind, stat.kind.value)
    lines = [
        str(path),
        f"type: {kind}",
        *([] if size is None else [f"size: {size:,} bytes"]),
        *([] if modified is None else [f"modified: {modified}"]),
    ]
    structured = {"path": str(path), "exists": True, "type": stat.kind.value, "size": size, "modified": modified}
    return Output("\n".join(lines), structured)


FILE_STAT: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.FILE_STAT,
    arguments=FileStat,
    describe=_describe,
    annotations=Annotations(read_only=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    act=_act,
)
