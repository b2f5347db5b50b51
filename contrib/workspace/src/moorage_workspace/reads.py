"""What a session has read: the records that stale and unread files are refused by.

A record holds which bytes of which version of a file the model has really seen. It is keyed by the file's identity
(:meth:`moorage.Provider.lineage`), so one file that two paths reach has one record.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import nlargest
from typing import Final, cast

from moorage import Stat, StoragePath
from moorage_workspace.results import Content

Span = tuple[int, int]
"""Bytes, half-open."""

DIGESTED: Final = 8 * 1024 * 1024
"""Bytes of a content up to which a digest is kept. Beyond, making one takes longer than reading and writing the file,
and a new version counts as a change, even where the bytes are the same.
"""
_MOST_SPANS: Final = 1_000
"""Of a record that an edit leaves; what is left out counts as not seen."""


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """What was seen of one file.

    Attributes:
        path: by which it was last named.
        version: of the bytes; from the same answer as they.
        size: of the whole file, in bytes.
        spans: what was seen, sorted and apart.
        digest: of the whole content where it was at hand and has at most :data:`DIGESTED` bytes, to tell a touch from
            a change.
    """

    path: str
    version: str | None
    size: int
    spans: tuple[Span, ...]
    digest: str | None = None

    @property
    def whole(self) -> bool:
        """Whether every byte was seen."""
        return self.size == 0 or self.spans == ((0, self.size),)

    def has_seen(self, start: int, end: int) -> bool:
        """Whether all of ``[start, end)`` was seen."""
        at = bisect_right(self.spans, start, key=lambda span: span[0]) - 1
        return start >= end or (at >= 0 and end <= self.spans[at][1])


@dataclass(frozen=True, slots=True)
class Replaced:
    """One span of the old content, and how many bytes stand there now."""

    start: int
    end: int
    length: int


class ReadTracker:
    """The records of one session, of the files that it used last."""

    def __init__(self, limit: int = 10_000) -> None:
        self._records: dict[str, ReadRecord] = {}
        self._limit = limit

    def get(self, identity: str) -> ReadRecord | None:
        return self._records.get(identity)

    def saw(
        self, identity: str, path: StoragePath, stat: Stat, start: int, end: int, *, digest: str | None = None
    ) -> None:
        """The model saw the bytes ``[start, end)`` of the version that ``stat`` names (the stat of that very read).

        Spans of one version add up; another version begins anew. ``digest`` is :func:`digest_of` the whole content.
        """
        record = self._records.get(identity)
        known: tuple[Span, ...] = ()
        if record is not None and record.version == stat.version:
            known, digest = record.spans, digest or record.digest
        spans = _joined([*known, (start, min(end, stat.size))])
        self._keep(identity, ReadRecord(str(path), stat.version, stat.size, spans, digest))

    def wrote(self, identity: str, path: StoragePath, stat: Stat, content: Content) -> None:
        """This session wrote the whole content itself; nothing of it is unknown to the model."""
        self._keep(
            identity, ReadRecord(str(path), stat.version, stat.size, _joined([(0, stat.size)]), digest_of(content))
        )

    def edited(self, identity: str, path: StoragePath, stat: Stat, spans: tuple[Span, ...], digest: str | None) -> None:
        """This session replaced some spans of the version it had a record of; what it had not seen stays unseen.

        ``spans`` are what :func:`seen_after` says, and ``digest`` is :func:`digest_of` the new content.
        """
        self._keep(identity, ReadRecord(str(path), stat.version, stat.size, spans, digest))

    def touched(self, identity: str, version: str | None) -> None:
        """The version moved, the bytes did not."""
        self._records[identity] = replace(self._records[identity], version=version)

    def forget(self, identity: str, path: StoragePath) -> None:
        """This session removed or replaced what was there, or everything below it."""
        self._records.pop(identity, None)
        below = str(path).rstrip("/") + "/"
        for other in [key for key, record in self._records.items() if record.path.startswith(below)]:
            del self._records[other]

    def dump(self) -> dict[str, object]:
        """JSON-compatible, for :meth:`load`. Holds paths and digests, no content."""
        return {
            identity: [record.path, record.version, record.size, [list(span) for span in record.spans], record.digest]
            for identity, record in self._records.items()
        }

    def load(self, dumped: Mapping[str, object]) -> None:
        """Take over the records of an earlier session on the same storage; what is unreadable is left out."""
        for identity, fields in dumped.items():
            record = _loaded(fields)
            if record is not None:
                self._keep(identity, record)

    def _keep(self, identity: str, record: ReadRecord) -> None:
        self._records.pop(identity, None)
        self._records[identity] = record
        if len(self._records) > self._limit:
            del self._records[next(iter(self._records))]


def digest_of(content: Content) -> str | None:
    """What a record keeps of a whole content; ``None`` of one larger than :data:`DIGESTED`."""
    return new_digest(bytes(content)).hexdigest() if len(content) <= DIGESTED else None


def new_digest(content: bytes = b"") -> blake2b:
    """For a content that comes in chunks: its ``hexdigest`` is :func:`digest_of` all that it was updated with."""
    return blake2b(content, digest_size=20)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def seen_after(record: ReadRecord | None, replaced: Sequence[Replaced]) -> tuple[Span, ...]:
    """What of the new content the model has seen after an edit: what it had seen, where that is now, and what it wrote.

    Without a record no more than what it wrote. ``replaced`` is in order. The longest spans, if they are very many.
    """
    spans = record.spans if record else ()
    moved: list[Span] = []
    number = at = delta = 0
    for part in replaced:
        number = _move(spans, number, (at, part.start), delta, moved)
        moved.append((part.start + delta, part.start + delta + part.length))
        at, delta = part.end, delta + part.length - (part.end - part.start)
    _move(spans, number, (at, sys.maxsize), delta, moved)
    joined = _joined(moved)
    return joined if len(joined) <= _MOST_SPANS else _joined(nlargest(_MOST_SPANS, joined, key=_length))


def _move(spans: Sequence[Span], number: int, within: Span, delta: int, moved: list[Span]) -> int:
    """Append what the spans from ``number`` on have within a stretch, and tell the first that may go on after it."""
    while number < len(spans) and spans[number][0] < within[1]:
        start, end = spans[number]
        moved.append((max(start, within[0]) + delta, min(end, within[1]) + delta))
        if end > within[1]:
            break
        number += 1
    return number


def _length(span: Span) -> int:
    return span[1] - span[0]


def _loaded(fields: object) -> ReadRecord | None:
    values = cast("list[object]", fields) if isinstance(fields, list) else []
    if len(values) != 5:
        return None
    path, version, size, spans, digest = values
    if isinstance(path, str) and isinstance(version, str | None) and isinstance(size, int):
        return ReadRecord(path, version, size, _spans(spans, size), digest if isinstance(digest, str) else None)
    return None


def _spans(value: object, size: int) -> tuple[Span, ...]:
    if not isinstance(value, list):
        return ()
    return _joined([span for one in cast("list[object]", value) if (span := _span(one, size))])


def _span(value: object, size: int) -> Span | None:
    match value:
        case [int(start), int(end)] if 0 <= start <= end:
            return (start, min(end, size))
        case _:
            return None
