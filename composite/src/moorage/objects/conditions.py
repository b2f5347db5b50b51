"""From what a caller expects to a condition that the store judges, and from its refusal to the caller's error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from moorage.errors import (
    ConflictError,
    MoorageError,
    PathExistsError,
    PathIsDirectoryError,
    StaleFileError,
    UnsupportedError,
)
from moorage.models import UNSET, Body, DeleteOptions, WriteOptions
from moorage.objects.client import (
    ABSENT,
    Condition,
    Matches,
    ObjectClient,
    ObjectFeatures,
    ObjectInfo,
    PreconditionFailed,
    PutOptions,
)
from moorage.objects.lookup import Lookup, at
from moorage.paths import StoragePath
from moorage.retries import attempts
from moorage.times import same_time


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller said (a version, a time, or nothing), and the condition that it amounts to."""

    said: str | datetime | None = None
    condition: Condition | None = None


NOTHING: Final = Expected()

T = TypeVar("T")

_CONFLICTS: Final = 8
"""How often a body is sent while the store answers that the state is in flux; the condition is checked each time."""


class Conditions:
    """One road for every expectation: version, time, absence; on writes, deletes and the destinations of copies.

    Where the store does not enforce a condition it is refused with ``UnsupportedError``; with ``check_then_write``
    it is checked just before instead, which leaves other processes a window of one request.
    """

    def __init__(self, client: ObjectClient, lookup: Lookup, *, check_then_write: bool) -> None:
        self._client = client
        self._lookup = lookup
        self._check_then_write = check_then_write

    async def of_write(self, path: StoragePath, options: WriteOptions) -> Expected:
        """What must hold at the destination; a time costs one request, which finds the version it belongs to."""
        expected = await self.of_delete(path, options)
        if expected.condition is None:
            return expected if options.overwrite else Expected(condition=ABSENT)
        if options.overwrite:
            return expected
        info = await self._lookup.head(path)
        if info is None or Matches(info.version) != expected.condition:
            raise await self._stale(path, expected.said, info)
        raise PathExistsError("already exists", path=str(path))

    async def of_delete(self, path: StoragePath, options: DeleteOptions | WriteOptions) -> Expected:
        """What must hold of the file that is there."""
        if options.expected_version is not UNSET:
            return Expected(options.expected_version, Matches(options.expected_version))
        if options.expected_mtime is UNSET:
            return NOTHING
        info = await self._lookup.head(path)
        resolution = self._client.features.mtime_resolution
        if info is None or not same_time(info.modified_at, options.expected_mtime, resolution):
            raise await self._stale(path, options.expected_mtime, info)
        return Expected(options.expected_mtime, Matches(info.version))

    async def enforced(
        self,
        path: StoragePath,
        condition: Condition | None,
        by_store: Callable[[ObjectFeatures], bool],
        *,
        check_first: bool = False,
    ) -> Condition | None:
        """The condition to send along, once it is sure that the store judges it.

        ``check_first`` checks instead where it does not, whatever the user opted into.

        Raises:
            PreconditionFailed: it was checked here instead, and does not hold.
            UnsupportedError: the store ignores it and the user did not opt into checking.
        """
        if condition is None or by_store(await self._client.probe()):
            return condition
        if not (self._check_then_write or check_first):
            raise UnsupportedError(
                "this store does not refuse stale writes itself; conditional_write='guarded' checks before each write",
                path=str(path),
            )
        if not await self._holds(path, condition):
            raise PreconditionFailed(str(path))
        return None

    async def put(self, path: StoragePath, key: str, body: Body, expected: Expected, media: str | None) -> ObjectInfo:
        """Put under the condition; a conflict is checked again, and bytes are sent again, before it is reported."""
        with at(path):
            try:
                condition = await self.enforced(path, expected.condition, lambda features: features.conditional_put)
                put = partial(self._client.put, key, body, PutOptions(condition, media))
                return await self.settled(path, condition, put, can_repeat=isinstance(body, bytes))
            except PreconditionFailed as failed:
                raise await self.refusal(path, expected, failed) from None

    async def settled(
        self, path: StoragePath, condition: Condition | None, request: Callable[[], Awaitable[T]], *, can_repeat: bool
    ) -> T:
        """The answer to a request that the store may ask to try again; the condition is looked at each time.

        Raises:
            PreconditionFailed: the condition does not hold any more.
            ConflictError: it does, and still the store is not ready, or the request cannot or must not be repeated.
        """
        for attempt in attempts(_CONFLICTS):
            await attempt.wait()
            try:
                return await request()
            except ConflictError as conflict:
                if not conflict.retryable:
                    raise
                if condition is not None and not await self._holds(path, condition):
                    raise PreconditionFailed(str(path)) from None
                if attempt.is_last or not can_repeat:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def refusal(self, path: StoragePath, expected: Expected, failed: PreconditionFailed) -> MoorageError:
        """The error that a failed condition means to the caller."""
        if failed.retried:
            return ConflictError(
                "the answer to this write was lost and another followed; whether it took effect cannot be told",
                path=str(path),
                retryable=False,
            )
        if not isinstance(expected.condition, Matches):
            return PathExistsError("already exists", path=str(path))
        return await self._stale(path, expected.said, await self._lookup.head(path))

    async def _holds(self, path: StoragePath, condition: Condition) -> bool:
        info = await self._lookup.head(path)
        if isinstance(condition, Matches):
            return info is not None and info.version == condition.version
        return (info is None) is (condition is ABSENT)

    async def _stale(self, path: StoragePath, said: str | datetime | None, info: ObjectInfo | None) -> MoorageError:
        if info is None:
            error = await self._lookup.no_file(path)
            if isinstance(error, PathIsDirectoryError):
                return error
            return StaleFileError("gone since it was seen", path=str(path), expected=said)
        actual = info.modified_at if isinstance(said, datetime) else info.version
        return StaleFileError("changed since it was seen", path=str(path), expected=said, actual=actual)
