"""Uploads in parts: bounded, judged at the end, and never left pending by an error or a cancellation."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from moorage import StorageError
from moorage_s3.answers import plain_version
from moorage_s3.dialect import Dialect, crc32
from moorage_s3.documents import complete_request, parse, text
from moorage_s3.orphans import abort_unused, suspects
from moorage_s3.sending import Answer, IsSettled, Request, Sender
from moorage_s3.uninterrupted import finish

_UNDO_TIMEOUT: Final = 30.0
_UNDO_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Completed:
    """The answer to the completion; version and size where it is a success."""

    answer: Answer
    size: int = 0
    version: str = ""


@dataclass(slots=True)
class Upload:
    """One upload under way; ``suspects`` are others that an attempt to begin it may have left."""

    key: str
    upload_id: str
    parts: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    size: int = 0
    suspects: tuple[str, ...] = ()


Part = Callable[[int, str], Awaitable[tuple[str, str]]]
"""Makes one part, by its number and the upload's id; gives its ETag and CRC-32 (or ``""``)."""


class Multipart:
    """Uploads in parts of one client."""

    def __init__(self, sender: Sender, dialect: Dialect) -> None:
        self._sender = sender
        self._dialect = dialect

    async def upload(
        self,
        key: str,
        headers: dict[str, str],
        conditions: dict[str, str],
        parts: AsyncGenerator[bytes, None],
        is_settled: IsSettled | None = None,
    ) -> Completed:
        """Send the parts, at most ``concurrency`` of them in memory at once, and complete under the conditions.

        An upload that is not completed is aborted, also when the caller is being cancelled. A completion that was
        refused, or of which nothing is known, is in the answer; every other error is raised.
        """
        if self._dialect.crc32:
            headers = {**headers, "x-amz-checksum-algorithm": "CRC32"}
        return await self._through(key, headers, conditions, lambda upload: self._send_all(upload, parts), is_settled)

    async def assemble(
        self,
        key: str,
        headers: dict[str, str],
        conditions: dict[str, str],
        parts: list[Part],
        size: int,
        is_settled: IsSettled | None = None,
    ) -> Completed:
        """As :meth:`upload`, of parts that the store makes itself."""
        done = await self._through(key, headers, conditions, lambda upload: self._make_all(upload, parts), is_settled)
        return replace(done, size=size)

    async def _through(
        self,
        key: str,
        headers: dict[str, str],
        conditions: dict[str, str],
        fill: Callable[[Upload], Awaitable[None]],
        is_settled: IsSettled | None = None,
    ) -> Completed:
        upload = await self._begin(key, headers)
        is_done = False
        try:
            await fill(upload)
            completed = await self._complete(upload, conditions, is_settled)
            is_done = completed.answer.is_success
        finally:
            if not is_done:
                await self.undo(key, upload.upload_id)
            if upload.suspects:
                await self._give_up(lambda: abort_unused(self._sender, key, upload.suspects, self.abort))
        return completed

    async def abort(self, key: str, upload_id: str) -> bool:
        """Abort an upload, again if a part that was under way arrived after it; whether it is gone."""
        query = {"uploadId": upload_id}
        for _ in range(_UNDO_TRIES):
            answer = await self._sender.send(Request("DELETE", key, query))
            if answer.refusal is not None and answer.refusal.status == 404:
                return True
            if not answer.is_success:
                return False
            left = await self._sender.send(Request("GET", key, {**query, "max-parts": "1"}))
            if left.refusal is not None and left.refusal.status == 404:
                return True
        return False

    async def _begin(self, key: str, headers: dict[str, str]) -> Upload:
        """Start an upload; a cancellation waits until its id is known, within a time limit, and then aborts it."""
        began = time.monotonic()
        begun = await finish(lambda: self._sender.send(Request("POST", key, {"uploads": ""}, headers)))
        if begun.cancelled is not None:
            if not begun.task.cancelled() and (upload_id := _upload_id(begun.result())):
                await self.undo(key, upload_id)
            raise begun.cancelled
        answer = begun.result()
        if not answer.is_success:
            raise answer.error()
        upload_id = _upload_id(answer)
        if not upload_id:
            raise StorageError("the store started an upload without an id")
        upload = Upload(key, upload_id)
        if answer.lost:
            upload.suspects = await self._suspects(upload, time.monotonic() - began)
        return upload

    async def _suspects(self, upload: Upload, passed: float) -> tuple[str, ...]:
        found = await finish(lambda: suspects(self._sender, upload.key, upload.upload_id, passed))
        if found.cancelled is not None:
            await self.undo(upload.key, upload.upload_id)
            raise found.cancelled
        return found.result()

    async def undo(self, key: str, upload_id: str) -> None:
        """Abort in spite of cancellation, within a time limit."""
        await self._give_up(lambda: self.abort(key, upload_id))

    async def _give_up(self, abort: Callable[[], Awaitable[object]]) -> None:
        async def limited() -> None:
            with anyio.move_on_after(_UNDO_TIMEOUT):
                await abort()

        undone = await finish(limited)
        if undone.cancelled is not None:
            raise undone.cancelled

    async def _send_all(self, upload: Upload, parts: AsyncGenerator[bytes, None]) -> None:
        slots = anyio.Semaphore(max(1, self._dialect.concurrency - 1))
        errors: list[Exception] = []
        number = 0
        async with anyio.create_task_group() as group:

            async def send(number: int, body: bytes) -> None:
                try:
                    upload.parts[number] = await self._send_part(upload, number, body)
                except Exception as error:
                    errors.append(error)
                    group.cancel_scope.cancel()
                finally:
                    slots.release()

            try:
                async for body in parts:
                    await slots.acquire()
                    number += 1
                    upload.size += len(body)
                    group.start_soon(send, number, body)
            except Exception as error:
                errors.append(error)
                group.cancel_scope.cancel()
        if errors:
            raise errors[0]

    async def _send_part(self, upload: Upload, number: int, body: bytes) -> tuple[str, str]:
        headers = self._dialect.body_headers(body)
        query = {"partNumber": str(number), "uploadId": upload.upload_id}
        answer = await self._sender.send(Request("PUT", upload.key, query, headers, body))
        if not answer.is_success:
            raise answer.error()
        return answer.headers.get("ETag", ""), crc32(body) if self._dialect.crc32 else ""

    async def _make_all(self, upload: Upload, parts: list[Part]) -> None:
        errors: list[Exception] = []
        slots = anyio.Semaphore(self._dialect.concurrency)
        async with anyio.create_task_group() as group:

            async def make(number: int, part: Part) -> None:
                async with slots:
                    try:
                        upload.parts[number] = await part(number, upload.upload_id)
                    except Exception as error:
                        errors.append(error)
                        group.cancel_scope.cancel()

            for number, part in enumerate(parts, 1):
                group.start_soon(make, number, part)
        if errors:
            raise errors[0]

    async def _complete(self, upload: Upload, conditions: dict[str, str], is_settled: IsSettled | None) -> Completed:
        body = complete_request([upload.parts[number] for number in sorted(upload.parts)])
        query = {"uploadId": upload.upload_id}
        headers = {**conditions, "content-type": "application/xml"}
        request = Request("POST", upload.key, query, headers, body, is_settled=is_settled)
        answer = await self._sender.send(request)
        if not answer.is_success:
            return Completed(answer, upload.size)
        try:
            return Completed(answer, upload.size, plain_version(text(parse(answer.body), "ETag")))
        except StorageError as error:  # as good as lost
            return Completed(replace(answer, failure=error, lost=True), upload.size)


def _upload_id(answer: Answer) -> str:
    try:
        return text(parse(answer.body), "UploadId") if answer.is_success else ""
    except StorageError:
        return ""
