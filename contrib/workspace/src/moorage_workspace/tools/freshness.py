"""Is a file still what the model has seen of it? Asked before a call, and again under its lock."""

from __future__ import annotations

from moorage import StoragePath
from moorage_workspace.errors import ChangedSinceReadError, FileReadRequiredError
from moorage_workspace.reads import DIGESTED, ReadRecord, digest_of
from moorage_workspace.results import Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.paths import stat_or_none
from moorage_workspace.tools.tool import Targets


async def check_reads(call: ToolCall, targets: Targets, *, replaces: bool) -> None:
    """Refuse a call on a file that changed since it was read, or, where that is required, was never read.

    A new file needs no read. A file that was only touched is taken as read.

    Raises:
        FileReadRequiredError, ChangedSinceReadError.
    """
    for path in targets.writes:
        identity = await call.identity(path)
        record = call.session.reads.get(identity)
        if record is None and not call.read_required:
            continue
        stat = await stat_or_none(call.files, path)
        if record is not None:
            await _compare(call, path, identity, record, stat.version if stat else None, None)
        if stat is None or not stat.is_file or not call.read_required:
            continue
        if record is None:
            raise FileReadRequiredError("read the file first, it exists and was not read yet", path=str(path))
        if replaces and not record.whole:
            raise FileReadRequiredError(
                "only a part of this file was read; read the rest first, or change the part with an edit",
                path=str(path),
            )


async def check_basis(call: ToolCall, plan: Plan) -> None:
    """Refuse a plan that rests on another version than the one that was read.

    Raises:
        ChangedSinceReadError.
    """
    contents = {change.path: change.before for change in plan.changes}
    for text, version in plan.basis.items():
        path = StoragePath.parse(text)
        identity = await call.held_identity(path)
        record = call.session.reads.get(identity)
        if record is not None:
            await _compare(call, path, identity, record, version, contents.get(path))


async def _compare(
    call: ToolCall, path: StoragePath, identity: str, record: ReadRecord, version: str | None, content: bytes | None
) -> None:
    if version is None:
        raise ChangedSinceReadError(
            "the file is gone since it was read", path=str(path), expected=record.version, actual=None
        )
    if version == record.version:
        return
    if await _same_content(call, path, record, content):
        call.session.reads.touched(identity, version)
        return
    raise ChangedSinceReadError(
        "the file changed since it was read; read it again", path=str(path), expected=record.version, actual=version
    )


async def _same_content(call: ToolCall, path: StoragePath, record: ReadRecord, content: bytes | None) -> bool:
    if record.digest is None or record.size > DIGESTED:
        return False
    if content is None:
        stat = await stat_or_none(call.files, path)
        if stat is None or not stat.is_file or stat.size != record.size:
            return False
        content = await call.files.read_bytes(path)
    return digest_of(content) == record.digest
