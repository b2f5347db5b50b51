"""Copies and moves of one object within one store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from moorage.errors import ConflictError, MoorageError, PathNotFoundError
from moorage.models import Stat, WriteOptions
from moorage.objects.client import CopyOptions, GetOptions, ObjectClient, ObjectFeatures, ObjectInfo, PreconditionFailed
from moorage.objects.conditions import Conditions, Expected
from moorage.objects.keys import KeyMap
from moorage.objects.lookup import Lookup, at, stat_of
from moorage.objects.together import both
from moorage.paths import StoragePath
from moorage.retries import attempts

_RACES: Final = 8
"""How often a copy starts again because its source was replaced between the look at it and the copy."""

Prepare = Callable[[], Awaitable[Expected]]
"""Finds out what is to be known of the destination."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What is at the destination now, and the source's version that it is; ``None`` where that was not asked for."""

    stat: Stat
    source_version: str | None


class Placement:
    """Puts an object of the store under a second name, or another one."""

    def __init__(self, client: ObjectClient, keys: KeyMap, lookup: Lookup, conditions: Conditions) -> None:
        self._client = client
        self._keys = keys
        self._lookup = lookup
        self._conditions = conditions

    async def copy(
        self, src: StoragePath, dst: StoragePath, options: WriteOptions, prepare: Prepare, *, pinned: bool = False
    ) -> Placed:
        """Copy within the store; through this process only where the store ignores a condition on the destination.

        ``pinned`` tells the version that was copied.
        """
        self._keys.new_key(dst)
        for attempt in attempts(_RACES):
            await attempt.wait()
            source, expected = await self._look(src, prepare, pinned=pinned)
            try:
                return await self._copy(src, source, dst, expected, options)
            except PreconditionFailed as failed:
                if failed.retried or source is None or await self._is_still(src, source):
                    raise await self._conditions.refusal(dst, expected, failed) from None
        raise ConflictError("the source keeps changing", path=str(src))

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions, prepare: Prepare) -> Stat:
        """Move within a store that can, in one step."""
        new_key = self._keys.new_key(dst)
        try:
            expected = await prepare()
        except MoorageError:
            await self._head(src)  # what is wrong with the source comes first
            raise
        try:
            condition = await self._conditions.enforced(dst, expected.condition, _copies_conditionally)
            with at(dst):
                how = CopyOptions(condition, media_type=options.media_type)
                move = partial(self._client.move, self._keys.key(src), new_key, how)
                info = await self._conditions.settled(dst, condition, move, can_repeat=True)
        except PreconditionFailed as failed:
            raise await self._conditions.refusal(dst, expected, failed) from None
        except PathNotFoundError:
            raise await self._lookup.no_file(src) from None
        return stat_of(info if info.size is not None else await self._head(dst))

    async def _look(self, src: StoragePath, prepare: Prepare, *, pinned: bool) -> tuple[ObjectInfo | None, Expected]:
        if pinned or not self._client.features.copy_reports_size:
            return await both(partial(self._head, src), prepare)
        return None, await prepare()

    async def _copy(
        self, src: StoragePath, source: ObjectInfo | None, dst: StoragePath, expected: Expected, options: WriteOptions
    ) -> Placed:
        features = self._client.features if expected.condition is None else await self._client.probe()
        if expected.condition is not None and features.conditional_put and not features.conditional_copy:
            return await self._copy_through(src, source, dst, expected, options)
        condition = await self._conditions.enforced(dst, expected.condition, _copies_conditionally)
        version = source.version if source is not None and features.conditional_source else None
        how = CopyOptions(condition, version, source.size if source is not None else None, options.media_type)
        try:
            with at(dst):
                copy = partial(self._client.copy, self._keys.key(src), self._keys.key(dst), how)
                info = await self._conditions.settled(dst, condition, copy, can_repeat=True)
        except PathNotFoundError:
            raise await self._lookup.no_file(src) from None
        if info.size is None and source is not None and version is not None:
            info = replace(info, size=source.size, media_type=options.media_type or source.media_type)
        elif info.size is None:
            info = await self._head(dst)
        return Placed(stat_of(info), source.version if source is not None else None)

    async def _copy_through(
        self, src: StoragePath, source: ObjectInfo | None, dst: StoragePath, expected: Expected, options: WriteOptions
    ) -> Placed:
        version = source.version if source is not None else None
        try:
            with at(src):
                body = await self._client.get(self._keys.key(src), GetOptions(version=version))
        except PathNotFoundError:
            raise await self._lookup.no_file(src) from None
        try:
            media_type = options.media_type or body.info.media_type
            info = await self._conditions.put(dst, self._keys.key(dst), body.chunks, expected, media_type)
        finally:
            if body.aclose is not None:
                await body.aclose()
        return Placed(stat_of(info), body.info.version)

    async def _head(self, path: StoragePath) -> ObjectInfo:
        info = await self._lookup.head(path)
        if info is None:
            raise await self._lookup.no_file(path)
        return info

    async def _is_still(self, src: StoragePath, source: ObjectInfo) -> bool:
        info = await self._lookup.head(src)
        return info is not None and info.version == source.version


def _copies_conditionally(features: ObjectFeatures) -> bool:
    return features.conditional_copy
