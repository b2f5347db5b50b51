"""Whether a bucket is there and these credentials may use it, asked within what a narrow credential may ask."""

from __future__ import annotations

from typing import Final

from moorage_gcs.objects import Bucket, document
from moorage_gcs.sending import Request, Sender

_LIST: Final = "storage.objects.list"
_ENOUGH: Final = (_LIST, "storage.objects.get", "storage.objects.create", "storage.objects.delete")


async def check_bucket(sender: Sender, bucket: Bucket, prefix: str) -> None:
    """One listing of one name below the prefix; where that is forbidden, whether anything else is allowed.

    Raises:
        MoorageError: no such bucket, no credentials, forbidden, clock skew, or not to be reached.
    """
    query = {"prefix": prefix, "maxResults": "1", "fields": "nextPageToken"}
    answer = await sender.send(Request("GET", bucket.objects, query))
    if answer.is_success:
        return
    if answer.refusal is not None and answer.refusal.status == 403 and not answer.refusal.told:
        asked = "&".join(f"permissions={permission}" for permission in _ENOUGH)
        allowed = await sender.send(Request("GET", f"{bucket.path}/iam/testPermissions?{asked}"))
        held = document(allowed).get("permissions") if allowed.is_success else None
        if held and _LIST not in held:  # who may list, but not here, may do nothing here
            return
    raise answer.error()
