"""Deletes: of one object under a condition, and of up to a hundred in one request."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from moorage import ConflictError, MoorageError, PathNotFoundError, UnavailableError
from moorage.objects import EXISTS, Condition, DeleteFailure, Matches, PreconditionFailed
from moorage_gcs.ancestry import was_deleted, was_replaced
from moorage_gcs.beginning import Beginning
from moorage_gcs.failures import Refusal, refusal
from moorage_gcs.objects import WITH_MARK, Bucket, KnownTimes, Resource, condition_query
from moorage_gcs.sending import Answer, Request, Sender, pause
from moorage_gcs.settling import stored

BATCH: Final = 100
_ROUNDS: Final = 6
_BOUNDARY: Final = re.compile(r"""boundary=(?:"([^"]+)"|([^\s;"]+))""", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/[\d.]+ (\d{3})")
_ID: Final = re.compile(rb"content-id:\s*<?response-(?:[^>\r\n]*\+)?(\d{1,9})>?", re.IGNORECASE)
_NO_BATCHES: Final = frozenset({400, 404, 405, 501})


async def delete(
    sender: Sender, bucket: Bucket, key: str, condition: Condition | None, seen: str | None = None
) -> None:
    """Delete one object; where the answer is lost, what is there then decides. ``seen``: a version known to be there.

    Raises:
        PathNotFoundError: there is none, with ``EXISTS``.
        PreconditionFailed: there is another one, or none, with ``Matches``; or, as the signal says, it cannot be told
            whether what is there was made since.
    """
    begun = Beginning(sender.clock, seen)
    guard = condition if isinstance(condition, Matches) else None
    answer = Answer()
    lost = False
    for number in range(_ROUNDS):
        query = condition_query(key, guard)
        answer = await sender.send(Request("DELETE", bucket.object(key), query, repeats=guard is not None))
        lost = lost or answer.lost
        if answer.is_success:
            return
        if not (answer.is_missing or answer.is_unmet or lost):
            break
        if not lost:
            _refuse(key, condition, answer)
            return
        found = await stored(sender, bucket, key, WITH_MARK)
        if found is None:
            return
        if isinstance(condition, Matches):
            await _refuse_changed(sender, bucket, key, condition, found)
            break
        there = Matches(str(found.get("generation", "")))
        if guard != there and await was_deleted(sender, bucket, key, found, begun):
            return
        guard = there
        await anyio.sleep(pause(number, answer))
    raise answer.error()


def _refuse(key: str, condition: Condition | None, answer: Answer) -> None:
    if isinstance(condition, Matches):
        raise PreconditionFailed(key)
    if condition is EXISTS:
        raise PathNotFoundError("no such object")
    if answer.is_unmet:
        raise answer.error()


async def _refuse_changed(sender: Sender, bucket: Bucket, key: str, condition: Matches, found: Resource) -> None:
    """Refuse where another version is there after a lost answer. Nobody can have deleted what was replaced."""
    if str(found.get("generation", "")) != condition.version:
        is_certain = await was_replaced(sender, bucket, key, condition.version, found)
        raise PreconditionFailed(key, retried=not is_certain)


class Batches:
    """Deletes many objects in one request, and those that the store asks to try again once more on their own."""

    def __init__(self, sender: Sender, bucket: Bucket, known: KnownTimes, concurrency: int) -> None:
        self._sender = sender
        self._bucket = bucket
        self._known = known
        self._concurrency = concurrency
        self._can_batch = True

    async def delete(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        refused: dict[str, Refusal | None] = dict.fromkeys(keys)
        if self._can_batch and len(keys) > 1:
            refused = await self._in_one_request(keys)
        again = [key for key, why in refused.items() if why is None or why.is_failing or why.is_throttling]
        failures = [DeleteFailure(key, why.error()) for key, why in refused.items() if why and key not in set(again)]
        return tuple(failures) + await self._one_by_one(again)

    async def _in_one_request(self, keys: Sequence[str]) -> dict[str, Refusal | None]:
        """The keys that were not deleted; ``None`` where the answer does not say why."""
        boundary = f"batch_{secrets.token_hex(16)}"
        parts = [self._part(boundary, number, key) for number, key in enumerate(keys)]
        body = b"".join([*parts, f"--{boundary}--\r\n".encode()])
        headers = {"content-type": f"multipart/mixed; boundary={boundary}"}
        answer = await self._sender.send(Request("POST", "/batch/storage/v1", {}, headers, (body,)))
        if not answer.is_success:
            if answer.refusal is None or answer.refusal.status not in _NO_BATCHES or answer.refusal.is_of_bucket:
                raise answer.error()
            self._can_batch = False
            return dict.fromkeys(keys)
        told = dict(_parts(answer))
        open_ = {key: told.get(number) for number, key in enumerate(keys)}
        return {key: why for key, why in open_.items() if why is None or not _is_gone(why)}

    def _part(self, boundary: str, number: int, key: str) -> bytes:
        lines = (
            f"--{boundary}",
            "Content-Type: application/http",
            "Content-Transfer-Encoding: binary",
            f"Content-ID: <delete+{number}>",
            "",
            f"DELETE {self._sender.target(self._bucket.object(key))} HTTP/1.1",
            "",
            "",
            "",  # the last line end belongs to the boundary that follows
        )
        return "\r\n".join(lines).encode()

    async def _one_by_one(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        failures: dict[str, MoorageError] = {}
        limiter = anyio.Semaphore(self._concurrency)

        async def run(key: str) -> None:
            async with limiter:
                try:
                    await delete(self._sender, self._bucket, key, None, self._known.version(key))
                except MoorageError as error:
                    failures[key] = error
                except PreconditionFailed:
                    failures[key] = _unclear()

        async with anyio.create_task_group() as group:
            for key in keys:
                group.start_soon(run, key)
        return tuple(DeleteFailure(key, failures[key]) for key in keys if key in failures)


def _unclear() -> ConflictError:
    return ConflictError(
        "the answer to this delete was lost, and whether what is there was made since cannot be told", retryable=False
    )


def _is_gone(why: Refusal) -> bool:
    return why.status < 300 or (why.status == 404 and not why.is_of_bucket)


def _parts(answer: Answer) -> Iterator[tuple[int, Refusal]]:
    """Number and outcome of each part of the answer; success is an outcome with its status here."""
    found = _BOUNDARY.search(answer.headers.get("Content-Type", ""))
    if found is None:
        raise UnavailableError("the store's answer to a batch is not one")
    boundary = (found[1] or found[2]).encode()
    for part in answer.body.split(b"--" + boundary):
        number, status = _ID.search(part), _STATUS.search(part)
        if number is not None and status is not None:
            _, _, inner = part.partition(status[0])
            _, _, body = inner.partition(b"\r\n\r\n")
            yield int(number[1]), refusal(int(status[1]), body.strip())
