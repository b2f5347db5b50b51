"""Writes whose answer may get lost: what is stored is looked at, so that none is refused by its own first attempt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from moorage import ConflictError
from moorage.objects import Condition, Matches, ObjectInfo, PreconditionFailed
from moorage_s3.answers import object_info, plain_version
from moorage_s3.conditions import is_unmet
from moorage_s3.sending import Answer, IsSettled, Request, Sender
from moorage_s3.write_marks import Descent


@dataclass(frozen=True, slots=True)
class Write:
    """One object to make, by a put or a copy that leaves a mark."""

    key: str
    condition: Condition | None
    media_type: str | None
    descent: Descent


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is stored where a write's answer was lost or refused.

    Attributes:
        stored: the object, if it is what the write made.
        took_effect: see :meth:`Descent.took_effect`.
        still_holds: the version that the write expects is still there.
    """

    stored: ObjectInfo | None = None
    took_effect: bool | None = None
    still_holds: bool = False


_UNSEEN: Final = _Seen()


class Settling:
    """Finds out what came of one client's writes."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    async def outcome(self, write: Write, answer: Answer, version: str, size: int) -> ObjectInfo:
        """What a write made, by its last answer and the version in it, which is empty where it tells none.

        Raises:
            PreconditionFailed, MoorageError: it made nothing, or that cannot be told.
        """
        if not answer.is_success:
            return await self.own(write, answer, size)
        if not version:
            return await self.stored(write, size)
        return ObjectInfo(write.key, size, version, media_type=write.media_type)

    async def own(self, write: Write, answer: Answer, size: int) -> ObjectInfo:
        """The object that this write made, if it took effect in spite of the answer.

        Looked at whenever the condition failed, not after a repetition alone: between client and store others may
        have repeated the request. Of a write that took effect and was then replaced the version is not known: the one
        that is given matches nothing, as the right one would.

        Raises:
            PreconditionFailed, MoorageError: it did not, or that cannot be told.
        """
        is_refused = is_unmet(answer, write.condition)
        seen = await self._look(write) if answer.lost or answer.settled or is_refused else _UNSEEN
        if seen.stored is not None:
            return seen.stored
        if seen.took_effect:
            return _replaced(write, size)
        is_unclear = answer.lost and seen.took_effect is None and not seen.still_holds
        error = answer.error()
        is_overtaken = write.condition is not None and not seen.still_holds and (answer.lost or answer.settled)
        is_certain = isinstance(error, ConflictError) or seen.took_effect is False or not answer.lost
        if is_refused or (is_overtaken and is_certain):
            raise PreconditionFailed(write.key, retried=is_unclear)
        raise error

    async def stored(self, write: Write, size: int) -> ObjectInfo:
        """What a write made that succeeded without being told its version; what is stored now may be another's."""
        found = await self._sender.send(Request("HEAD", write.key))
        if found.is_success and write.descent.is_stored(found.headers, write.key):
            return object_info(write.key, found.headers)
        return _replaced(write, size)

    def watch(self, write: Write) -> IsSettled:
        """Tells whether a write took effect although its answer was lost, or cannot take effect any more."""
        return partial(self._is_settled, write)

    async def _is_settled(self, write: Write, answer: Answer) -> bool:
        if not answer.lost and not isinstance(write.condition, Matches):
            return False
        seen = await self._look(write)
        if not answer.lost:
            return seen is not _UNSEEN and not seen.still_holds
        return seen.stored is not None or (seen.took_effect is not None and not seen.still_holds)

    async def _look(self, write: Write) -> _Seen:
        found = await self._sender.send(Request("HEAD", write.key))
        if not found.is_success:
            return _UNSEEN
        if write.descent.is_stored(found.headers, write.key):
            return _Seen(object_info(write.key, found.headers), took_effect=True)
        version = plain_version(found.headers.get("ETag", ""))
        took_effect = write.descent.took_effect(found.headers, write.key)
        return _Seen(None, took_effect, still_holds=write.condition == Matches(version))


def _replaced(write: Write, size: int) -> ObjectInfo:
    """An object that was made and has been replaced since: its version matches nothing."""
    return ObjectInfo(write.key, size, f"replaced-{write.descent.mark}", media_type=write.media_type)
