"""A bucket of GCS as a provider."""

from __future__ import annotations

from contextlib import suppress

from moorage import UNSET, WRITE, Body, PathNotFoundError, Stat, StoragePath, WriteOptions
from moorage.objects import ObjectStoreProvider
from moorage_gcs.client import GCSObjectClient
from moorage_gcs.settings import Settings


class GCSProvider(ObjectStoreProvider):
    """Files and directories in a bucket of GCS, or below a prefix in it; see :class:`ObjectStoreProvider`.

    A download of a version that this provider has neither written, listed nor asked about before does not tell its
    time: ``modified_at`` of its stat is ``None`` then.
    """

    def __init__(self, settings: Settings, *, name_checks: bool = True) -> None:
        self._client = GCSObjectClient(settings)
        super().__init__(
            self._client,
            prefix=settings.prefix,
            name_checks=name_checks,
            check_then_write=settings.conditional_write == "guarded",
            concurrency=settings.concurrency,
        )

    def __repr__(self) -> str:
        return f"GCSProvider({self._client.identity!r})"

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        """As the contract says; an expected time alone costs one more request, which finds out what time it is of."""
        if options.expected_mtime is not UNSET and options.expected_version is UNSET:
            with suppress(PathNotFoundError):
                await self.stat(path)
        return await super().append(path, body, options)

    async def sweep_leftovers(self, older_than: float) -> int:
        """Delete what killed appends left below the prefix that is older than ``older_than`` seconds; how many.

        Uploads in chunks that nobody ends cannot be listed; the store drops them after a week and charges nothing.
        """
        return await self._client.sweep(older_than)
