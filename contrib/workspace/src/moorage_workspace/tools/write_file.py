"""write_file: a whole new content, never over something that nobody has looked at since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from moorage import (
    Kind,
    NoMountError,
    PathExistsError,
    PathNotFoundError,
    StaleFileError,
    Stat,
    StoragePath,
)
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.results import Change, Output, Plan
from moorage_workspace.text.counting import counted
from moorage_workspace.threads import worked
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.contents import SHOWN
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.paths import check_writable
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_AT_ONCE: Final = 1024 * 1024
"""Characters up to which a thread is not worth it."""


class WriteFile(Arguments):
    path: str = Field(description="The file to write.")
    content: str = Field(description="The whole new content.")
    overwrite: bool = Field(default=True, description="Replace a file that is there; false refuses.")


def _describe(options: Mapping[str, object]) -> str:
    parts = ["Write a whole file, creating it and its directories, or replacing what it holds."]
    if options.get("require_read_before_write"):
        parts.append("A file that is there must have been read to its end first.")
    parts.append("Refused if the file changed since you read it.")
    if options["max_write_bytes"] is not None:
        parts.append(f"At most {options['max_write_bytes']:,} bytes.")
    return " ".join(parts)


def _targets(call: ToolCall, arguments: WriteFile) -> Targets:
    return Targets(writes=(call.path(arguments.path),))


async def _plan(call: ToolCall, arguments: WriteFile) -> Plan:
    path, text = call.path(arguments.path), arguments.content
    content = await worked(encoded, text, "content", at_once=len(text) <= _AT_ONCE)
    size = counted(len(content), "byte")
    most = call.options["max_write_bytes"]
    if isinstance(most, int) and len(content) > most:
        raise ToolRefusedError(
            f"the content has {size}, and {most:,} may be written at once; write less",
            refusal=Refusal.TOO_LARGE,
            path=arguments.path,
        )
    try:
        async with call.files.open_read(path) as reader:
            stat = reader.stat
            before = await reader.read() if stat.size <= SHOWN else None
    except NoMountError:
        raise
    except PathNotFoundError:
        await check_writable(call.files, path)
        return Plan(f"create {path} with {size}", (Change(path, None, content, None),), {str(path): None})
    if not arguments.overwrite:
        raise PathExistsError("the file exists already, and overwrite is false", operation="write", path=arguments.path)
    await check_writable(call.files, path)
    return Plan(
        f"replace {path}, {counted(stat.size, 'byte')}, with {size}",
        (Change(path, before, content, stat.version),),
        {str(path): stat.version},
    )


async def _act(call: ToolCall, arguments: WriteFile, plan: Plan) -> Output:
    change = plan.changes[0]
    content, path = bytes(change.after or b""), change.path
    creates = plan.basis[str(path)] is None
    if change.version is not None:
        stat = await call.files.write_bytes(path, content, expected_version=change.version)
    else:
        stat = await _created(call, path, content, overwrite=not creates, replaces=arguments.overwrite)
    identity = await (call.identity(path) if creates else call.held_identity(path))  # made directories change it
    call.session.reads.wrote(identity, path, stat, content)
    facts = {"path": str(path), "size": stat.size, "created": creates}
    return Output(f"{'Created' if creates else 'Replaced'} {path} ({stat.size} bytes)", facts)


async def _created(call: ToolCall, path: StoragePath, content: bytes, *, overwrite: bool, replaces: bool) -> Stat:
    """Write where nothing was; through a link whose target is missing, too, if ``replaces``."""
    try:
        return await call.files.write_bytes(path, content, overwrite=overwrite)
    except PathExistsError as error:
        if not replaces:
            raise
        if (await call.files.stat(path)).kind is Kind.LINK:
            return await call.files.write_bytes(path, content)
        raise StaleFileError(
            "something was created there meanwhile; read it before it is replaced", operation="write", path=error.path
        ) from None


def encoded(text: str, what: str) -> bytes:
    """The text in UTF-8.

    Raises:
        ToolRefusedError: it holds half a character, as a wrong ``\\u`` escape leaves it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolRefusedError(f"{what} holds half a character (a lone surrogate) at position {error.start}") from None


WRITE_FILE: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.WRITE_FILE,
    arguments=WriteFile,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
    options={"max_write_bytes": None},
    replaces=True,
)
