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

    @abstractmethod
    async def touch(self) -> Provider:
        """The open provider.

        Raises:
            MoorageError: why it cannot be opened; the next touch tries again.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Give the storage back. Idempotent."""

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
        self._lock = anyio.Lock()

    async def touch(self) -> Provider:
        async with self._lock:
            if self.ready is None:
                await self._filesystem.lifecycle.lease()
                self.ready = self._filesystem.provider
            return self.ready

    async def aclose(self) -> None:
        if self.ready is not None:
            self.ready = None
            await self._filesystem.lifecycle.release()

    def describe(self, path: StoragePath) -> MountPoint:
        info = self._filesystem.info()
        return MountPoint(path, info.provider, info.read_only, info.status, info.labels, info.error)


class ChosenMount(Mount):
    """A filesystem that a resolver chooses for one request; without a request it cannot be touched."""

    def __init__(self, resolver: LeasingResolver, context: RequestContext | None = None) -> None:
        self._resolver = resolver
        self._context = context
        self._lock = anyio.Lock()
        self._filesystem: Filesystem | None = None
        self._error: MoorageError | None = None

    def bound(self, context: RequestContext) -> Mount:
        return ChosenMount(self._resolver, context)

    async def touch(self) -> Provider:
        if self._context is None:
            raise ContextRequiredError("this mount is chosen per request: use `async with tree.resolve(context)`")
        async with self._lock:
            if self.ready is None:
                self._filesystem = await self._acquire(self._context)
                self.ready = self._filesystem.provider
            return self.ready

    async def _acquire(self, context: RequestContext) -> Filesystem:
        try:
            filesystem = await self._resolver.acquire(context)
        except MoorageError as error:
            self._error = error
            raise
        except Exception as error:
            self._error = UnavailableError(f"the resolver of this mount failed: {type(error).__name__}")
            raise self._error from error
        self._error = None
        return filesystem

    async def aclose(self) -> None:
        filesystem, self._filesystem, self.ready = self._filesystem, None, None
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
        self._lock = anyio.Lock()

    def bound(self, context: RequestContext) -> Mount:
        return SubtreeMount(self._outer.bound(context), self._prefix)

    async def touch(self) -> Provider:
        async with self._lock:
            if self.ready is None:
                part = Prefix(self._outer.ready or await self._outer.touch(), self._prefix)
                await part.start()
                self.ready = part
            return self.ready

    async def aclose(self) -> None:
        part, self.ready = self.ready, None
        try:
            if part is not None:
                await part.aclose()
        finally:
            await self._outer.aclose()

    def describe(self, path: StoragePath) -> MountPoint:
        return self._outer.describe(path)


def read_only(mount: Mount, path: StoragePath) -> bool:
    """Whether nothing can be written through this mount; unknown means that something may."""
    return mount.describe(path).read_only if mount.ready is None else is_read_only(mount.ready)
