"""Uploads that were begun twice, because the answer to the first beginning was lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Final

from moorage import StorageError
from moorage_s3.answers import listed_time
from moorage_s3.documents import PendingUpload, part_times, pending_uploads
from moorage_s3.sending import Request, Sender

_MARGIN: Final = 1.0
"""Seconds by which two times may differ that the store rounds."""


async def suspects(sender: Sender, key: str, upload_id: str, passed: float) -> tuple[str, ...]:
    """The uploads of this key that were begun in the ``passed`` seconds before this one, by the store's own clock.

    Others may have begun one of them: see :func:`abort_unused`. None where the store does not list uploads.
    """
    query = {"uploads": "", "encoding-type": "url", "prefix": key, "max-uploads": "1000"}
    answer = await sender.send(Request("GET", "", query))
    try:
        found = pending_uploads(answer.body).uploads if answer.is_success else ()
    except StorageError:
        return ()
    return _just_before([upload for upload in found if upload.key == key], upload_id, passed)


def _just_before(uploads: Sequence[PendingUpload], upload_id: str, passed: float) -> tuple[str, ...]:
    times = {upload.upload_id: listed_time(upload.initiated) for upload in uploads}
    ours = times.pop(upload_id, None)
    if ours is None:
        return ()
    since = ours - timedelta(seconds=passed + _MARGIN)
    return tuple([other for other, time in times.items() if time is not None and since <= time <= ours])


async def abort_unused(
    sender: Sender, key: str, upload_ids: Sequence[str], abort: Callable[[str, str], Awaitable[object]]
) -> None:
    """Abort those that still have no part, now that the upload that was begun after them has ended: nobody's."""
    for upload_id in upload_ids:
        answer = await sender.send(Request("GET", key, {"uploadId": upload_id, "max-parts": "1"}))
        try:
            is_unused = answer.is_success and not part_times(answer.body)[0]
        except StorageError:
            continue
        if is_unused:
            await abort(key, upload_id)
