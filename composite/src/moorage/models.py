"""The values that cross the contract: frozen, slotted, free of behaviour that does I/O."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from types import TracebackType
from typing import Final, Literal, Self

from moorage.errors import MoorageError
from moorage.paths import StoragePath


class Unset(Enum):
    """The type of :data:`UNSET`, so that "not given" differs from ``None``."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""No expectation was given. ``None`` is never an expectation: it is refused, so that a missing time cannot turn a
guarded write into an unguarded one."""

Body = bytes | AsyncIterable[bytes]
"""What is written: bytes, which can be sent again, or chunks, which can be read once."""


class Kind(StrEnum):
    """What an entry is. A link is reported as such by listings; ``stat`` follows it unless it dangles."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"


class ProviderStatus(StrEnum):
    """The life of a provider, as ``info()`` and mount entries report it."""

    PENDING = "pending"
    INITIALIZING = "initializing"
    READY = "ready"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DESTROYING = "destroying"
    DESTROYED = "destroyed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Stat:
    """What a store says of one object.

    Attributes:
        kind: file, directory, link, or other (FIFO, socket, device: never opened).
        size: bytes; 0 for directories.
        version: opaque; changes whenever the content changes; ``None`` for directories.
        modified_at: aware UTC, at most microseconds, floored; ``None`` where the store did not say.
        created_at: aware UTC, or ``None``.
        checksum: ``"algorithm:hex"`` of the whole content, or ``None``.
        media_type: as stored, or ``None``.
        mode: permission bits, or ``None`` where the store has none.
        link_target: of a link: its target as stored, or ``None`` when that leads out of the root.
    """

    kind: Kind
    size: int = 0
    version: str | None = None
    modified_at: datetime | None = None
    created_at: datetime | None = None
    checksum: str | None = None
    media_type: str | None = None
    mode: int | None = None
    link_target: str | None = None

    @property
    def is_file(self) -> bool:
        return self.kind is Kind.FILE

    @property
    def is_dir(self) -> bool:
        return self.kind is Kind.DIRECTORY


