"""The author's contract: what a storage must be able to do, and nothing else.

Users never see a provider; they hold a :class:`moorage.Filesystem`, which is written once over these primitives.
:mod:`moorage.memory` is the text to read before writing one, and :mod:`moorage.testing` decides whether it is right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import ClassVar, Final

from moorage.models import (
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    MakeDirOptions,
    Reader,
    Stat,
    WriteOptions,
)
from moorage.paths import StoragePath

WRITE: Final = WriteOptions()
DELETE: Final = DeleteOptions()
MAKE_DIR: Final = MakeDirOptions()


class Provider(ABC):
    """One storage, addressed by typed paths below its own root ``/``.

    Every method may be called concurrently, from any task, and cancelled at any await; cancellation leaves the old
    content or the new one and is never swallowed. Every failure is a :class:`moorage.MoorageError` whose ``path`` is
    the provider's own path as text; nothing else escapes. Iterators never yield inside a task group.

    What the layers above guarantee: paths are canonical; expectations are never ``None``; an options object is
    always given or the default one; ``start`` was awaited before any other primitive.
    """

    scheme: str
    """Short name of the kind of storage, e.g. ``"s3"``; appears in errors and in ``info()``."""

    mutating: ClassVar[frozenset[str]] = frozenset(
        {"write", "append", "delete", "copy", "move", "make_dir", "remove_dir"}
    )
    """The primitives that change something; what is not here changes nothing."""

    @abstractmethod
    async def start(self) -> None:
        """Connect. Idempotent; after ``aclose`` it connects again. Makes what must exist (e.g. a base directory)."""

    @abstractmethod
    async def aclose(self) -> None:
        """Give back connections, threads and handles. Idempotent."""

    @abstractmethod
    async def capabilities(self, path: StoragePath) -> Capabilities:
        """What this object can do. Cheap: no round trip."""

    @abstractmethod
    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        """The identity of the object at ``path``, then of every directory that holds it, outwards.

        Two providers share the first element exactly if it is the same stored object in both; a directory's first
        element is in the lineage of everything below it, through whichever provider that is reached, so also above
        this provider's own root as far as the storage goes. Transfers between mounts ask, so that nothing is copied
        onto or into itself. The object need not exist.
        """

    def subtree(self, prefix: StoragePath) -> Provider | None:
        """A provider of the same storage whose root is ``prefix``, confined to it by the store itself.

        A store that has links must answer, since renaming paths does not stop a link from leading out of ``prefix``.
        ``None`` (the default) says that no link can, so that :class:`moorage.Prefix` need only rename.
        """
        return None

    @abstractmethod
    async def stat(self, path: StoragePath) -> Stat:
        """Follows links; a link whose target is missing answers ``kind=link``. One round trip where the store allows.

        Raises:
            PathNotFoundError: nothing is there, also when a parent is a file.
            PathEscapeError, LinkLoopError: a link on the way leads out of the root, or never ends.
        """

    @abstractmethod
    def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        """Stream the children with their own stat, in the store's order; none is promised.

        ``recursive`` is flat: everything below, each directory once. Links are listed, not followed or entered.
        A directory below that cannot be listed is one entry with ``error``; the rest goes on.

        Raises (at the first item):
            PathNotFoundError: nothing is there; never an empty listing.
            PathNotDirectoryError: a file is there.
        """

    @abstractmethod
    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        """Open the half-open range ``[start, end)``, clipped to the size; ``start`` past the end serves no bytes.

        The reader serves one version of the content: a concurrent replacement is not mixed in.

        Raises:
            PathNotFoundError, PathIsDirectoryError, NotRegularFileError.
        """

    @abstractmethod
    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        """Replace or create, all or nothing, and return the new stat. The rules are in :class:`WriteOptions`.

        Raises:
            StaleFileError: the expectation does not hold, also when the file is gone.
            PathExistsError: ``overwrite=False`` and something is there.
            PathIsDirectoryError: a directory is there.
            PathNotDirectoryError: a file stands where a parent is needed.
            PathNotFoundError: ``create_parents=False`` and there is no parent (its ``path`` is the parent's).
            ConflictError: retryable conflict with a body that can be read once only.
        """

    @abstractmethod
    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        """Add to the end, creating the file if missing. Concurrent appends lose nothing. Raises as ``write``."""

    @abstractmethod
    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        """Remove one file; of a link, the link alone.

        Raises:
            PathNotFoundError; PathIsDirectoryError (never recursive); StaleFileError.
        """

    @abstractmethod
    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        """Copy one file within this provider, server-side where the store can. Onto itself: nothing happens.

        Raises:
            PathIsDirectoryError: ``src`` is a directory (trees are the layer above's), or ``dst`` is one.
            Otherwise as ``read`` and ``write``.
        """

    @abstractmethod
    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        """Move one file or link within this provider; a directory too where it is one atomic step and ``dst`` is free.

        A link moves as itself. Onto itself: nothing happens. Without an atomic move: copy, then delete ``src`` with
        the version that was copied (changed meanwhile: StaleFileError, both stay).

        Raises:
            UnsupportedError: ``src`` is a directory and this cannot be done in one step; the layer above moves it
                file by file.
            Otherwise as ``copy`` and ``delete``.
        """

    @abstractmethod
    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        """Make an empty directory that then exists, also on a store without directories (one hidden marker).

        Raises:
            PathExistsError: a file is there, or a directory and ``exist_ok=False``.
            PathNotFoundError: ``parents=False`` and there is no parent.
            PathNotDirectoryError: a file stands where a parent is needed.
        """

    @abstractmethod
    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        """Remove a directory; links below are removed, never followed.

        Raises:
            PathNotFoundError; PathNotDirectoryError (a file or link is there);
            DirectoryNotEmptyError (``recursive=False``); BusyError (the root).
        """

    async def sweep_leftovers(self, older_than: float) -> int:
        """Remove what killed writers left behind (temporaries, pending uploads) longer than so many seconds ago.

        Returns how many were removed; 0 where nothing can be left, as by default. Only on request, since it may walk
        the whole store. Nothing that is visible as content is touched.
        """
        return 0
