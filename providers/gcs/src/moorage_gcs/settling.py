"""Changes whose answer may get lost: found out about, rather than sent twice or reported as refused by themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio

from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_gcs.ancestry import recovered
from moorage_gcs.objects import WITH_MARK, Bucket, Resource, document
from moorage_gcs.sending import Answer, Request, Sender, pause
from moorage_gcs.write_marks import Mark, WriteMarks


async def stored(sender: Sender, bucket: Bucket, key: str, fields: str = WITH_MARK) -> Resource | None:
    """What is stored now, or ``None``."""
    answer = await sender.send(Request("GET", bucket.object(key), {"fields": fields}))
    if answer.is_missing:
        return None
    if not answer.is_success:
        raise answer.error()
    return document(answer)


Attempt = Callable[[Condition | None], Awaitable[Answer]]
"""Makes the change under a condition; not again by itself where the answer was lost."""

Look = Callable[[], Awaitable[Resource | None]]
"""What is stored at the place of the change now."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one object.

    Attributes:
        made: what is known of what it makes before it is made.
        read: finds what was made in the answer to a success.
        look: if not as ever; so is ``is_ours``, whether that is what this change made.
    """

    condition: Condition | None
    mark: Mark
    attempt: Attempt
    made: Resource = field(default_factory=dict[str, object])
    read: Callable[[Answer], Resource] = document
    look: Look | None = None
    is_ours: Callable[[Resource], bool] | None = None


class Settler:
    """Makes the changes to one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, marks: WriteMarks) -> None:
        self._sender = sender
        self._bucket = bucket
        self.marks = marks

    async def settle(self, change: Change) -> Resource:
        """What the change made.

        Where the answer was lost it is looked first whether the change is needed any more. One without a condition is
        made again under one: that nothing changed since it was looked at, so that what others did meanwhile is not
        undone by a repetition.

        Raises:
            PreconditionFailed: the condition of the caller does not hold; the signal tells whether the change may
                nevertheless have taken effect.
            MoorageError: the change failed; whether it took effect is not known where the store cannot be asked.
        """
        guard, lost, answer = change.condition, False, Answer()
        for number in range(self._sender.retries + 1):
            answer = await change.attempt(guard)
            lost = lost or answer.lost
            if answer.is_success:
                return self.known(change.read(answer), change.mark)
            if answer.is_unmet and not lost and guard is change.condition:
                raise PreconditionFailed(change.mark.key)
            if not (lost or answer.is_unmet):
                break
            found = await self._look(change)
            if found is not None and _is_ours(change, found):
                return self.known(found, change.mark)
            if change.condition is None:
                guard = still(found)
            elif not may_hold(change.condition, found):
                return await self.recovered(change.mark, change.condition, found, change.made)
            elif answer.is_unmet and isinstance(change.condition, Matches):
                raise PreconditionFailed(change.mark.key)  # a source's condition: that of the object itself holds
            if not (answer.lost or answer.is_unmet):
                break
            await anyio.sleep(pause(number, answer))
        raise answer.error()

    async def recovered(self, mark: Mark, condition: Condition, found: Resource | None, made: Resource) -> Resource:
        """See :func:`moorage_gcs.ancestry.recovered`."""
        return self.known(await recovered(self._sender, self._bucket, mark, condition, found, made), mark)

    def known(self, made: Resource, mark: Mark) -> Resource:
        """Remember what was made as one's own."""
        self.marks.wrote(str(made.get("generation", "")), mark)
        return made

    async def _look(self, change: Change) -> Resource | None:
        if change.look is not None:
            return await change.look()
        return await stored(self._sender, self._bucket, change.mark.key)


def still(found: Resource | None) -> Condition:
    """That what was found stored, or nothing, is so still."""
    return ABSENT if found is None else Matches(str(found.get("generation", "")))


def may_hold(condition: Condition | None, found: Resource | None) -> bool:
    """Whether the condition holds of what is stored."""
    if isinstance(condition, Matches):
        return found is not None and str(found.get("generation", "")) == condition.version
    return condition is None or (found is None) is (condition is ABSENT)


def _is_ours(change: Change, found: Mapping[str, object]) -> bool:
    if change.is_ours is not None:
        return change.is_ours(found)
    return Mark.of(found, change.mark.key).word == change.mark.word
