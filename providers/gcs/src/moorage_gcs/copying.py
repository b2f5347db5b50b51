"""Copies and moves within one bucket, by the store itself."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Final

from moorage import ConflictError, PathNotFoundError
from moorage.objects import Condition, CopyOptions, Matches, ObjectInfo, PreconditionFailed
from moorage_gcs.clocks import skew
from moorage_gcs.deleting import delete
from moorage_gcs.objects import Bucket, Resource, check_new_name, condition_query, document, info_of
from moorage_gcs.placing import Placing
from moorage_gcs.sending import Answer, Request, Sender
from moorage_gcs.settling import Mark, settled, stored

KEPT: Final = (
    "contentType", "contentEncoding", "contentDisposition", "contentLanguage", "cacheControl", "customTime",
    "metadata", "storageClass",
)  # fmt: skip
"""What a copy takes over from its source, where it has to be said."""
_EVERYTHING: Final = f"name,size,generation,metageneration,timeCreated,md5Hash,crc32c,{','.join(KEPT)}"
_RACES: Final = 8
_CLOCKS: Final = 5.0
"""Seconds by which two clocks of the store may differ, which tells times to the second in its headers."""
_GENERATIONS: Final = 1_000_000
"""Generations in a second, where they tell the time at all, as Google's do."""
_NO_MOVE: Final = frozenset({400, 403, 405, 501})
"""Statuses of a store, or of credentials, without a move in one step; its own 404 has a reason, see below."""


