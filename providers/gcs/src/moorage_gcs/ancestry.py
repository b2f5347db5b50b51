"""What came of a write whose answer was lost, and which is not what is stored now."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final, NamedTuple

from moorage import StorageError
from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_gcs.objects import WITH_MARK, Bucket, Resource, document
from moorage_gcs.sending import Request, Sender
from moorage_gcs.write_marks import NOTHING, Mark

_STEPS: Final = 64
"""Former generations that are asked for at most."""
_KEPT_BY: Final[tuple[Mapping[str, str], ...]] = ({"softDeleted": "true"}, {})
"""How to ask for a former generation: in a bucket with soft deletion, as they are by default, or with versions."""


class Ancestor(NamedTuple):
    """An object that is or was stored, and its mark."""

    resource: Resource
    mark: Mark


async def ancestors(sender: Sender, bucket: Bucket, key: str, found: Resource | None) -> AsyncGenerator[Ancestor, None]:
    """What is stored, and what came before it: by the marks, and from where they end by what the bucket still keeps."""
    for _ in range(_STEPS):
        if found is None:
            return
        mark = Mark.of(found, key)
        yield Ancestor(found, mark)
        if mark.oldest in ("", NOTHING):
            return
        found = await _former(sender, bucket, key, mark.oldest)


async def recovered(
    sender: Sender, bucket: Bucket, mark: Mark, condition: Condition, found: Resource | None, made: Resource
) -> Resource:
    """What a write made that was replaced since; ``made`` is what is known of it where the bucket forgot it.

    Raises:
        PreconditionFailed: it made nothing, or, as the signal says, that cannot be told.
    """
    async with aclosing(ancestors(sender, bucket, mark.key, found)) as those:
        async for ancestor in those:
            if ancestor.mark.word == mark.word:
                return ancestor.resource
            generation = ancestor.mark.generation_of(mark.word)
            if generation is not None:
                known = {**made, "name": mark.key, "generation": generation}
                return await _former(sender, bucket, mark.key, generation) or known
            if ancestor.mark.is_based_on(_expected(condition)):
                raise PreconditionFailed(mark.key)
    raise PreconditionFailed(mark.key, retried=True)


async def was_replaced(sender: Sender, bucket: Bucket, key: str, version: str, found: Resource) -> bool:
    """Whether some write is known to have replaced this version, so that nobody can have deleted it."""
    async with aclosing(ancestors(sender, bucket, key, found)) as those:
        async for ancestor in those:
            if ancestor.mark.is_based_on(version):
                return True
    return False


def _expected(condition: Condition) -> str:
    if isinstance(condition, Matches):
        return condition.version
    return NOTHING if condition is ABSENT else ""


async def _former(sender: Sender, bucket: Bucket, key: str, generation: str) -> Resource | None:
    for how in _KEPT_BY:
        query = {"generation": generation, "fields": WITH_MARK, **how}
        answer = await sender.send(Request("GET", bucket.object(key), query))
        if not answer.is_success:
            continue
        try:
            found = document(answer)
        except StorageError:
            continue
        if str(found.get("generation", "")) == generation:
            return found
    return None
