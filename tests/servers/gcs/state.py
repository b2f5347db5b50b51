"""Buckets and objects in memory. No method awaits, so under one event loop each request is one atomic step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from tests.servers.gcs.calls import Answer, Call
from tests.servers.gcs.checksums import crc32c, md5
from tests.servers.gcs.conditions import NONE, Conditions
from tests.servers.gcs.failures import RefusedError, no_bucket, no_object, rate_limited
from tests.servers.gcs.names import check_bucket_name, check_object_name
from tests.servers.gcs.objects import StoredObject

PAGE: Final = 1000
FORMER: Final = 1000
"""Soft-deleted generations that are kept of one name."""
REWRITTEN_PER_CALL: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Access:
    """What a token allows."""

    read_only: bool = False
    prefix: str = ""


@dataclass(slots=True)
class Settings:
    """What a test may change while the server runs.

    Attributes:
        tokens: bearer tokens and what they allow; ``None`` lets everybody in.
        page_size: the most items and prefixes of one page of a listing.
        rewritten_per_call: how much one rewrite call copies at most before it hands out a token.
        seconds_between_writes: to one object, below which a write is answered with 429; ``None``: no limit.
        bare_line_feeds: whether multipart uploads may end their lines with LF, as gcsfs's high-level methods do.
        fault: sees every request first; what it returns is answered instead of doing it.
    """

    tokens: dict[str, Access] | None = None
    page_size: int = PAGE
    rewritten_per_call: int = REWRITTEN_PER_CALL
    seconds_between_writes: float | None = None
    bare_line_feeds: bool = False
    fault: Callable[[Call], Answer | None] | None = None


@dataclass(slots=True)
class Upload:
    """A resumable upload: what was asked at its start, and what arrived."""

    bucket: str
    name: str
    fields: Mapping[str, Any]
    hashes: Mapping[str, str]
    conditions: Conditions
    total: int | None
    data: bytearray = field(default_factory=bytearray)
    done: StoredObject | None = None
    gone: bool = False


@dataclass(slots=True)
class Rewrite:
    """A rewrite in progress."""

    source: StoredObject
    bucket: str
    name: str
    copied: int = 0


@dataclass(slots=True)
class Bucket:
    """A bucket; with ``soft_delete``, as by default, what is replaced or deleted can still be asked for."""

    name: str
    created: datetime
    soft_delete: bool = True
    objects: dict[str, StoredObject] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    former: dict[str, deque[StoredObject]] = field(default_factory=dict)
    _names: list[tuple[bytes, str]] | None = None

    def names(self) -> list[tuple[bytes, str]]:
        """Every name with its UTF-8 bytes, in the order of these."""
        if self._names is None:
            self._names = sorted((name.encode(), name) for name in self.objects)
        return self._names

    def insert(self, stored: StoredObject) -> None:
        present = self.objects.get(stored.name)
        if present is None:
            self._names = None
        elif present.generation != stored.generation:
            self._keep(present)
        self.objects[stored.name] = stored

    def remove(self, name: str) -> None:
        self._keep(self.objects.pop(name))
        self._names = None

    def _keep(self, stored: StoredObject) -> None:
        kept = replace(stored, data=b"", kept=len(stored.data))
        self.former.setdefault(stored.name, deque(maxlen=FORMER)).append(kept)


class State:
    """All that the server knows."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.buckets: dict[str, Bucket] = {}
        self.uploads: dict[str, Upload] = {}
        self.rewrites: dict[str, Rewrite] = {}
        self.issued = 0
        self._last_generation = 0

    def make_bucket(self, name: str) -> Bucket:
        if check_bucket_name(name) in self.buckets:
            raise RefusedError(409, "conflict", "Your previous request to create the named bucket succeeded.")
        self.buckets[name] = Bucket(name, datetime.now(UTC))
        return self.buckets[name]

    def bucket(self, name: str) -> Bucket:
        try:
            return self.buckets[name]
        except KeyError:
            raise no_bucket() from None

    def find(
        self, bucket: str, name: str, conditions: Conditions = NONE, generation: int | None = None
    ) -> StoredObject:
        """The live object, of this generation if one is asked for. Conditions come before "there is none"."""
        stored = self.bucket(bucket).objects.get(check_object_name(name))
        if generation is not None and stored and stored.generation != generation:
            stored = None
        conditions.check(stored)
        if stored is None:
            raise no_object(bucket, name)
        return stored

    def find_former(self, bucket: str, name: str, generation: int | None) -> StoredObject:
        """The soft-deleted object of this generation."""
        kept = self.bucket(bucket)
        for stored in kept.former.get(check_object_name(name), ()) if kept.soft_delete else ():
            if stored.generation == generation:
                return stored
        raise no_object(bucket, name)

    def write(
        self,
        bucket: str,
        name: str,
        data: bytes,
        fields: Mapping[str, Any],
        *,
        conditions: Conditions = NONE,
        components: int | None = None,
    ) -> StoredObject:
        """Make the object this, if the conditions hold of the present one."""
        target = self.bucket(bucket)
        conditions.check(target.objects.get(check_object_name(name)))
        self._limit_rate(target, name)
        now, generation = self._tick()
        digest = md5(data) if components is None else None
        stored = StoredObject(
            bucket, name, data, generation, 1, now, now, fields, crc32c(data), digest, components
        )  # fmt: skip
        target.insert(stored)
        return stored

    def change_fields(self, stored: StoredObject, fields: Mapping[str, Any]) -> StoredObject:
        """The same content with other metadata."""
        target = self.bucket(stored.bucket)
        self._limit_rate(target, stored.name)
        now, _ = self._tick()
        changed = replace(stored, fields=fields, updated=now, metageneration=stored.metageneration + 1)
        target.insert(changed)
        return changed

    def delete(self, stored: StoredObject) -> None:
        target = self.bucket(stored.bucket)
        self._limit_rate(target, stored.name)
        target.remove(stored.name)

    def move(self, source: StoredObject, name: str, conditions: Conditions) -> StoredObject:
        """Give the object another name, if the conditions hold of what has it now: both or neither."""
        target = self.bucket(source.bucket)
        conditions.check(target.objects.get(check_object_name(name)))
        self._limit_rate(target, source.name)
        stored = self.write(
            source.bucket, name, source.data, source.fields, conditions=conditions, components=source.components
        )
        target.remove(source.name)
        return stored

    def pending_uploads(self) -> list[str]:
        """Names of resumable uploads that were neither finished nor cancelled."""
        return [upload.name for upload in self.uploads.values() if upload.done is None and not upload.gone]

    def _tick(self) -> tuple[datetime, int]:
        """Now, and a generation that no object ever had: microseconds, as the real ones are."""
        now = datetime.now(UTC)
        self._last_generation = max(self._last_generation + 1, int(now.timestamp() * 1_000_000))
        return now, self._last_generation

    def _limit_rate(self, bucket: Bucket, name: str) -> None:
        between, now = self.settings.seconds_between_writes, time.monotonic()
        if between is None:
            return
        if now - bucket.written.get(name, -between) < between:
            raise rate_limited(bucket.name, name)
        bucket.written[name] = now
