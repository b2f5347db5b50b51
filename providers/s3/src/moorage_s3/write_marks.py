"""How a client recognises its own write when the answer was lost, even after others have written on top of it.

Each write leaves its own random mark in the object's metadata, followed by those of the writes that it was based on,
newest first: what a conditional write expects is what its writer has seen, marks included. So the marks of what is
stored now tell whether a write whose answer was lost took effect: its mark is among them; or it is not, but the mark of
what it was based on is, and somebody else's write took its place.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from moorage.objects import ABSENT, Condition, Matches
from moorage_s3.answers import plain_version

HEADER: Final = "x-amz-meta-moorage-writes"
_KEPT: Final = 96
"""Marks in one header; S3 takes 2 KiB of metadata."""
_REMEMBERED: Final = 256
_WELL_FORMED: Final = re.compile(rf"([0-9a-f]{{8}}),([\w-]{{1,11}}(?:,[\w-]{{1,11}}){{0,{_KEPT - 1}}})", re.ASCII)
_NOTHING: Final = "0"
"""The mark of a free key."""


@dataclass(frozen=True, slots=True)
class Descent:
    """The marks of one write.

    Attributes:
        mark: its own.
        bases: those that stand for what it is based on; empty for a write without a condition.
        header: what is sent.
    """

    mark: str
    bases: tuple[str, ...]
    header: str

    def within(self, room: int) -> Descent | None:
        """These marks, as many of the newest as fit into so many bytes; ``None`` where not even its own does."""
        if len(self.header) <= room:
            return self
        tag, *marks = self.header.split(",")
        while marks and len(tag) + sum(len(mark) + 1 for mark in marks) > room:
            marks.pop()
        return replace(self, header=",".join((tag, *marks))) if marks else None

    def took_effect(self, headers: Mapping[str, str], key: str) -> bool | None:
        """Whether this write took effect, by what is stored now; ``None``: that cannot be told."""
        marks = _marks(headers, key)
        if self.mark in marks:
            return True
        return False if any(base in marks for base in self.bases) else None

    def is_stored(self, headers: Mapping[str, str], key: str) -> bool:
        """Whether what is stored now is what this write made."""
        return _marks(headers, key)[:1] == (self.mark,)


class WriteMarks:
    """What a client has lately seen of the marks of objects."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], tuple[tuple[str, ...], float]] = OrderedDict()
        """By key and version: the marks, and when they were first met."""

    def saw(self, key: str, headers: Mapping[str, str]) -> None:
        """Remember the marks in an answer to HEAD or GET."""
        if HEADER in headers:
            self._remember(key, plain_version(headers.get("ETag", "")), _marks(headers, key))

    def wrote(self, key: str, version: str, descent: Descent) -> None:
        """Remember the marks of one's own write."""
        self._remember(key, version, tuple(descent.header.split(",")[1:]))

    def knew(self, key: str, headers: Mapping[str, str], moment: float) -> bool:
        """Whether the write that made what an answer to HEAD tells of was known at that time of the monotonic clock."""
        marks = _marks(headers, key)
        known, since = self._seen.get((key, plain_version(headers.get("ETag", ""))), ((), moment))
        return bool(marks) and known == marks and since < moment

    def descent(self, key: str, condition: Condition | None, mark: str = "") -> Descent:
        """The marks of a write that is about to happen; ``mark`` is its own where it has one already."""
        mark = mark or secrets.token_urlsafe(6)
        before = self._before(key, condition)
        header = ",".join((_tag(key), mark, *before)[: _KEPT + 1])
        bases = before[:1]
        if isinstance(condition, Matches):
            bases = (*bases, _version_mark(condition.version))
        return Descent(mark, bases, header)

    def _before(self, key: str, condition: Condition | None) -> tuple[str, ...]:
        if condition is ABSENT:
            return (_NOTHING,)
        if not isinstance(condition, Matches):
            return ()
        known, _ = self._seen.get((key, condition.version), ((), 0.0))
        return known or (_version_mark(condition.version),)

    def _remember(self, key: str, version: str, marks: tuple[str, ...]) -> None:
        known, since = self._seen.get((key, version), ((), 0.0))
        self._seen[key, version] = (marks, since if known == marks else time.monotonic())
        self._seen.move_to_end((key, version))
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


def _marks(headers: Mapping[str, str], key: str) -> tuple[str, ...]:
    """The marks of an object, unless it was copied here from under another key, and tells of that one's past.

    They are sent on with the next write: anything else that somebody may have put there is not taken for marks.
    """
    found = _WELL_FORMED.fullmatch(headers.get(HEADER, ""))
    return tuple(found[2].split(",")) if found is not None and found[1] == _tag(key) else ()


def _tag(key: str) -> str:
    return hashlib.blake2s(key.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()


def _version_mark(version: str) -> str:
    """The mark of a version: what is known of the base by a writer who did not see the base's own marks."""
    return f"v{hashlib.blake2s(version.encode('utf-8', 'replace'), digest_size=5).hexdigest()}"
