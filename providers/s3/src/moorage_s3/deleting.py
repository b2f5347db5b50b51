"""Deleting one key under a condition, or a thousand in one request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

import anyio

from moorage import ConflictError, MoorageError, PathNotFoundError, UnsupportedError
from moorage.objects import Condition, DeleteFailure, Matches, PreconditionFailed
from moorage_s3.conditions import condition_headers, is_unmet
from moorage_s3.documents import delete_failures, delete_request, is_expressible
from moorage_s3.enforcement import Enforcement
from moorage_s3.failures import Refusal
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.unmarked import UnmarkedWatch
from moorage_s3.write_marks import WriteMarks

BATCH: Final = 1000
_AT_ONCE: Final = 16
_AGAIN: Final = 3
_FOLDER: Final = "_$folder$"
_UNCLEAR: Final = "the answer to this delete was lost, and somebody wrote since; whether it took effect cannot be told"


class Deleting:
    """Deletes of one client.

    Attributes:
        takes_star: whether the store was not yet seen to misunderstand ``If-Match: *``.
        has_directories: see :class:`moorage_s3.dialect.Quirks`.
    """

    def __init__(self, sender: Sender, write_marks: WriteMarks, enforcement: Enforcement) -> None:
        self._sender = sender
        self._enforcement = enforcement
        self._write_marks = write_marks
        self._has_batches = True
        self.takes_star = True
        self.has_directories = False

    async def delete(self, key: str, condition: Condition | None) -> None:
        """See :meth:`moorage.objects.ObjectClient.delete`.

        When an answer was lost and the object is gone, it is this delete that is taken to have done it.
        """
        if isinstance(condition, Matches):
            await self._exactly(key, condition)
            return
        guards = self._enforcement.deletes
        watch = UnmarkedWatch(self._sender, self._write_marks, key, guards=guards)
        headers = condition_headers(key, condition)
        answer = await self._sender.send(Request("DELETE", key, headers=headers, is_settled=watch.is_settled))
        if answer.is_success or (answer.settled and watch.is_free):
            return
        if answer.settled:
            await self._again(answer, watch, key)
        elif is_unmet(answer, condition):
            await self._delete_existing(key, was_lost=answer.lost)
        elif condition is not None or answer.refusal is None or answer.refusal.code != "NoSuchKey":
            raise answer.error()

    async def _exactly(self, key: str, condition: Matches, *, was_lost: bool = False) -> None:
        answer = await self._sender.send(Request("DELETE", key, headers=condition_headers(key, condition)))
        if answer.is_success:
            return
        if not is_unmet(answer, condition):
            raise answer.error()
        if not answer.lost and not was_lost:
            raise PreconditionFailed(key)
        await self._check_gone(key, condition)

    async def _again(self, answer: Answer, watch: UnmarkedWatch, key: str) -> None:
        """A delete without a condition whose answer was lost: of what was there before it, and of nothing else."""
        if not isinstance(watch.base, Matches):
            raise answer.error() if watch.found is None else PreconditionFailed(key, retried=True)
        try:
            await self._exactly(key, watch.base, was_lost=True)
        except PreconditionFailed as failed:
            if failed.retried:
                raise
            raise ConflictError("another write came first, while this delete was repeated") from None
        except UnsupportedError:
            self._enforcement.deletes = False
            await self.delete(key, None)

    async def _delete_existing(self, key: str, *, was_lost: bool) -> None:
        """After a store refused ``If-Match: *``: the key is free, or the store takes the star for a version."""
        if await self._is_gone(key):
            if was_lost:
                return
            raise PathNotFoundError("no such key")
        self.takes_star = False
        await self.delete(key, None)

    async def _check_gone(self, key: str, condition: Matches) -> None:
        """After a lost answer: refuse, unless the object is gone. Nobody can have deleted what a write replaced."""
        found = await self._sender.send(Request("HEAD", key))
        if found.refusal is not None and found.refusal.status == 404:
            return
        is_replaced = self._write_marks.descent(key, condition).took_effect(found.headers, key) is False
        raise PreconditionFailed(key, retried=not is_replaced)

    async def _is_gone(self, key: str) -> bool:
        found = await self._sender.send(Request("HEAD", key))
        return found.refusal is not None and found.refusal.status == 404

    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        """See :meth:`moorage.objects.ObjectClient.delete_many`. Keys that XML cannot hold are deleted one by one."""
        if not keys:
            return ()
        if self.has_directories:
            keys = [*keys, *emptied_directories(keys)[: BATCH - len(keys)]]
        batch = [key for key in keys if self._has_batches and is_expressible(key)]
        single = [key for key in keys if not (self._has_batches and is_expressible(key))]
        failures = await self._batch(batch) if batch else []
        if not self._has_batches and batch:
            single += batch
        return (*failures, *await self._singly(single))

    async def _batch(self, keys: list[str]) -> list[DeleteFailure]:
        failed: dict[str, Refusal] = {}
        for _ in range(_AGAIN):
            body = delete_request(keys)
            digest = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
            headers = {"content-md5": digest, "content-type": "application/xml"}
            answer = await self._sender.send(Request("POST", "", {"delete": ""}, headers, body))
            if answer.refusal is not None and answer.refusal.status in (405, 501):
                self._has_batches = False
                return []
            if not answer.is_success:
                raise answer.error()
            found = {failure.key: Refusal(0, failure.code) for failure in delete_failures(answer.body)}
            failed = {key: refused for key, refused in found.items() if refused.code != "NoSuchKey"}
            keys = [key for key, refused in failed.items() if refused.is_throttling or refused.code == "InternalError"]
            if len(keys) < len(failed) or not keys:
                break
        return [DeleteFailure(key, refused.error()) for key, refused in failed.items()]

    async def _singly(self, keys: list[str]) -> list[DeleteFailure]:
        failures: list[DeleteFailure] = []
        slots = anyio.Semaphore(_AT_ONCE)

        async def delete(key: str) -> None:
            async with slots:
                try:
                    await self.delete(key, None)
                except PreconditionFailed:
                    failures.append(DeleteFailure(key, ConflictError(_UNCLEAR, retryable=False)))
                except MoorageError as error:
                    failures.append(DeleteFailure(key, error))

        async with anyio.create_task_group() as group:
            for key in keys:
                group.start_soon(delete, key)
        return failures


def emptied_directories(keys: Sequence[str]) -> list[str]:
    """The directories that may be empty once these keys are deleted, deepest first: those between the keys and what
    they have in common, and that itself where its own marker, of either style, is among them.
    """
    shared = _directory(keys[0])
    while not all(key.startswith(shared) for key in keys):
        shared = _directory(shared[:-1])
    found = {key for key in keys if key.endswith("/")}
    found |= {f"{key.removesuffix(_FOLDER)}/" for key in keys if key.endswith(_FOLDER)}
    for key in keys:
        above = _directory(key)
        while len(above) > len(shared) and above not in found:
            found.add(above)
            above = _directory(above[:-1])
    return sorted(found - set(keys), key=len, reverse=True)


def _directory(key: str) -> str:
    return key[: key.rfind("/") + 1]
