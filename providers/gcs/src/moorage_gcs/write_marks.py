"""How a client recognises its own write when the answer was lost, even after others have written on top of it.

Each write leaves its own random word in the object's metadata, followed by the generations that it knows it to be
based on, newest first, each with the word of the write that made it where that is known: to a client that made it
itself or has asked for its metadata. A download does not tell metadata, so that its generation may stand alone.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, cast

from moorage.objects import ABSENT, Condition, Matches

NAME: Final = "moorage-write"
"""The metadata's name."""
NOTHING: Final = "0"
"""The generation of a free name."""
_KEPT: Final = 16
_REMEMBERED: Final = 256
_WELL_FORMED: Final = re.compile(
    rf"([0-9a-f]{{8}})/([0-9a-f]{{16}})((?:/[0-9]{{1,19}}\.[0-9a-f]{{16}}){{0,{_KEPT}}})(?:/([0-9]{{1,19}}))?", re.ASCII
)


class Base(NamedTuple):
    """A generation, and the word of the write that made it, or ``""`` where it is not known."""

    generation: str
    word: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Tells one write from every other, and what it is based on, newest first.

    Only the last base may be without a word: nothing is known of what is before such a one.
    """

    key: str
    word: str
    bases: tuple[Base, ...] = ()

    @classmethod
    def of(cls, resource: Mapping[str, Any], key: str) -> Mark:
        """The mark of an object; none (no word) where it came from under another name, and tells of that one's past."""
        found = _WELL_FORMED.fullmatch(text_of(resource))
        if found is None or found[1] != _tag(key):
            return cls(key, "")
        known = [Base(*each.split(".")) for each in found[3].split("/") if each]
        return cls(key, found[2], (*known, Base(found[4], "")) if found[4] else tuple(known))

    def made(self, resource: Mapping[str, Any]) -> bool:
        """Whether the write with this mark made the object."""
        return Mark.of(resource, self.key).word == self.word

    def generation_of(self, word: str) -> str | None:
        """The generation that a write made that this one is based on; ``None`` where it is not among the known."""
        return next((base.generation for base in self.bases if word and base.word == word), None)

    def is_based_on(self, generation: str) -> bool:
        """Whether every write from this generation to this one is known."""
        return bool(self.word) and any(base.generation == generation for base in self.bases)

    @property
    def oldest(self) -> str:
        """The generation before which nothing is known; ``""`` where this write was based on nothing."""
        return self.bases[-1].generation if self.bases else ""

    def within(self, size: int) -> str:
        """As it is stored, of the chain as much as so many bytes hold; ``""`` where that is nothing of it at all.

        A chain that had a beginning and lost it would look like that of a write that knew of none.
        """
        least = min(len(self.bases), 1)
        for count in range(len(self.bases), least - 1, -1):
            text = str(replace(self, bases=self.bases[:count]))
            if len(text) <= size:
                return text
        text = str(replace(self, bases=tuple(Base(base.generation, "") for base in self.bases[:least])))
        return text if len(text) <= size else ""

    def __str__(self) -> str:
        return "/".join((_tag(self.key), self.word, *map(_told, self.bases)))


class WriteMarks:
    """What a client has lately seen of the marks of objects."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], Mark] = OrderedDict()

    def saw(self, resource: Mapping[str, Any]) -> None:
        """Remember the mark in an answer that tells metadata."""
        key = str(resource.get("name", ""))
        mark = Mark.of(resource, key)
        if mark.word:
            self.wrote(str(resource.get("generation", "")), mark)

    def wrote(self, generation: str, mark: Mark) -> None:
        """Remember the mark of one's own write."""
        self._seen[mark.key, generation] = mark
        self._seen.move_to_end((mark.key, generation))
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def new(self, key: str, condition: Condition | None) -> Mark:
        """The mark of a write that is about to happen."""
        return Mark(key, secrets.token_hex(8), self._bases(key, condition))

    def _bases(self, key: str, condition: Condition | None) -> tuple[Base, ...]:
        if condition is ABSENT:
            return (Base(NOTHING, ""),)
        if not isinstance(condition, Matches):
            return ()
        before = self._seen.get((key, condition.version))
        if before is None:
            return (Base(condition.version, ""),)
        return (Base(condition.version, before.word), *before.bases)[:_KEPT]


def text_of(resource: Mapping[str, Any]) -> str:
    """The mark as it is stored, or ``""``."""
    metadata: object = resource.get("metadata")
    return str(cast("Mapping[str, object]", metadata).get(NAME, "")) if isinstance(metadata, Mapping) else ""


def _told(base: Base) -> str:
    return f"{base.generation}.{base.word}" if base.word else base.generation


def _tag(key: str) -> str:
    return hashlib.blake2s(key.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
