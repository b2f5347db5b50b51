"""Listings, page by page, with nothing but what is used of each object."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final, cast

from moorage import StorageError
from moorage.objects import ListOptions, ObjectPage
from moorage_gcs.objects import FIELDS, Bucket, KnownTimes, Resource, document, info_of
from moorage_gcs.sending import Request, Sender

PAGE: Final = 1000
_FIELDS: Final = f"items({FIELDS}),prefixes,nextPageToken"


async def pages(
    sender: Sender, bucket: Bucket, known: KnownTimes, prefix: str, options: ListOptions
) -> AsyncGenerator[ObjectPage, None]:
    """One request a page; the next is asked for when the last was taken."""
    query = {"prefix": prefix, "fields": _FIELDS}
    if options.delimiter is not None:
        query["delimiter"] = options.delimiter
    if options.start_after is not None:
        query["startOffset"] = options.start_after
    left = options.limit
    token = ""
    while True:
        most = PAGE if left is None else min(PAGE, max(left, 1))
        more = {"pageToken": token} if token else {}
        answer = await sender.send(Request("GET", bucket.objects, {**query, "maxResults": str(most), **more}))
        if not answer.is_success:
            raise answer.error()
        found = document(answer)
        before, token = token, str(found.get("nextPageToken", ""))
        if token and token == before:
            raise StorageError("the store's listing does not get on")
        page = _page(found, known, options.start_after, more=bool(token))
        yield page
        if left is not None:
            left -= len(page.objects) + len(page.prefixes)
        if not token or (left is not None and left <= 0):
            return


def _page(found: Resource, known: KnownTimes, start_after: str | None, *, more: bool) -> ObjectPage:
    items, folded = found.get("items", []), found.get("prefixes", [])
    if not isinstance(items, list) or not isinstance(folded, list):
        raise StorageError("the store's answer is no listing")
    objects = [known.remember(info_of(item)) for item in cast("list[Resource]", items)]
    prefixes = [str(prefix) for prefix in cast("list[object]", folded)]
    if start_after is not None:  # GCS begins with the offset itself
        objects = [info for info in objects if info.key != start_after]
    return ObjectPage(tuple(objects), tuple(prefixes), more)
