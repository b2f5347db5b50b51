"""Changes whose answer may get lost: found out about, rather than sent twice or reported as refused by themselves."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import anyio

from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_gcs.objects import WITH_MARK, Bucket, Resource, document
from moorage_gcs.sending import Answer, Request, Sender, pause

MARK: Final = "moorage-write"
"""The metadata that tells whose write made an object: a random word, and the generation that it was to replace."""
_ROUNDS: Final = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """Tells one write from every other."""

    word: str
    replaces: str

    @classmethod
    def new(cls, condition: Condition | None) -> Mark:
        return cls(secrets.token_hex(16), condition.version if isinstance(condition, Matches) else "")

    @classmethod
    def of(cls, resource: Resource) -> Mark:
        metadata: object = resource.get("metadata")
        told = cast("Mapping[str, object]", metadata).get(MARK, "") if isinstance(metadata, Mapping) else ""
        word, _, replaces = str(told).partition("/")
        return cls(word, replaces)

    def __str__(self) -> str:
        return f"{self.word}/{self.replaces}"


async def stored(sender: Sender, bucket: Bucket, key: str, fields: str = WITH_MARK) -> Resource | None:
    """What is stored now, or ``None``."""
    answer = await sender.send(Request("GET", bucket.object(key), {"fields": fields}))
    if answer.is_missing:
        return None
    if not answer.is_success:
        raise answer.error()
    return document(answer)


Attempt = Callable[[Condition | None], Awaitable[Answer]]
"""Makes the change under a condition. With one it may be sent again by itself, without one it must not."""

Look = Callable[[], Awaitable[Resource | None]]
"""What is stored at the place of the change now."""


async def settled(
    key: str,
    condition: Condition | None,
    attempt: Attempt,
    look: Look,
    is_ours: Callable[[Resource], bool],
    is_before_ours: Callable[[Resource], bool] = lambda _: False,
) -> Answer | Resource:
    """The answer to the change, or what it stored where the answer was lost.

    A change without a condition is made again under one: that nothing changed since it was looked at, so that what
    others did meanwhile is not undone by a repetition.

    Args:
        is_before_ours: what is stored shows that the change did not take effect.

    Raises:
        PreconditionFailed: the condition of the caller does not hold.
        MoorageError: the change failed; whether it took effect is not known where the store cannot be asked.
    """
    guard = condition
    answer = Answer()
    for number in range(_ROUNDS):
        answer = await attempt(guard)
        if answer.is_success or not (answer.lost or answer.is_unmet):
            return _accepted(answer)
        if answer.is_unmet and not answer.lost and condition is not None:
            raise PreconditionFailed(key)
        found = await look()
        if found is not None and is_ours(found):
            return found
        if condition is not None:
            if answer.is_unmet:
                raise PreconditionFailed(key, retried=found is None or not is_before_ours(found))
            break
        guard = ABSENT if found is None else Matches(str(found.get("generation", "")))
        await anyio.sleep(pause(number, answer))
    return _accepted(answer)


def _accepted(answer: Answer) -> Answer:
    if not answer.is_success:
        raise answer.error()
    return answer
