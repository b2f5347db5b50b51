"""Removing what killed writers left: uploads that stand still, and a probe's object."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Final

from moorage import StorageError
from moorage.objects import ListOptions
from moorage_s3.answers import listed_time
from moorage_s3.deleting import Deleting
from moorage_s3.dialect import Dialect
from moorage_s3.documents import PendingUpload, part_times, pending_uploads
from moorage_s3.enforcement import Enforcement
from moorage_s3.listing import pages
from moorage_s3.multipart import Multipart
from moorage_s3.probing import PROBE_NAME
from moorage_s3.sending import Request, Sender
from moorage_s3.write_marks import WriteMarks

_ALL: Final = "1000"


class Sweeping:
    """Sweeps below one prefix.

    S3 keeps no mark of who began an upload, so what is swept is decided by age: an upload that was begun, and whose
    newest part arrived, more than so many seconds ago is dead whoever began it. One that is still moving is left.
    """

    def __init__(self, sender: Sender, prefix: str) -> None:
        self._sender = sender
        self._prefix = prefix
        self._multipart = Multipart(sender, Dialect())

    async def sweep(self, older_than: float) -> int:
        """Abort and delete; how many."""
        before = datetime.now(UTC) - timedelta(seconds=older_than)
        swept = 0
        async with aclosing(self._pending()) as uploads:
            async for upload in uploads:
                if await self._stands_still(upload, before):
                    swept += await self._multipart.abort(upload.key, upload.upload_id)
        return swept + await self._sweep_probes(before)

    async def _pending(self) -> AsyncGenerator[PendingUpload, None]:
        query = {"uploads": "", "encoding-type": "url", "prefix": self._prefix, "max-uploads": _ALL}
        while True:
            answer = await self._sender.send(Request("GET", "", query))
            if not answer.is_success:
                raise answer.error()
            found = pending_uploads(answer.body)
            for upload in found.uploads:
                yield upload
            if not (found.key_marker or found.id_marker):
                return
            if (found.key_marker, found.id_marker) == (query.get("key-marker"), query.get("upload-id-marker")):
                raise StorageError("the store does not tell how its listing goes on")
            query |= {"key-marker": found.key_marker, "upload-id-marker": found.id_marker}

    async def _stands_still(self, upload: PendingUpload, before: datetime) -> bool:
        begun = listed_time(upload.initiated)
        if begun is None or begun > before:
            return False
        query = {"uploadId": upload.upload_id, "max-parts": _ALL}
        while True:
            answer = await self._sender.send(Request("GET", upload.key, query))
            if not answer.is_success:
                return False
            times, marker = part_times(answer.body)
            if any(moment is None or moment > before for moment in map(listed_time, times)):
                return False
            if not marker or query.get("part-number-marker") == marker:
                return True
            query["part-number-marker"] = marker

    async def _sweep_probes(self, before: datetime) -> int:
        deleting = Deleting(self._sender, WriteMarks(), Enforcement())
        swept = 0
        async with aclosing(pages(self._sender, f"{self._prefix}{PROBE_NAME}", ListOptions())) as found:
            async for page in found:
                old = [info.key for info in page.objects if info.modified_at is not None and info.modified_at < before]
                swept += len(old) - len(await deleting.delete_many(old))
        return swept
