"""A bucket of S3 as a provider."""

from __future__ import annotations

from moorage.objects import ObjectStoreProvider
from moorage_s3.client import S3ObjectClient
from moorage_s3.settings import Settings


class S3Provider(ObjectStoreProvider):
    """Files and directories in a bucket of S3, or below a prefix in it; see :class:`ObjectStoreProvider`."""

    def __init__(self, settings: Settings, *, name_checks: bool = True) -> None:
        self._client = S3ObjectClient(settings)
        super().__init__(
            self._client,
            prefix=settings.prefix,
            name_checks=name_checks,
            check_then_write=settings.conditional_write == "guarded",
        )

    def __repr__(self) -> str:
        return f"S3Provider({self._client.identity!r})"

    async def sweep_leftovers(self, older_than: float) -> int:
        """Abort the uploads below the prefix that stand still for more than ``older_than`` seconds, whoever began
        them, and delete what a killed probe left; how many.
        """
        return await self._client.sweep(older_than)
