"""Writes whose answer may get lost: what is stored is looked at, so that none is refused by its own first attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from moorage import ConflictError
from moorage.objects import ABSENT, Condition, Matches, ObjectInfo, PreconditionFailed
from moorage_s3.answers import object_info, plain_version
from moorage_s3.conditions import is_unmet
from moorage_s3.enforcement import Enforcement
from moorage_s3.looking import is_unanswered, look
from moorage_s3.precedence import Precedence
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.write_marks import Descent, WriteMarks


@dataclass(frozen=True, slots=True)
class Write:
    """One object to make, by a put or a copy that leaves a mark.

    Attributes:
        doubles: sent twice without a condition, it would take effect twice, on top of what others made in between.
            The completion of an upload does not.
        was_lost: the answer to an earlier request for it was lost.
    """

    key: str
    condition: Condition | None
    media_type: str | None
    descent: Descent
    doubles: bool = False
    was_lost: bool = False


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is stored where a write's answer was lost or refused.

    Attributes:
        stored: the object, if it is what the write made.
        took_effect: see :meth:`Descent.took_effect`.
        still_holds: the version that the write expects is still there.
        exists: there is an object.
        earlier: on what the write may be made again, since that was there before it.
        unanswered: the store did not say.
    """

    stored: ObjectInfo | None = None
    took_effect: bool | None = None
    still_holds: bool = False
    exists: bool = False
    earlier: Condition | None = None
    unanswered: bool = False


_UNSEEN: Final = _Seen()


class Settling:
    """Finds out what came of one client's writes."""

    def __init__(self, sender: Sender, write_marks: WriteMarks, enforcement: Enforcement) -> None:
        self._sender = sender
        self._write_marks = write_marks
        self._enforcement = enforcement

    async def stored(self, write: Write, size: int) -> ObjectInfo:
        """What a write made that succeeded without being told its version; what is stored now may be another's."""
        found = await self._sender.send(Request("HEAD", write.key))
        if found.is_success and write.descent.is_stored(found.headers, write.key):
            return object_info(write.key, found.headers)
        return _replaced(write, size)

    def watch(self, write: Write) -> Watch:
        """Look after a write that begins now."""
        return Watch(self, self._sender, self._write_marks, write, guards=self._enforcement.puts)


class Watch:
    """One write under way, and what was found out about it."""

    def __init__(
        self, settling: Settling, sender: Sender, write_marks: WriteMarks, write: Write, *, guards: bool
    ) -> None:
        self._settling = settling
        self._sender = sender
        self.write = write
        self._write_marks = write_marks
        self._guards = guards
        self._precedence = Precedence(write_marks)
        self._settled: _Seen | None = None

    @property
    def base(self) -> Condition | None:
        """On what a write without a condition is to be made again, whose answer was lost and which had no effect."""
        return None if self._settled is None or self._settled.took_effect else self._settled.earlier

    async def is_settled(self, answer: Answer) -> bool:
        """Whether a write took effect although its answer was lost, or cannot any more, or is not to be just repeated.

        What was seen then is what counts, whatever others do later.
        """
        if not answer.lost and not isinstance(self.write.condition, Matches):
            return False
        seen = await self._look()
        is_settled = self._settles(seen) if answer.lost else seen.exists and not seen.still_holds
        self._settled = seen if is_settled else None
        return is_settled

    def _settles(self, seen: _Seen) -> bool:
        if seen.took_effect is not None and not seen.still_holds:
            return True
        if not self.write.doubles:
            return False
        return self._guards if seen.earlier is not None else seen.exists or seen.unanswered

    async def outcome(self, answer: Answer, version: str, size: int) -> ObjectInfo:
        """What a write made, by its last answer and the version in it, which is empty where it tells none.

        Raises:
            PreconditionFailed, MoorageError: it made nothing, or that cannot be told.
        """
        if not answer.is_success:
            return await self.own(answer, size)
        if not version:
            return await self._settling.stored(self.write, size)
        return ObjectInfo(self.write.key, size, version, media_type=self.write.media_type)

    async def own(self, answer: Answer, size: int) -> ObjectInfo:
        """The object that this write made, if it took effect in spite of the answer.

        Looked at whenever the condition failed, not after a repetition alone: between client and store others may
        have repeated the request. Of a write that took effect and was then replaced the version is not known: the one
        that is given matches nothing, as the right one would.

        Raises:
            PreconditionFailed, MoorageError: it did not, or that cannot be told.
        """
        write, is_refused = self.write, is_unmet(answer, self.write.condition)
        was_lost = answer.lost or write.was_lost
        seen = self._settled or (await self._look() if was_lost or is_refused else _UNSEEN)
        if seen.stored is not None:
            return seen.stored
        if seen.took_effect:
            return _replaced(write, size)
        error = answer.error()
        if write.condition is None:
            if self._is_unclear(answer, seen):
                raise PreconditionFailed(write.key, retried=True)
            raise error
        is_unclear = was_lost and seen.took_effect is None and not seen.still_holds
        is_overtaken = not seen.still_holds and (was_lost or answer.settled)
        is_certain = isinstance(error, ConflictError) or seen.took_effect is False or not was_lost
        if is_refused or (is_overtaken and is_certain):
            raise PreconditionFailed(write.key, retried=is_unclear)
        raise error

    def _is_unclear(self, answer: Answer, seen: _Seen) -> bool:
        """Whether a write without a condition may have had its effect before the change of somebody else."""
        return (answer.settled and seen.exists) or (answer.lost and isinstance(answer.error(), ConflictError))

    async def _look(self) -> _Seen:
        write = self.write
        found = await (
            look(self._sender, write.key) if write.doubles else self._sender.send(Request("HEAD", write.key))
        )
        if found.refusal is not None and found.refusal.status == 404:
            return _Seen(earlier=ABSENT)
        if not found.is_success:
            return _Seen(unanswered=is_unanswered(found))
        if write.descent.is_stored(found.headers, write.key):
            return _Seen(object_info(write.key, found.headers), took_effect=True, exists=True)
        version = plain_version(found.headers.get("ETag", ""))
        is_earlier = write.doubles and self._precedence.is_certain(write.key, found.headers)
        self._write_marks.saw(write.key, found.headers)
        return _Seen(
            took_effect=write.descent.took_effect(found.headers, write.key),
            still_holds=write.condition == Matches(version),
            exists=True,
            earlier=Matches(version) if is_earlier else None,
        )


def _replaced(write: Write, size: int) -> ObjectInfo:
    """An object that was made and has been replaced since: its version matches nothing."""
    return ObjectInfo(write.key, size, f"replaced-{write.descent.mark}", media_type=write.media_type)
