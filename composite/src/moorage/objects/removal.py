"""Removing a directory: its markers when it is empty, everything below it on request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final

from moorage.errors import (
    DirectoryNotEmptyError,
    InexpressibleNameError,
    TransferError,
)
from moorage.objects.client import DeleteFailure, ListOptions, ObjectClient, ObjectInfo
from moorage.objects.keys import FOLDER_SUFFIX, KeyMap
from moorage.objects.lookup import Lookup, at
from moorage.objects.together import every
from moorage.paths import StoragePath

REMEMBERED: Final = 100_000
"""Keys that a removal keeps between looking and deleting. A larger tree is listed twice, so that memory is bounded."""


class Removal:
    """One removal of one directory."""

    def __init__(
        self, client: ObjectClient, keys: KeyMap, lookup: Lookup, path: StoragePath, *, concurrency: int
    ) -> None:
        self._client = client
        self._keys = keys
        self._lookup = lookup
        self._path = path
        self._prefix = keys.directory(path)
        foreign = keys.key(path) + FOLDER_SUFFIX
        self._foreign_marker = [foreign] if keys.fits(foreign) else []
        self._concurrency = concurrency
        self._failures: list[DeleteFailure] = []

    async def of_empty(self) -> None:
        """Delete the markers.

        Raises:
            DirectoryNotEmptyError: there is more than markers, odd keys included.
        """
        found = [info async for page in self._pages(ListOptions(limit=2)) for info in page]
        if any(info.key != self._prefix or info.size for info in found):
            raise DirectoryNotEmptyError("directory is not empty", path=str(self._path))
        if not found:
            await self._lookup.check_directory(self._path)
        await self._delete([*(info.key for info in found), *self._foreign_marker])
        self._report()

    async def of_tree(self) -> None:
        """Look through all keys first, then delete them in batches.

        Raises:
            InexpressibleNameError: a key below fits no path; nothing was deleted.
            TransferError: some keys could not be deleted; names each.
        """
        remembered: list[str] = []
        count = 0
        async with aclosing(self._pages(ListOptions())) as pages:
            async for page in pages:
                self._refuse_odd(page)
                count += len(page)
                if count <= REMEMBERED:
                    remembered += [info.key for info in page]
                else:
                    remembered.clear()
        if not count:
            await self._lookup.check_directory(self._path)
        if count <= REMEMBERED:
            await self._delete([*remembered, *self._wanted_marker(count)])
        else:
            await self._delete_again()
        self._report()

    def _wanted_marker(self, count: int) -> list[str]:
        """The other style's marker of this directory, unless it would take a request of its own without a reason."""
        fits_in = bool(count % self._client.features.delete_batch)
        return self._foreign_marker if fits_in or self._keys.met_foreign_marker else []

    async def _delete_again(self) -> None:
        pending = [*self._foreign_marker]
        async with aclosing(self._pages(ListOptions())) as pages:
            async for page in pages:
                self._refuse_odd(page)
                pending += [info.key for info in page]
                if len(pending) >= self._client.features.delete_batch * self._concurrency:
                    await self._delete(pending)
                    pending = []
        await self._delete(pending)

    async def _pages(self, options: ListOptions) -> AsyncGenerator[tuple[ObjectInfo, ...], None]:
        with at(self._path):
            async with aclosing(self._client.list(self._prefix, options)) as pages:
                async for page in pages:
                    yield page.objects

    def _refuse_odd(self, page: Sequence[ObjectInfo]) -> None:
        for info in page:
            if self._keys.locate(info.key, info.size).path is None:
                name = self._keys.raw_name(info.key)
                raise InexpressibleNameError(f"holds a key that no path can express: {name!r}", path=str(self._path))

    async def _delete(self, keys: Sequence[str]) -> None:
        """Delete all, in full batches, a bounded number of them at once."""
        size = self._client.features.delete_batch
        batches = [keys[start : start + size] for start in range(0, len(keys), size)]
        for start in range(0, len(batches), self._concurrency):
            wave = batches[start : start + self._concurrency]
            with at(self._path):
                answers = await every([partial(self._client.delete_many, batch) for batch in wave])
            self._failures += [failure for answer in answers for failure in answer]

    def _report(self) -> None:
        if self._failures:
            failed = tuple((self._shown(failure.key), failure.error) for failure in self._failures)
            raise TransferError(f"{len(failed)} objects could not be deleted", failed=failed, path=str(self._path))

    def _shown(self, key: str) -> str:
        return "/" + key.removeprefix(self._keys.prefix)
