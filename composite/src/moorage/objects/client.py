"""The port between :class:`moorage.objects.ObjectStoreProvider` and one flat object store.

A client speaks of keys and whole requests; directories, markers, names and paths are the provider's. Keys are the
store's own, prefix included. A client is thin: it signs, sends, retries what is safe to repeat, and maps its SDK's
errors to Moorage's, with ``path`` left ``None``: the provider knows the path. Every call may run concurrently with
any other and be cancelled at any await; a cancelled upload leaves neither a partial object nor a pending upload.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from moorage.errors import MoorageError
from moorage.models import Body


class Presence(Enum):
    """A condition on whether the key holds an object; see :data:`ABSENT` and :data:`EXISTS`."""

    ABSENT = "absent"
    EXISTS = "exists"


ABSENT: Final = Presence.ABSENT
"""The key must be free (S3 ``If-None-Match: *``, GCS ``ifGenerationMatch=0``)."""

EXISTS: Final = Presence.EXISTS
"""The key must hold an object (S3 ``If-Match: *``; on GCS a delete without condition says the same)."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The key must hold this version (S3 ``If-Match``, GCS ``ifGenerationMatch``); a free key does not match."""

    version: str


Condition = Presence | Matches
"""What must hold for a request to happen, judged by the store in the same step; ``None`` stands for no condition."""


class PreconditionFailed(Exception):  # noqa: N818 - the name of the status that it stands for
    """The store refused a request because its condition does not hold; nothing was changed by it.

    A signal inside the port, never seen by users: the provider turns it into the error that the caller's options
    mean. A 409 that asks to try again is no such thing but a ``ConflictError``.

    Attributes:
        retried: the refused request repeated one whose answer was lost, what is stored now is not what this client
            sent (it looked), and yet the lost attempt may have taken effect before somebody else's change.
    """

    def __init__(self, key: str, *, retried: bool = False) -> None:
        super().__init__(f"precondition failed: {key!r}")
        self.key = key
        self.retried = retried


