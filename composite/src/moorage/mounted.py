"""What stands at a mount point: a filesystem, one chosen per request, or a part of either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from moorage.errors import ClosedError, ContextRequiredError, MoorageError, UnavailableError
from moorage.filesystem import Filesystem
from moorage.models import Labels, MountPoint, ProviderStatus
from moorage.paths import StoragePath
from moorage.provider import Provider
from moorage.resolve import LeasingResolver, RequestContext
from moorage.turns import Turn
from moorage.wrappers import Prefix

UNRESOLVED: Final = "resolver"


class Mount(ABC):
    """One mount's storage, opened at first touch and again after a failure.

    ``ready`` is the open provider, or ``None`` while :meth:`touch` still has to be awaited.
    """

    def __init__(self) -> None:
        self.ready: Provider | None = None
        self._turn = Turn()
        self._closed = False

    async def touch(self) -> Provider:
        """The open provider; one task opens it, the others wait.

        Raises:
            ClosedError: the tree that mounts it was closed.
            MoorageError: why it cannot be opened; the next touch tries again.
        """
        async with self._turn.lock():
            if self._closed:
                raise ClosedError("the tree that mounts this is closed")
            if self.ready is None:
                self.ready = await self.open()
            return self.ready

    def reopen(self) -> None:
        """Allow touches again after :meth:`aclose`."""
        self._closed = False

    async def aclose(self) -> None:
        """Give the storage back, once whoever is opening it is done. Idempotent."""
        self._closed = True
        async with self._turn.lock():
            ready, self.ready = self.ready, None
            if ready is not None:
                await self.close(ready)
        self._turn.reset()

    @abstractmethod
    async def open(self) -> Provider:
        """Open the storage. Raises as :meth:`touch`."""

    @abstractmethod
    async def close(self, provider: Provider) -> None:
        """Close what :meth:`open` opened."""

    @abstractmethod
    def describe(self, path: StoragePath) -> MountPoint:
        """How it shows in a listing of the tree that mounts it at ``path``. No I/O."""

    @abstractmethod
    def fresh(self) -> Mount:
        """The same storage, to be opened and closed apart from this mount."""

    def bound(self, context: RequestContext) -> Mount:
        """This mount as one request sees it; itself unless the request chooses."""
        return self


class FixedMount(Mount):
    """A filesystem, kept open by a lease from the first touch until :meth:`aclose`."""

    def __init__(self, filesystem: Filesystem) -> None:
        super().__init__()
        self._filesystem = filesystem

    def fresh(self) -> Mount:
        return FixedMount(self._filesystem)

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
        super().__init__()
        self._resolver = resolver
        self._context = context
        self._filesystem: Filesystem | None = None
        self._error: MoorageError | None = None

    def fresh(self) -> Mount:
        return ChosenMount(self._resolver, self._context)

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
        super().__init__()
        self._outer = outer
        self._prefix = prefix

    def fresh(self) -> Mount:
        return SubtreeMount(self._outer.fresh(), self._prefix)

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