@dataclass(frozen=True, slots=True)
class Labels:
    """How a filesystem presents itself to people and models."""

    display_name: str | None = None
    icon: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class MountPoint:
    """One mount, as listings and ``info()`` show it.

    Attributes:
        path: where it is mounted.
        provider: the provider's scheme; ``"resolver"`` for a mount that no request has touched yet.
        status: of the provider; a failed mount has ``error`` too.
        error: why it failed, in words; ``None`` otherwise.
    """

    path: StoragePath
    provider: str
    read_only: bool
    status: ProviderStatus
    labels: Labels = Labels()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing.

    Attributes:
        path: ``None`` when no path can express the stored name.
        stat: the entry's own stat; a link is not followed.
        raw_name: the stored name as bytes, given when ``path`` is ``None``.
        mount: given when the entry is a mount point.
        error: given on a directory whose content could not be listed; what is below it is missing from this listing.
    """

    path: StoragePath | None
    stat: Stat
    raw_name: bytes | None = None
    mount: MountPoint | None = None
    error: MoorageError | None = None

    @property
    def name(self) -> str:
        """The last segment; of a name that no path can express, a readable form that cannot be used as a path."""
        if self.path is not None:
            return self.path.name
        return (self.raw_name or b"").decode("utf-8", "backslashreplace")

    @property
    def kind(self) -> Kind:
        return self.stat.kind

    @property
    def size(self) -> int:
        return self.stat.size

    @property
    def modified_at(self) -> datetime | None:
        return self.stat.modified_at

    @property
    def is_file(self) -> bool:
        return self.stat.kind is Kind.FILE

    @property
    def is_dir(self) -> bool:
        return self.stat.kind is Kind.DIRECTORY


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write, append, or place a copy. The expectations speak of the **destination**.

    Attributes:
        overwrite: ``False`` refuses an existing file, atomically.
        create_parents: ``False`` refuses a missing parent directory.
        expected_mtime: what ``stat`` said; compared for equality at the store's resolution.
        expected_version: wins over ``expected_mtime`` when both are given.
        media_type: stored where the store can.
        mode: permission bits of a new file where the store has them; a replaced file keeps its own.
        follow_links: of ``copy``: ``False`` recreates a link instead of copying what it leads to.
        on_bytes: called with the number of further bytes as a copy or move streams them; a provider that copies in
            one step need not call it. Must not block.
    """

    overwrite: bool = True
    create_parents: bool = True
    expected_mtime: datetime | Unset = UNSET
    expected_version: str | Unset = UNSET
    media_type: str | None = None
    mode: int | None = None
    follow_links: bool = True
    on_bytes: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    @property
    def has_expectation(self) -> bool:
        return self.expected_version is not UNSET or self.expected_mtime is not UNSET


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What must still be there for a delete to happen; see :class:`WriteOptions`."""

    expected_mtime: datetime | Unset = UNSET
    expected_version: str | Unset = UNSET

    @property
    def has_expectation(self) -> bool:
        return self.expected_version is not UNSET or self.expected_mtime is not UNSET


@dataclass(frozen=True, slots=True)
class MakeDirOptions:
    """``parents=False`` refuses a missing parent; ``exist_ok=False`` refuses an existing directory."""

    parents: bool = True
    exist_ok: bool = True


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What changes a caller's decision about one object, through its wrappers and mounts.

    Attributes:
        conditional_write: ``atomic``: the store refuses a stale write itself; ``guarded``: a check under a lock that
            other programs may not take; ``none``: expectations are refused.
        atomic_move: a file or directory moves within the provider in one step.
        real_directories: a directory exists without entries and outlives its last child.
        mtime_resolution: seconds between two times that ``modified_at`` can tell apart.
        max_object_size: bytes, or ``None`` where no limit is known.
        native_path: the host path of this object, to be bound into a sandbox; ``None`` where there is none, or where
            a wrapper's restriction would not hold through it. Not shown by ``repr``.
    """

    writable: bool = True
    conditional_write: Literal["atomic", "guarded", "none"] = "atomic"
    atomic_move: bool = False
    real_directories: bool = True
    server_side_copy: bool = False
    symlinks: bool = False
    case_sensitive: bool = True
    mtime_resolution: float = 1e-6
    max_object_size: int | None = None
    native_path: str | None = field(default=None, repr=False)


class Reader:
    """An open read: the stat of exactly the bytes served, and the bytes as chunks.

    ``async for chunk in reader``, or ``await reader.read()`` for all of it. Closing is idempotent; leaving the
    ``async with`` block closes. The stat comes from the same response or handle as the bytes.
    """

    __slots__ = ("_body", "_close", "stat")

    def __init__(
        self,
        stat: Stat,
        body: bytes | AsyncIterator[bytes],
        aclose: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.stat = stat
        self._body: bytes | AsyncIterator[bytes] | None = body
        self._close = aclose

    @property
    def data(self) -> bytes | None:
        """The whole range, where the provider had it in one piece; ``None`` where it streams or was consumed."""
        return self._body if isinstance(self._body, bytes) else None

    async def read(self) -> bytes:
        """All bytes that are left; memory grows with them."""
        body = self._body
        if isinstance(body, bytes):
            self._body = None
            return body
        return b"".join([chunk async for chunk in self])

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        body = self._body
        if body is None:
            raise StopAsyncIteration
        if isinstance(body, bytes):
            self._body = None
            if not body:
                raise StopAsyncIteration
            return body
        return await body.__anext__()

    async def aclose(self) -> None:
        self._body = None
        close, self._close = self._close, None
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a transfer has come; totals are ``None`` until they are known."""

    path: StoragePath
    files_done: int = 0
    bytes_done: int = 0
    files_total: int | None = None
    bytes_total: int | None = None


OnProgress = Callable[[Progress], None]
"""Called from the event loop, often; must not block."""


@dataclass(frozen=True, slots=True)
class FilesystemInfo:
    """What a filesystem says of itself; ``mounts`` is empty unless it is a composite."""

    provider: str
    read_only: bool
    status: ProviderStatus
    labels: Labels = Labels()
    error: str | None = None
    mounts: tuple[MountPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree holds. ``errors`` names the directories that could not be counted."""

    files: int = 0
    directories: int = 0
    size: int = 0
    errors: tuple[MoorageError, ...] = ()
