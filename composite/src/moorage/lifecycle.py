"""When a provider starts and stops: one start at a time, retried after a failure, closed when nobody holds it."""

from __future__ import annotations

import anyio

from moorage.errors import ClosedError, MoorageError, UnavailableError
from moorage.models import ProviderStatus
from moorage.provider import Provider
from moorage.turns import Turn


class Lifecycle:
    """The status of one provider, shared by every filesystem and tree that uses it.

    A holder takes a lease; the provider closes when the last lease is released. A provider that is merely touched
    starts without a lease.
    """

    __slots__ = ("_leases", "_turn", "error", "provider", "status")

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.status = ProviderStatus.PENDING
        self.error: MoorageError | None = None
        self._leases = 0
        self._turn = Turn()

    async def ensure(self) -> None:
        """Start on first touch; a failed start is tried again.

        Raises:
            ClosedError: it was closed; only a new lease opens it again.
            MoorageError: why it did not start.
        """
        if self.status is ProviderStatus.READY:
            return
        if self.status is ProviderStatus.DESTROYED:
            raise ClosedError("the filesystem is closed; init() opens it again", provider=self.provider.scheme)
        await self._start()

    async def lease(self) -> None:
        """Open, and keep open until :meth:`release`. A failed start takes no lease."""
        self._leases += 1
        try:
            await self._start()
        except BaseException:
            self._leases -= 1
            raise

    async def release(self) -> None:
        """Give a lease back; the last one closes the provider, also when the caller is being cancelled."""
        self._leases -= 1
        await self.close_if_unused()

    async def close_if_unused(self) -> None:
        """Close unless somebody holds a lease. Idempotent."""
        with anyio.CancelScope(shield=True):
            async with self._turn.lock():
                if self._leases > 0 or self.status is ProviderStatus.DESTROYED:
                    return
                self.status = ProviderStatus.DESTROYING
                try:
                    await self.provider.aclose()
                finally:
                    self.status = ProviderStatus.DESTROYED
                    self._turn.reset()

    async def _start(self) -> None:
        async with self._turn.lock():
            if self.status is ProviderStatus.READY:
                return
            self.status = ProviderStatus.INITIALIZING
            try:
                await self.provider.start()
            except MoorageError as error:
                self._failed(error)
                raise
            except Exception as error:
                failure = UnavailableError(
                    f"the provider did not start: {type(error).__name__}", provider=self.provider.scheme
                )
                self._failed(failure)
                raise failure from error
            except BaseException:
                self.status = ProviderStatus.PENDING
                raise
            self.status = ProviderStatus.READY
            self.error = None

    def _failed(self, error: MoorageError) -> None:
        self.status = ProviderStatus.ERROR
        self.error = error
