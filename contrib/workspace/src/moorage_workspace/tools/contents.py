"""The contents that a question shows of what would be lost, and of what would come in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from moorage import Stat, StoragePath
from moorage_workspace.results import Change
from moorage_workspace.tools.call import ToolCall

SHOWN: Final = 1024 * 1024
"""Bytes of a file up to which they are read for a diff."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A content of which only the size is known, being too large for a diff."""

    size: int

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        raise ValueError("this content was not read")


async def lost(call: ToolCall, path: StoragePath, stat: Stat) -> Change:
    """The file, gone."""
    return Change(path, await _read(call, path, stat), None, stat.version)


async def placed(call: ToolCall, source: StoragePath, seen: Stat, at: StoragePath, replaced: Stat | None) -> Change:
    """The content of the file ``source``, at another path, where another file may be."""
    after = await _read(call, source, seen)
    before = None if replaced is None else await _read(call, at, replaced)
    version = None if replaced is None else replaced.version
    return Change(at, before, Unread(seen.size) if after is None else after, version)


async def _read(call: ToolCall, path: StoragePath, stat: Stat) -> bytes | None:
    """What is there now; ``None`` where it is too large. Of a file that grew meanwhile the plan is void anyway."""
    return await call.files.read_bytes(path, 0, stat.size) if stat.size <= SHOWN else None
