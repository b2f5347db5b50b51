"""Appending within the store: the addition is uploaded beside, composed with what is there, and removed again."""

from __future__ import annotations

import json
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

from moorage import Body, MoorageError
from moorage.objects import Condition, ListOptions, Matches, ObjectInfo, PreconditionFailed, PutOptions
from moorage_gcs.copying import KEPT
from moorage_gcs.deleting import delete
from moorage_gcs.failures import Refusal
from moorage_gcs.listing import pages
from moorage_gcs.objects import Bucket, KnownTimes, Resource, condition_query, info_of
from moorage_gcs.placing import Placing
from moorage_gcs.sending import Answer, Request, Sender
from moorage_gcs.settling import Change, Settler, stored
from moorage_gcs.uninterrupted import cleared, finished
from moorage_gcs.uploading import Target, Uploads

FROM_SIZE: Final = 8 * 1024 * 1024
"""Bytes of the present object from which composing is better than reading and writing it again."""
RESERVED: Final = ".moorage-additions/"
"""Where additions are for a moment, below the prefix: never listed, and swept when one is older than an hour."""
_ALIKE: Final = ("storageClass",)
"""What has to be the same of all that is composed."""
_OLD: Final = 3600.0
_FIELDS: Final = f"name,generation,size,{','.join(KEPT)}"


class Appends:
    """Appends to objects of one bucket."""

    def __init__(
        self, sender: Sender, bucket: Bucket, placing: Placing, settler: Settler, uploads: Uploads, prefix: str
    ) -> None:
        self._sender = sender
        self._bucket = bucket
        self._placing = placing
        self._settler = settler
        self._uploads = uploads
        self.reserved = f"{prefix}{RESERVED}"
        self._swept = float("-inf")

    async def append(self, key: str, body: Body, options: PutOptions) -> ObjectInfo:
        """Add to the version that the condition names, or to the present one.

        Raises:
            PreconditionFailed: another version is there.
        """
        present = await stored(self._sender, self._bucket, key, _FIELDS)
        if present is None:
            return await self._uploads.put(Target(key, options.condition, options.media_type), body)
        version = str(present.get("generation", ""))
        if options.condition is not None and options.condition != Matches(version):
            raise PreconditionFailed(key)
        await self._sweep_now_and_then()
        beside = f"{self.reserved}{secrets.token_hex(16)}"
        remove = partial(delete, self._sender, self._bucket, beside, None)
        alike = {name: present[name] for name in _ALIKE if name in present}
        step = partial(self._uploads.put, Target(beside, kept=alike), body)
        try:
            added = await finished(step, lambda made: remove(made.version))
            remove = partial(remove, added.version)
            size = {"size": int(present.get("size", 0)) + (added.size or 0)}
            return await self._compose(key, {**present, **size}, beside, options)
        finally:
            await cleared(remove)

    async def _compose(self, key: str, present: Resource, beside: str, options: PutOptions) -> ObjectInfo:
        """``present`` has the size that the whole will have."""
        condition = Matches(str(present.get("generation", "")))
        mark = self._settler.marks.new(key, condition)
        kept = {name: present[name] for name in KEPT if name in present}
        sources = [{"name": key, "generation": condition.version}, {"name": beside}]
        made = self._placing.resource(mark, options.media_type, kept)
        body = json.dumps({"sourceObjects": sources, "destination": made}).encode()

        async def attempt(guard: Condition | None) -> Answer:
            placing = self._placing.query(of_copy=True)
            kms = placing.pop("destinationKmsKeyName", None)
            query = {**condition_query(key, guard), **placing, **({"kmsKeyName": kms} if kms else {})}
            path = f"{self._bucket.object(key)}/compose"
            return _unmet_where_gone(
                await self._sender.send(
                    Request(
                        "POST", path, query, {"content-type": "application/json; charset=UTF-8"}, (body,), repeats=False
                    )
                )
            )

        return info_of(await self._settler.settle(Change(condition, mark, attempt, {**made, "size": present["size"]})))

    async def _sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._swept < _OLD:
            return
        self._swept = now
        with suppress(MoorageError):  # what killed writers left can wait
            await self.sweep(_OLD)

    async def sweep(self, older_than: float) -> int:
        """Remove additions that are older than so many seconds; how many."""
        removed = 0
        now = datetime.now(UTC).timestamp()
        async for page in pages(self._sender, self._bucket, KnownTimes(), self.reserved, ListOptions()):
            for info in page.objects:
                if info.modified_at is not None and now - info.modified_at.timestamp() > older_than:
                    with suppress(PreconditionFailed):  # somebody else sweeps, too
                        await delete(self._sender, self._bucket, info.key, Matches(info.version))
                        removed += 1
        return removed


def _unmet_where_gone(answer: Answer) -> Answer:
    """A source that is gone is a version that is not there any more, which is what the condition says, too."""
    if answer.is_missing:
        answer.refusal = Refusal(412)
    return answer
