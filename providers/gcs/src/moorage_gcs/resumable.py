"""One upload in chunks, as the store keeps it between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from moorage import StorageError, UnavailableError
from moorage.objects import PreconditionFailed
from moorage_gcs import sdk
from moorage_gcs.objects import Resource, document
from moorage_gcs.sending import Answer, Request, Sender

_STORED: Final = re.compile(r"(?:bytes=)?0-([0-9]{1,18})")
_PLACE: Final = re.compile(r"(?:https?://[^/?#\s]*)?(/[!-~]*\?[!-~]+)")
"""A location, and of it what follows the server: chunks and credentials go to the endpoint that the user named, and
nowhere else, whatever stands before the first slash."""
_MORE: Final = 308
_ENDED: Final = frozenset({404, 410, 412, 304, 499})
"""Statuses that say that the store knows nothing of this upload (any more), or that its condition does not hold."""


async def start(sender: Sender, key: str, request: Request, size: int | None) -> ResumableUpload:
    """Ask for a place to upload to.

    Raises:
        PreconditionFailed: the condition does not hold already.
    """
    answer = await sender.send(request)
    if answer.is_unmet:
        raise PreconditionFailed(key)
    if not answer.is_success:
        raise answer.error()
    place = _PLACE.fullmatch(answer.headers.get("Location", ""))
    if place is None:
        raise StorageError("the store's answer does not tell where to upload to")
    return ResumableUpload(sender, place[1], size)


class ResumableUpload:
    """Takes chunks in order, each a multiple of 256 KiB but for the last.

    Attributes:
        last: the answer that ended it.
    """

    def __init__(self, sender: Sender, path: str, size: int | None) -> None:
        self._sender = sender
        self._path = path
        self._total = size
        self._sent = 0
        self._crc32c = 0
        self.last = Answer()

    @property
    def size(self) -> int:
        """Bytes of the whole, once its last chunk was sent."""
        return self._total or 0

    async def send(self, chunk: bytes | memoryview) -> bool:
        """Store the chunk; ``False`` where the upload has ended."""
        return await self._store(chunk) is None and self.last.status == _MORE

    async def finish(self, chunk: bytes | memoryview) -> Resource | None:
        """Store the last chunk, which is not empty, and make the object; ``None`` where the upload had ended.

        Raises:
            StorageError: what the store made is not what was sent.
        """
        self._total = self._sent + len(chunk)
        made = await self._store(chunk, is_last=True)
        if made is None and self.last.status == _MORE:
            raise StorageError("the store has the whole upload and wants more")
        crc = sdk.encoded_crc32c(self._crc32c)
        if made is not None and (made.get("crc32c", crc) != crc or int(made.get("size", 0)) != self._total):
            raise StorageError("the store has other bytes than were sent")
        return made

    async def abort(self) -> None:
        """Give the upload up, so that nothing of it stays."""
        await self._sender.send(Request("DELETE", self._path))

    async def _store(self, chunk: bytes | memoryview, *, is_last: bool = False) -> Resource | None:
        self._crc32c = sdk.crc32c(bytes(chunk), self._crc32c)
        first, end = self._sent, self._sent + len(chunk)
        checked = {"x-goog-hash": f"crc32c={sdk.encoded_crc32c(self._crc32c)}"} if is_last else {}
        left = self._sender.retries
        while True:
            place = f"bytes {self._sent}-{end - 1}/{self._total if self._total is not None else '*'}"
            headers = {"content-range": place, **checked}
            rest = memoryview(chunk)[self._sent - first :]
            answer = await self._put(headers, rest)
            if answer.is_success:
                return document(answer)
            if answer.status != _MORE:
                return None
            now = _stored(answer.headers)
            if not first <= now <= end:
                raise StorageError("the store has lost a part of the upload")
            if now == end:
                self._sent = now
                return None
            if now <= self._sent:
                if left <= 0:
                    raise UnavailableError("the store does not take the next part of the upload")
                left -= 1
            self._sent = now

    async def _put(self, headers: Mapping[str, str], rest: memoryview) -> Answer:
        """Send, or find out how far the store has got where its answer was lost.

        Raises:
            MoorageError: neither is possible.
        """
        answer = await self._sender.send(Request("PUT", self._path, {}, headers, (rest,), repeats=False))
        if answer.lost:
            total = self._total if self._total is not None else "*"
            answer = await self._sender.send(Request("PUT", self._path, {}, {"content-range": f"bytes */{total}"}))
            answer.lost = True
        self.last = answer
        if not answer.is_success and answer.status != _MORE and answer.status not in _ENDED:
            raise answer.error()
        return answer


def _stored(headers: Mapping[str, str]) -> int:
    found = _STORED.fullmatch(headers.get("Range", ""))
    return int(found[1]) + 1 if found else 0