class Copies:
    """Copies and moves objects of one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, placing: Placing) -> None:
        self._sender = sender
        self._bucket = bucket
        self._placing = placing
        self._can_move = True

    @property
    def moves_at_once(self) -> bool:
        """Whether the store moves in one step, as far as is known; that step takes no placing."""
        return self._can_move and self._placing == Placing()

    async def copy(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """Copy an object of any size. Where metadata change, of the version that they were taken from.

        A copy under a condition gets a mark of its own, at the price of one request: should its answer be lost, it
        must not be taken for another's copy of the same object.
        """
        check_new_name(dst)
        if options.condition is None and options.media_type is None and self._placing.storage_class is None:
            return await self._rewrite(src, dst, options, None)
        for _ in range(_RACES):
            source = await self._source(src)
            version = str(source.get("generation", ""))
            if options.source_version not in (None, version):
                raise PreconditionFailed(src)
            pinned = replace(options, source_version=version)
            try:
                return await self._rewrite(src, dst, pinned, source)
            except PreconditionFailed:
                now = await stored(self._sender, self._bucket, src, "generation")
                if now is not None and str(now.get("generation", "")) == version:
                    raise
        raise ConflictError("the source keeps changing")

    async def move(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """Move an object; where the store has no such step, copy it and delete the version that was copied."""
        check_new_name(dst)
        if self.moves_at_once and options.media_type is None:
            moved = await self._move_at_once(src, dst, options)
            if moved is not None:
                return moved
            self._can_move = False
        return await self._copy_and_delete(src, dst, options)

    async def _copy_and_delete(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """A source that is replaced in between is copied again, over the copy: its last version is what is moved."""
        condition = options.condition
        for _ in range(_RACES):
            source = await self._source(src)
            version = str(source.get("generation", ""))
            if options.source_version not in (None, version):
                raise PreconditionFailed(src)
            pinned = replace(options, condition=condition, source_version=version)
            try:
                made = await self.copy(src, dst, pinned)
            except PreconditionFailed:
                now = await stored(self._sender, self._bucket, src, "generation")
                if now is None or str(now.get("generation", "")) != version:
                    continue
                raise
            try:
                await delete(self._sender, self._bucket, src, Matches(version))
            except PreconditionFailed:
                condition = Matches(made.version)
                continue
            return made
        raise ConflictError("the source keeps changing")

    async def _move_at_once(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo | None:
        """``None`` where the store, or these credentials, have no such step."""
        path = self._bucket.pair("moveTo", src, dst)

        async def attempt(condition: Condition | None) -> Answer:
            query = {**condition_query(dst, condition), **_source_query(src, options.source_version)}
            return await self._sender.send(Request("POST", path, query, repeats=False))

        began = time.monotonic()
        answer = await attempt(options.condition)
        for _ in range(self._sender.retries):
            if not answer.lost:
                break
            if await stored(self._sender, self._bucket, src, "generation") is None:
                return await self._moved(dst, options.condition, began)
            answer = await attempt(options.condition)
        if answer.is_success:
            return info_of(document(answer))
        if answer.is_unmet:
            raise PreconditionFailed(dst)
        refused = answer.refusal
        if refused is not None and (refused.status in _NO_MOVE or (refused.status == 404 and not refused.reason)):
            return None
        raise answer.error()

    async def _moved(self, dst: str, condition: Condition | None, began: float) -> ObjectInfo:
        """What is at the destination, once the source is gone: moved by us, whose answer was lost, or by others.

        Raises:
            PathNotFoundError: nothing came there.
            ConflictError: what is there is older than the move, by the store's clock: not what was moved.
        """
        answer = await self._sender.send(Request("GET", self._bucket.object(dst), {"fields": _EVERYTHING}))
        if answer.is_missing:
            raise PathNotFoundError("no such object")
        if not answer.is_success:
            raise answer.error()
        found = info_of(document(answer))
        if condition == Matches(found.version):
            raise PathNotFoundError("no such object")
        oldest = time.time() + skew(answer.headers.get("Date", "")) - (time.monotonic() - began) - _CLOCKS
        made = found.modified_at.timestamp() if found.modified_at is not None else 0.0
        if max(made, int(found.version) / _GENERATIONS) < oldest:
            raise ConflictError(
                "the answer to this move was lost and the source is gone; whether it was moved cannot be told",
                retryable=False,
            )
        return found

    async def _rewrite(self, src: str, dst: str, options: CopyOptions, source: Resource | None) -> ObjectInfo:
        mark = Mark.new(options.condition)
        body: tuple[bytes, ...] = ()
        if source is not None:
            kept = {name: source[name] for name in KEPT if name in source}
            if self._placing.storage_class is not None:
                kept.pop("storageClass", None)
            body = (json.dumps(self._placing.resource(mark, options.media_type, kept)).encode(),)

        async def attempt(condition: Condition | None) -> Answer:
            query = {**condition_query(dst, condition), **_source_query(src, options.source_version)}
            request = Request(
                "POST",
                self._bucket.pair("rewriteTo", src, dst),
                {**query, **self._placing.query(of_copy=True)},
                {"content-type": "application/json; charset=UTF-8"} if body else {},
                body,
                repeats=condition is not None,
            )
            return await self._to_its_end(request)

        twins: list[Resource | None] = []

        async def look() -> Resource | None:
            found = await stored(self._sender, self._bucket, dst, _EVERYTHING)
            twins[:] = [] if found is None or body else [await stored(self._sender, self._bucket, src, _EVERYTHING)]
            return found

        def is_ours(found: Resource) -> bool:
            return Mark.of(found).word == mark.word if body else _are_twins(found, twins[0])

        found = await settled(dst, options.condition, attempt, look, is_ours)
        if not isinstance(found, Answer):
            return info_of(found)
        return info_of(document(found).get("resource") or {})

    async def _to_its_end(self, request: Request) -> Answer:
        """Large objects are copied over several requests, each with a token of the one before."""
        token: dict[str, str] = {}
        lost = False
        while True:
            answer = await self._sender.send(replace(request, query={**request.query, **token}))
            answer.lost = lost = lost or answer.lost
            if not answer.is_success:
                return answer
            state = document(answer)
            if state.get("done", True):
                return answer
            token = {"rewriteToken": str(state.get("rewriteToken", ""))}

    async def _source(self, src: str) -> Resource:
        found = await stored(self._sender, self._bucket, src, _EVERYTHING)
        if found is None:
            raise PathNotFoundError("no such object")
        return found


def _source_query(src: str, version: str | None) -> dict[str, str]:
    return {} if version is None else condition_query(src, Matches(version), "ifSourceGenerationMatch")


def _are_twins(one: Resource, other: Resource | None) -> bool:
    """Whether one is a copy of the other: a copy takes over the mark of the write that made its source."""
    if other is None:
        return False
    return all(one.get(name) == other.get(name) for name in ("size", "crc32c")) and Mark.of(one) == Mark.of(other)
