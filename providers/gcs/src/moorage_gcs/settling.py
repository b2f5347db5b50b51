"""Changes whose answer may get lost: found out about, rather than sent twice or reported as refused by themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_gcs.ancestry import covered, recovered
from moorage_gcs.beginning import Beginning
from moorage_gcs.objects import WITH_MARK, Bucket, KnownTimes, Resource, document
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

    def has_made(self, found: Resource) -> bool:
        """Whether this change made what was found."""
        return self.mark.made(found) if self.is_ours is None else self.is_ours(found)


class Settler:
    """Makes the changes to one bucket."""

    def __init__(self, sender: Sender, bucket: Bucket, marks: WriteMarks, known: KnownTimes) -> None:
        self._sender = sender
        self._bucket = bucket
        self._known = known
        self.marks = marks

    def beginning(self, key: str) -> Beginning:
        """Of a change to this object: now."""
        return Beginning(self._sender.clock, self._known.version(key))

    async def settle(self, change: Change) -> Resource:
        """What the change made.

        Where the answer was lost it is looked first whether the change is needed any more. One without a condition is
        made again under one: that nothing changed since it was looked at, and only if nothing that others did meanwhile
        is known, or could be, to be based on what it made; their work would be undone.

        Raises:
            PreconditionFailed: the condition of the caller does not hold; or, as the signal says, the change may have
                taken effect.
            MoorageError: the change failed; whether it took effect is not known where the store cannot be asked.
        """
        guard, lost, answer, begun = change.condition, False, Answer(), self.beginning(change.mark.key)
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
            if found is not None and change.has_made(found):
                return self.known(found, change.mark)
            if change.condition is None:
                if still(found) != guard:
                    under = await self.covered(change.mark, found, change.made, begun, change.has_made)
                    if under is not None:
                        return under
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

    async def covered(
        self,
        mark: Mark,
        found: Resource | None,
        made: Resource,
        begun: Beginning,
        is_ours: Callable[[Resource], bool],
    ) -> Resource | None:
        """See :func:`moorage_gcs.ancestry.covered`."""
        under = await covered(self._sender, self._bucket, mark, found, made, begun, is_ours)
        return None if under is None else self.known(under, mark)

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
