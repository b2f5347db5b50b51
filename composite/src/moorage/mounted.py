"""What stands at a mount point: a filesystem, one chosen per request, or a part of either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import anyio

from moorage.errors import ContextRequiredError, MoorageError, UnavailableError
from moorage.filesystem import Filesystem
from moorage.models import Labels, MountPoint, ProviderStatus
from moorage.paths import StoragePath
from moorage.provider import Provider
from moorage.resolve import LeasingResolver, RequestContext
from moorage.wrappers import Prefix, is_read_only

UNRESOLVED: Final = "resolver"


class Mount(ABC):
    """One mount's storage, opened at first touch and again after a failure.

    ``ready`` is the open provider, or ``None`` while :meth:`touch` still has to be awaited.
    """

    ready: Provider | None = None
    _lock: anyio.Lock | None = None

    async def touch(self) -> Provider:
        """The open provider; one task opens it, the others wait.

        Raises:
            MoorageError: why it cannot be opened; the next touch tries again.
        """
        if self._lock is None:
            self._lock = anyio.Lock()
        async with self._lock:
            if self.ready is None:
                self.ready = await self.open()
            return self.ready

    async def aclose(self) -> None:
        """Give the storage back. Idempotent."""
        ready, self.ready, self._lock = self.ready, None, None
        if ready is not None:
            await self.close(ready)

    @abstractmethod
    async def open(self) -> Provider:
        """Open the storage. Raises as :meth:`touch`."""

    @abstractmethod
    async def close(self, provider: Provider) -> None:
        """Close what :meth:`open` opened."""

    @abstractmethod
    def describe(self, path: StoragePath) -> MountPoint:
        """How it shows in a listing of the tree that mounts it at ``path``. No I/O."""

    def bound(self, context: RequestContext) -> Mount:
        """This mount as one request sees it; itself unless the request chooses."""
        return self


class FixedMount(Mount):
    """A filesystem, kept open by a lease from the first touch until :meth:`aclose`."""

    def __init__(self, filesystem: Filesystem) -> None:
        self._filesystem = filesystem

    async def open(self) -> Provider:
        await self._filesystem.lifecycle.lease()
        return self._filesystem.provider

    async def close(self, provider: Provider) -> None:
        await self._filesystem.lifecycle.release()

    def describe(self, path: StoragePath) -> MountPoint:
        info = self._filesystem.info()
        return MountPoint(path, info.provider, info.read_only, info.status, info.labels, info.error)


class ChosenMount(Mount):
    """A filesystem that a resolver chooses for one request; without a request it cannot be touched."""

    def __init__(self, resolver: LeasingResolver, context: RequestContext | None = None) -> None:
        self._resolver = resolver
        self._context = context
        self._filesystem: Filesystem | None = None
        self._error: MoorageError | None = None

    def bound(self, context: RequestContext) -> Mount:
        return ChosenMount(self._resolver, context)

    async def open(self) -> Provider:
        if self._context is None:
            raise ContextRequiredError("this mount is chosen per request: use `async with tree.resolve(context)`")
        try:
            self._filesystem = await self._resolver.acquire(self._context)
        except MoorageError as error:
            self._error = error
            raise
        except Exception as error:
            self._error = UnavailableError(f"the resolver of this mount failed: {type(error).__name__}")
            raise self._error from error
        self._error = None
        return self._filesystem.provider

    async def close(self, provider: Provider) -> None:
        filesystem, self._filesystem = self._filesystem, None
        if filesystem is not None:
            await self._resolver.release(filesystem)

    def describe(self, path: StoragePath) -> MountPoint:
        if self._filesystem is not None:
            info = self._filesystem.info()
            return MountPoint(path, info.provider, info.read_only, info.status, info.labels, info.error)
        status = ProviderStatus.PENDING if self._error is None else ProviderStatus.ERROR
        message = None if self._error is None else self._error.message
        return MountPoint(path, UNRESOLVED, read_only=False, status=status, labels=Labels(), error=message)


class SubtreeMount(Mount):
    """A directory of another mount, as a mount of its own."""

    def __init__(self, outer: Mount, prefix: StoragePath) -> None:
        self._outer = outer
        self._prefix = prefix

    def bound(self, context: RequestContext) -> Mount:
        return SubtreeMount(self._outer.bound(context), self._prefix)

    async def open(self) -> Provider:
        part = Prefix(self._outer.ready or await self._outer.touch(), self._prefix)
        await part.start()
        return part

    async def close(self, provider: Provider) -> None:
        try:
            await provider.aclose()
        finally:
            await self._outer.aclose()

    def describe(self, path: StoragePath) -> MountPoint:
        return self._outer.describe(path)


def read_only(mount: Mount, path: StoragePath) -> bool:
    """Whether nothing can be written through this mount; unknown means that something may."""
    return mount.describe(path).read_only if mount.ready is None else is_read_only(mount.ready)
