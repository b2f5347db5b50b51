"""Copies and moves within one bucket, by the store itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from moorage import ConflictError, PathNotFoundError, UnavailableError
from moorage.objects import Condition, CopyOptions, Matches, ObjectInfo, PreconditionFailed
from moorage_gcs.beginning import Beginning
from moorage_gcs.deleting import delete
from moorage_gcs.objects import Bucket, Resource, check_new_name, condition_query, document, info_of
from moorage_gcs.placing import Placing
from moorage_gcs.sending import Answer, Request, Sender
from moorage_gcs.settling import Change, Settler, may_hold, still, stored
from moorage_gcs.write_marks import Mark, text_of

KEPT: Final = (
    "contentType", "contentEncoding", "contentDisposition", "contentLanguage", "cacheControl", "customTime",
    "metadata", "storageClass",
)  # fmt: skip
"""What a copy takes over from its source, where it has to be said."""
_EVERYTHING: Final = f"name,size,generation,metageneration,timeCreated,md5Hash,crc32c,{','.join(KEPT)}"
_SAME: Final = ("size", "md5Hash", "crc32c")
"""What a copy has in common with its source whatever its metadata are."""
_RACES: Final = 8
_IDLE: Final = 8
"""Requests for the rest of a copy, one after the other, that may copy nothing."""
_NO_MOVE: Final = frozenset({400, 403, 405, 501})
"""Statuses of a store, or of credentials, without a move in one step; its own 404 has a reason, see below."""


class Copies:
    """Copies and moves objects of one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, placing: Placing, settler: Settler) -> None:
        self._sender = sender
        self._bucket = bucket
        self._placing = placing
        self._settler = settler
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
            source, version = await self._source(src, options)
            pinned = replace(options, source_version=version)
            try:
                return await self._rewrite(src, dst, pinned, source)
            except PreconditionFailed as failed:
                if failed.retried or await self._is_still(src, version):
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
            _, version = await self._source(src, options)
            pinned = replace(options, condition=condition, source_version=version)
            try:
                made = await self.copy(src, dst, pinned)
            except PreconditionFailed as failed:
                if failed.retried or await self._is_still(src, version):
                    raise
                continue
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

        begun = self._settler.beginning(dst)
        answer = await attempt(options.condition)
        for _ in range(self._sender.retries):
            if not answer.lost:
                break
            if await stored(self._sender, self._bucket, src, "generation") is None:
                return await self._moved(dst, options.condition, begun)
            answer = await attempt(options.condition)
        if answer.is_success:
            return info_of(document(answer))
        if answer.is_unmet:
            raise PreconditionFailed(dst)
        refused = answer.refusal
        if refused is not None and (refused.status in _NO_MOVE or (refused.status == 404 and not refused.reason)):
            return None
        raise answer.error()

    async def _moved(self, dst: str, condition: Condition | None, begun: Beginning) -> ObjectInfo:
        """What is at the destination, once the source is gone: moved by us, whose answer was lost, or by others.

        Raises:
            PathNotFoundError: nothing came there.
            PreconditionFailed: as the signal says, it cannot be told: what is there was there before, by the store's
                clock.
        """
        found = await stored(self._sender, self._bucket, dst)
        if found is None or condition == still(found):
            raise PathNotFoundError("no such object")
        if begun.follows(found):
            raise PreconditionFailed(dst, retried=True)
        return info_of(found)

    async def _rewrite(self, src: str, dst: str, options: CopyOptions, source: Resource | None) -> ObjectInfo:
        mark = self._settler.marks.new(dst, options.condition)
        told = None if source is None else self._told(mark, options.media_type, source)

        async def attempt(condition: Condition | None) -> Answer:
            query = {**condition_query(dst, condition), **_source_query(src, options.source_version)}
            request = Request(
                "POST",
                self._bucket.pair("rewriteTo", src, dst),
                {**query, **self._placing.query(of_copy=True)},
                {} if told is None else {"content-type": "application/json; charset=UTF-8"},
                () if told is None else (json.dumps(told).encode(),),
                repeats=False,
            )
            return await self._to_its_end(request)

        if told is not None and source is not None:
            made = {**told, **{name: source[name] for name in _SAME if name in source}}
            return info_of(await self._settler.settle(Change(options.condition, mark, attempt, made, _rewritten)))
        return info_of(
            await self._settler.settle(self._of_twins(src, dst, Change(None, mark, attempt, read=_rewritten)))
        )

    def _told(self, mark: Mark, media_type: str | None, source: Resource) -> dict[str, object]:
        """The metadata of a copy that gives them itself."""
        kept = {name: source[name] for name in KEPT if name in source}
        if self._placing.storage_class is not None:
            kept.pop("storageClass", None)
        return self._placing.resource(mark, media_type, kept)

    def _of_twins(self, src: str, dst: str, change: Change) -> Change:
        """A copy that takes everything over from its source, and is recognised by that."""
        twins: list[Resource | None] = []

        async def look() -> Resource | None:
            found = await stored(self._sender, self._bucket, dst, _EVERYTHING)
            twins[:] = [] if found is None else [await stored(self._sender, self._bucket, src, _EVERYTHING)]
            return found

        def is_ours(found: Resource) -> bool:
            return _are_twins(found, twins[0])

        return replace(change, look=look, is_ours=is_ours)

    async def _to_its_end(self, request: Request) -> Answer:
        """Large objects are copied over several requests, each with a token of the one before.

        Raises:
            UnavailableError: the store does not get on with it.
        """
        token: dict[str, str] = {}
        lost, copied, idle = False, 0, 0
        while True:
            answer = await self._sender.send(replace(request, query={**request.query, **token}))
            answer.lost = lost = lost or answer.lost
            if not answer.is_success:
                return answer
            state = document(answer)
            if state.get("done", True):
                return answer
            before, copied = copied, _copied(state)
            idle = 0 if copied > before else idle + 1
            if idle == _IDLE:
                raise UnavailableError("the store does not get on with the copy")
            token = {"rewriteToken": str(state.get("rewriteToken", ""))}

    async def _source(self, src: str, options: CopyOptions) -> tuple[Resource, str]:
        """The source and its version, which is the expected one."""
        found = await stored(self._sender, self._bucket, src, _EVERYTHING)
        if found is None:
            raise PathNotFoundError("no such object")
        version = str(found.get("generation", ""))
        if options.source_version not in (None, version):
            raise PreconditionFailed(src)
        return found, version

    async def _is_still(self, key: str, version: str) -> bool:
        return may_hold(Matches(version), await stored(self._sender, self._bucket, key, "generation"))


def _rewritten(answer: Answer) -> Resource:
    found = document(answer).get("resource")
    return cast("Resource", found) if isinstance(found, Mapping) else {}


def _copied(state: Resource) -> int:
    told = str(state.get("totalBytesRewritten", "0"))
    return int(told) if len(told) < 20 and told.isascii() and told.isdecimal() else 0


def _source_query(src: str, version: str | None) -> dict[str, str]:
    return {} if version is None else condition_query(src, Matches(version), "ifSourceGenerationMatch")


def _are_twins(one: Resource, other: Resource | None) -> bool:
    """Whether one is a copy of the other: a copy takes over the mark of the write that made its source."""
    if other is None:
        return False
    return all(one.get(name) == other.get(name) for name in ("size", "crc32c")) and text_of(one) == text_of(other)
