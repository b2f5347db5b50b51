"""What came of a write whose answer was lost, and which is not what is stored now."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final, NamedTuple

from moorage import StorageError
from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_gcs.beginning import Beginning
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

    def reaches_behind(self, begun: Beginning) -> bool:
        """Whether this, or something that it is based on, was there before."""
        bases = ({"generation": base.generation} for base in self.mark.bases if base.generation != NOTHING)
        return begun.follows(self.resource) or any(map(begun.follows, bases))

    @property
    def origin(self) -> Resource:
        """The earliest that is known of its past; of a base that is not kept, the generation alone."""
        return self.resource if self.mark.oldest in ("", NOTHING) else {"generation": self.mark.oldest}


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
                return await _made(sender, bucket, mark.key, generation, made)
            if ancestor.mark.is_based_on(_expected(condition)):
                raise PreconditionFailed(mark.key)
    raise PreconditionFailed(mark.key, retried=True)


async def covered(
    sender: Sender,
    bucket: Bucket,
    mark: Mark,
    found: Resource | None,
    made: Resource,
    begun: Beginning,
    is_ours: Callable[[Resource], bool],
) -> Resource | None:
    """What a write without a condition made, if others wrote on top of it since; ``None``: it may be made (again).

    Of what knows nothing of its own past it is not known what it undid, and nothing is undone by writing on top of it.

    Raises:
        PreconditionFailed: as the signal says, it cannot be told: something is based on what may be this write.
    """
    last: Ancestor | None = None
    async with aclosing(ancestors(sender, bucket, mark.key, found)) as those:
        async for last in those:
            generation = last.mark.generation_of(mark.word)
            if generation is not None:
                return await _made(sender, bucket, mark.key, generation, made)
            if last.reaches_behind(begun):
                return None
            if is_ours(last.resource):
                return last.resource
    if last is None or (last.mark.word and last.mark.oldest in ("", NOTHING)):
        return None
    raise PreconditionFailed(mark.key, retried=True)


async def was_deleted(sender: Sender, bucket: Bucket, key: str, found: Resource, begun: Beginning) -> bool:
    """Whether what was there when a delete began is gone, and ``found`` was made anew.

    Raises:
        PreconditionFailed: as the signal says, it cannot be told: it was made about then.
    """
    origin = found
    async with aclosing(ancestors(sender, bucket, key, found)) as those:
        async for ancestor in those:
            if ancestor.reaches_behind(begun):
                return False
            origin = ancestor.origin
    if begun.precedes(origin):
        return True
    raise PreconditionFailed(key, retried=True)


async def was_replaced(sender: Sender, bucket: Bucket, key: str, version: str, found: Resource) -> bool:
    """Whether some write is known to have replaced this version, so that nobody can have deleted it."""
    async with aclosing(ancestors(sender, bucket, key, found)) as those:
        async for ancestor in those:
            if ancestor.mark.is_based_on(version):
                return True
    return False


async def _made(sender: Sender, bucket: Bucket, key: str, generation: str, made: Resource) -> Resource:
    return await _former(sender, bucket, key, generation) or {**made, "name": key, "generation": generation}


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
