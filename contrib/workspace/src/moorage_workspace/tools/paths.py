"""What the tools that work on whole paths ask before they change anything."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from moorage import (
    BusyError,
    Entry,
    Filesystem,
    LinkLoopError,
    PathEscapeError,
    PathNotDirectoryError,
    PathNotFoundError,
    ReadOnlyError,
    Stat,
    StoragePath,
    TransferError,
)
from moorage_workspace.ignore_rules import mount_paths
from moorage_workspace.reads import ReadRecord, new_digest
from moorage_workspace.results import Plan
from moorage_workspace.text.counting import counted, first_of
from moorage_workspace.tools.call import ToolCall

_COUNTED: Final = 10_000
_NAMED: Final = 10
DIRECTORY: Final = "directory"
"""What a plan rests on where a directory is there, whatever it holds."""
_TREE: Final = f"{DIRECTORY} with "


@dataclass(frozen=True, slots=True)
class Content:
    """What a directory holds; ``more`` says that there is more than was counted.

    Attributes:
        digest: of the names, kinds, sizes and versions of what was counted.
    """

    directories: int = 0
    files: int = 0
    more: bool = False
    digest: str = ""

    @property
    def basis(self) -> str:
        """For a plan that rests on all of it; :func:`is_tree` knows such a plan by it."""
        return f"{_TREE}{self}, {self.digest}"

    @property
    def is_empty(self) -> bool:
        return self.directories == self.files == 0

    def __str__(self) -> str:
        entries = self.directories + self.files
        if self.more:
            return f"more than {entries:,} entries below it (beyond those, a change of them goes unseen)"
        return f"{counted(entries, 'entry', 'entries')} below it"


def is_tree(plan: Plan) -> bool:
    """Whether the plan takes a whole directory, with what is in it."""
    return any(version is not None and version.startswith(_TREE) for version in plan.basis.values())


async def check_writable(files: Filesystem, path: StoragePath) -> None:
    """Raise ReadOnlyError before anything is asked about a change that will not be."""
    if not (await files.capabilities(path)).writable:
        raise ReadOnlyError("this part of the workspace is read-only", path=str(path))


async def check_removable(files: Filesystem, path: StoragePath, doing: str) -> None:
    """Refuse what the workspace stands on.

    Raises:
        ReadOnlyError.
        BusyError: it is the root, a mount point, or has one below it.
    """
    await check_writable(files, path)
    mounts = mount_paths(files)
    if path.is_root:
        raise BusyError(f"the workspace's root cannot be {doing}; name what is in it", path=str(path))
    if path in mounts:
        raise BusyError(f"a mount point cannot be {doing}; name what is in it", path=str(path))
    inside = sorted(mount for mount in mounts if mount.is_below(path))
    if inside:
        raise BusyError(f"it cannot be {doing}, since {inside[0]} is mounted below it", path=str(path))


async def stat_or_none(files: Filesystem, path: StoragePath) -> Stat | None:
    """What is there; ``None`` for nothing."""
    try:
        return await files.stat(path)
    except (PathNotFoundError, PathNotDirectoryError):
        return None


async def unfollowed(files: Filesystem, path: StoragePath) -> Stat:
    """What is there, a link to a directory or to nowhere as a link. A link to a file may look like that file.

    Raises:
        PathNotFoundError.
    """
    try:
        stat = await files.stat(path)
    except (LinkLoopError, PathEscapeError):
        stat = None
    if stat is not None and (not stat.is_dir or path.is_root or not (await files.capabilities(path)).symlinks):
        return stat
    async with aclosing(files.scan_dir(path.parent)) as entries:
        async for entry in entries:
            if entry.path == path:
                return entry.stat
    raise PathNotFoundError("nothing is there", path=str(path))


async def content_of(files: Filesystem, directory: StoragePath) -> Content:
    """What a directory holds, counted up to a bound."""
    directories = plain = 0
    seen: list[str] = []
    async with aclosing(files.scan_dir(directory, recursive=True)) as entries:
        async for entry in entries:
            if len(seen) == _COUNTED:
                return Content(directories, plain, more=True, digest=_digest(seen))
            seen.append(_described(entry))
            directories += entry.is_dir
            plain += not entry.is_dir
    return Content(directories, plain, digest=_digest(seen))


def _described(entry: Entry) -> str:
    """A directory's own size and version tell nothing that those of its entries do not."""
    stat = entry.stat
    facts = () if entry.is_dir else (stat.size, stat.version, stat.link_target)
    return repr((entry.raw_name or str(entry.path), str(entry.kind), *facts))


def _digest(lines: list[str]) -> str:
    return new_digest("\n".join(sorted(lines)).encode("utf-8", "surrogatepass")).hexdigest()


async def first_entry(files: Filesystem, directory: StoragePath) -> Entry | None:
    """Any entry of a directory; ``None`` where it is empty."""
    async with aclosing(files.scan_dir(directory)) as entries:
        return await anext(entries, None)


def explained(error: TransferError) -> TransferError:
    """The error with the paths that arrived and those that did not, as far as there is room."""
    arrived = first_of(error.done, _NAMED)
    failed = "; ".join(f"{path}: {cause.message}" for path, cause in error.failed[:_NAMED])
    message = f"{error.message}. Arrived: {arrived or 'nothing'}. Not: {failed or 'nothing'}"
    return TransferError(
        message,
        done=error.done,
        failed=error.failed,
        operation=error.operation,
        path=error.path,
        provider=error.provider,
        retryable=error.retryable,
    )


def remember(
    call: ToolCall, record: ReadRecord | None, seen: Stat, identity: str, at: StoragePath, arrived: Stat
) -> None:
    """What the model knows of a file it also knows of the same content at another path.

    Args:
        record: of the file where it was, whose stat was ``seen``.
        identity: of the file that arrived ``at`` the path.
    """
    call.session.reads.forget(identity, at)
    if record is None or record.version != seen.version or arrived.size != record.size or not arrived.is_file:
        return
    for start, end in record.spans:
        call.session.reads.saw(identity, at, arrived, start, end, digest=record.digest)
