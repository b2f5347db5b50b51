"""delete: remove a file, a link, or a directory with what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Final

from pydantic import Field

from moorage import UNSET, DirectoryNotEmptyError, Kind, PathNotFoundError, StaleFileError, Stat, StoragePath
from moorage_workspace.errors import FileReadRequiredError
from moorage_workspace.results import Output, Plan
from moorage_workspace.text.counting import counted
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.contents import lost
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.leading import is_link
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.paths import DIRECTORY, check_removable, content_of, first_entry, unfollowed
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool


class Delete(Arguments):
    path: str = Field(description="The file, link or directory to remove.")
    recursive: bool = Field(False, description="Remove a directory with everything in it.")


def _describe(options: Mapping[str, object]) -> str:
    parts = [
        "Remove a file, or a directory: an empty one, or with recursive everything in it. Of a link only the link "
        "goes. There is no way back. The root and mount points cannot be removed."
    ]
    if options.get("require_read_before_write"):
        parts.append("Every file that goes must have been read to its end first.")
    return " ".join(parts)


def _targets(call: ToolCall, arguments: Delete) -> Targets:
    return Targets(writes=(call.path(arguments.path),))


async def _plan(call: ToolCall, arguments: Delete) -> Plan:
    path = call.path(arguments.path)
    await check_removable(call.files, path, "deleted")
    try:
        stat = await unfollowed(call.files, path)
    except PathNotFoundError as error:
        raise await not_found(call, path, error) from None
    if stat.is_dir:
        return await _plan_directory(call, path, recursive=arguments.recursive)
    if stat.kind is Kind.LINK:
        return Plan(f"delete the link {path}, not what it leads to", basis={str(path): stat.version})
    gone = stat.is_file and call.asks and not await is_link(call, path)
    changes = (await lost(call, path, stat),) if gone else ()
    return Plan(f"delete {path} ({counted(stat.size, 'byte')})", changes, {str(path): stat.version})


async def _plan_directory(call: ToolCall, path: StoragePath, *, recursive: bool) -> Plan:
    if not recursive:
        if await first_entry(call.files, path) is not None:
            raise DirectoryNotEmptyError(
                "the directory is not empty; recursive deletes it with all of it", path=str(path)
            )
        return Plan(f"delete the empty directory {path}", basis={str(path): DIRECTORY})
    if call.read_required:
        await _require_read(call, path)
    content = await content_of(call.files, path)
    what = f"the empty directory {path}" if content.is_empty else f"the directory {path} and {content}"
    return Plan(f"delete {what}", basis={str(path): content.basis})


async def _require_read(call: ToolCall, directory: StoragePath) -> None:
    """Refuse where a file below was not read to its end, or changed since.

    Raises:
        FileReadRequiredError: it names the first one.
    """
    async with aclosing(call.files.scan_dir(directory, recursive=True)) as entries:
        async for entry in entries:
            if entry.is_dir or entry.path is None or entry.kind is Kind.LINK:
                continue
            record = call.session.reads.get(await call.identity(entry.path))
            if record is None or not record.whole or record.version != (await call.files.stat(entry.path)).version:
                raise FileReadRequiredError(
                    f"read every file below it first; {entry.path} was not read to its end as it is now",
                    path=str(directory),
                )


async def _act(call: ToolCall, arguments: Delete, plan: Plan) -> Output:
    path = call.path(arguments.path)
    stat = await unfollowed(call.files, path)
    planned = plan.basis[str(path)]
    is_directory = planned is not None and planned.startswith(DIRECTORY)
    if stat.is_dir != is_directory:
        raise StaleFileError("something else is there now; nothing was deleted", path=str(path))
    identity = await call.identity(path)
    if is_directory:
        await call.files.remove_dir(path, recursive=arguments.recursive)
    else:
        await _delete_one(call, path, stat, planned)
    if stat.kind is not Kind.LINK:
        call.session.reads.forget(identity, path)
    done = plan.summary.removeprefix("delete ")
    return Output(f"Deleted {done}", {"path": str(path), "deleted": done})


async def _delete_one(call: ToolCall, path: StoragePath, stat: Stat, version: str | None) -> None:
    """A link has no version that a store compares; what it leads to does not count."""
    expected = UNSET if version is None or stat.kind is Kind.LINK else version
    await call.files.delete(path, expected_version=expected)


DELETE: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.DELETE,
    arguments=Delete,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
    replaces=True,
)