@dataclass(frozen=True, slots=True)
class ObjectFeatures:
    """What the store enforces and how much a request takes. ``False`` means: silently ignored or refused.

    Attributes:
        conditional_put: ``ABSENT`` and ``Matches`` on puts of every size, the empty and the multipart one included.
        conditional_delete: ``Matches`` on ``delete``.
        conditional_copy: ``ABSENT`` and ``Matches`` on the destination of ``copy``.
        conditional_source: ``source_version`` of ``copy``.
        delete_reports_missing: ``delete`` with ``EXISTS`` raises ``PathNotFoundError`` for a free key, in one request.
        copy_reports_size: the answer to ``copy`` has the size.
        native_move: ``move`` works, in one atomic step, with the conditions of ``copy``.
        native_append_from: size in bytes of the present object from which ``append`` is the better way than reading
            and writing it again; 0: always; ``None``: ``append`` does not work.
        page_size: most items on one page of ``list``.
        delete_batch: most keys that ``delete_many`` takes.
        max_key_bytes: longest key, in bytes of UTF-8.
        max_object_size: bytes, or ``None`` where no limit is known.
        mtime_resolution: seconds between two times that ``modified_at`` can tell apart.
    """

    conditional_put: bool = True
    conditional_delete: bool = True
    conditional_copy: bool = True
    conditional_source: bool = True
    delete_reports_missing: bool = True
    copy_reports_size: bool = False
    native_move: bool = False
    native_append_from: int | None = None
    page_size: int = 1000
    delete_batch: int = 1000
    max_key_bytes: int = 1024
    max_object_size: int | None = None
    mtime_resolution: float = 1.0


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What the store says of one object.

    Attributes:
        size: bytes of the whole object, also in the answer to a ranged ``get``; ``None`` only in the answer to
            ``copy`` where ``copy_reports_size`` is false.
        version: opaque; what ``Matches`` takes. ETag on S3, generation on GCS.
        modified_at: aware UTC, floored to ``mtime_resolution`` so that listing, head and get agree; ``None`` where
            the answer does not say (S3's answer to a put).
        checksum: ``"algorithm:hex"`` of the whole content, only where it is one.
        media_type: ``None`` where the answer does not say (S3's listings).
    """

    key: str
    size: int | None
    version: str
    modified_at: datetime | None = None
    created_at: datetime | None = None
    checksum: str | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectBody:
    """An open download: info and bytes of one response. ``aclose`` frees the connection, read to the end or not."""

    info: ObjectInfo
    chunks: bytes | AsyncIterator[bytes]
    aclose: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """One page of a listing. ``more`` says whether pages follow that were not asked for yet.

    ``prefixes`` are whole keys up to and including the delimiter; a store may repeat them on later pages.
    """

    objects: tuple[ObjectInfo, ...] = ()
    prefixes: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class DeleteFailure:
    """One key of a batch that was not deleted, and why."""

    key: str
    error: MoorageError


@dataclass(frozen=True, slots=True)
class GetOptions:
    """The half-open range ``[start, end)``, and the version that must be served (``None``: the present one)."""

    start: int = 0
    end: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class PutOptions:
    """What must hold, and the media type to store; ``None`` leaves it to the store."""

    condition: Condition | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class KeyDeleteOptions:
    """What must hold."""

    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How to copy or move one object.

    Attributes:
        condition: on the destination.
        source_version: the version that must be copied; ``None``: the present one.
        source_size: of that version, where it is known: decides between one request and several.
        media_type: replaces the source's; ``None`` keeps it.
    """

    condition: Condition | None = None
    source_version: str | None = None
    source_size: int | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list below a prefix.

    Attributes:
        delimiter: keys that have it after the prefix are folded into ``prefixes``; ``None`` lists flat.
        start_after: only keys greater than this.
        limit: stop after about so many items, asking the store for no more; ``None``: all, in pages as large as the
            store gives.
    """

    delimiter: str | None = None
    start_after: str | None = None
    limit: int | None = None


GET: Final = GetOptions()
PUT: Final = PutOptions()
DELETE_KEY: Final = KeyDeleteOptions()
COPY: Final = CopyOptions()
LIST: Final = ListOptions()


class ObjectClient(ABC):
    """Nine operations on the keys of one bucket.

    Unless said otherwise an operation raises ``PathNotFoundError`` for a missing key, ``PreconditionFailed`` for a
    condition that does not hold, ``ConflictError`` where the store asks to try again, ``PermissionDeniedError``,
    ``LimitExceededError``, ``OperationTimeoutError``, ``UnavailableError`` or ``StorageError``; nothing else.
    """

    scheme: str
    """Short name of the kind of store, e.g. ``"s3"``."""

    identity: str
    """Endpoint and bucket: equal for two clients exactly if equal keys name the same object. No secret in it."""

    @property
    @abstractmethod
    def features(self) -> ObjectFeatures:
        """What is known now, without a request."""

    @abstractmethod
    async def probe(self) -> ObjectFeatures:
        """The features with every condition found out; awaited before each request that has one.

        Asks the store at most once, remembers, and leaves nothing behind in it.
        """

    @abstractmethod
    async def start(self) -> None:
        """Connect. Idempotent; after ``aclose`` it connects again."""

    @abstractmethod
    async def aclose(self) -> None:
        """Give back connections. Idempotent."""

    @abstractmethod
    async def head(self, key: str) -> ObjectInfo:
        """What the store says of the object; one request."""

    @abstractmethod
    async def get(self, key: str, options: GetOptions = GET) -> ObjectBody:
        """Open the range, clipped to the size; nothing of it left gives no bytes. One request for a range that exists.

        All bytes are of the version in the answer's info. A store that answers a range with the whole is an error.
        """

    @abstractmethod
    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        """Store all of the body or nothing; one request, or several for a large body: that is the client's choice.

        An answer that was lost is not reported as such where the client can find out what happened: a condition
        that fails on a repetition is checked against what is stored (a nonce or checksum), and the own write is
        recognised.

        Raises:
            ConflictError: the store asks to try again. A body of bytes is sent again by the provider.
        """

    @abstractmethod
    async def append(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        """Add to the end within the store, creating the object if missing.

        Raises:
            UnsupportedError: the store cannot; ``features.native_append_from`` is ``None``.
        """

    @abstractmethod
    async def delete(self, key: str, options: KeyDeleteOptions = DELETE_KEY) -> None:
        """Delete one object.

        Without a condition a missing key may pass silently. ``EXISTS`` on a missing key raises ``PathNotFoundError``,
        ``Matches`` on one ``PreconditionFailed``, whatever status the store has for them.
        """

    @abstractmethod
    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        """Delete at most ``features.delete_batch`` objects and return every failure; a missing key is none."""

    @abstractmethod
    async def copy(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        """Copy one object of any size within the store; metadata comes along. ``PathNotFoundError`` means ``src``."""

    @abstractmethod
    async def move(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        """Move one object in one atomic step. ``PathNotFoundError`` means ``src``.

        Raises:
            UnsupportedError: the store cannot; ``features.native_move`` is false.
        """

    @abstractmethod
    def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        """Stream pages, one request each, in no promised order; without a limit the next may be asked for ahead.

        A prefix without keys gives one empty page.
        """
