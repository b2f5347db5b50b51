"""Listings, page by page, with nothing but what is used of each object, the next page under way meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final, cast

from moorage import StorageError
from moorage.objects import ListOptions, ObjectPage
from moorage_gcs.ahead import Ahead
from moorage_gcs.objects import FIELDS, Bucket, KnownTimes, Resource, document, info_of
from moorage_gcs.sending import Request, Sender

PAGE: Final = 1000
_FIELDS: Final = f"items({FIELDS}),prefixes,nextPageToken"


async def pages(
    sender: Sender, bucket: Bucket, known: KnownTimes, prefix: str, options: ListOptions
) -> AsyncGenerator[ObjectPage, None]:
    """One request a page; without a limit the next one is asked for while one is taken."""
    query, left = _first(prefix, options), options.limit
    ahead = Ahead(sender)
    try:
        while True:
            if left is not None:
                query["maxResults"] = str(min(PAGE, max(left, 1)))
            answer = await ahead.answer(Request("GET", bucket.objects, query))
            if not answer.is_success:
                raise answer.error()
            found = document(answer)
            following = _following(query, found)
            if following is not None and left is None:
                await ahead.send(Request("GET", bucket.objects, following))
            page = _page(found, known, options.start_after, more=following is not None)
            _check(page, prefix, options.delimiter)
            yield page
            if left is not None:
                left -= len(page.objects) + len(page.prefixes)
            if following is None or (left is not None and left <= 0):
                return
            query = following
    finally:
        await ahead.aclose()


def _first(prefix: str, options: ListOptions) -> dict[str, str]:
    query = {"prefix": prefix, "fields": _FIELDS, "maxResults": str(PAGE)}
    if options.delimiter is not None:
        query["delimiter"] = options.delimiter
    if options.start_after is not None:
        query["startOffset"] = options.start_after
    return query


def _following(query: dict[str, str], found: Resource) -> dict[str, str] | None:
    """What to ask next; ``None`` after the last page."""
    token = str(found.get("nextPageToken", ""))
    if token and token == query.get("pageToken"):
        raise StorageError("the store's listing does not get on")
    return {**query, "pageToken": token} if token else None


def _check(page: ObjectPage, prefix: str, delimiter: str | None) -> None:
    """What is listed is read, copied and deleted: a store that lists what is outside must not be believed."""
    if not all(info.key.startswith(prefix) for info in page.objects):
        raise StorageError("the store listed keys outside of what was asked for")
    if not all(folded.startswith(prefix) and folded.endswith(delimiter or "\0") for folded in page.prefixes):
        raise StorageError("the store listed directories that were not asked for")


def _page(found: Resource, known: KnownTimes, start_after: str | None, *, more: bool) -> ObjectPage:
    items, folded = found.get("items", []), found.get("prefixes", [])
    if not isinstance(items, list) or not isinstance(folded, list):
        raise StorageError("the store's answer is no listing")
    objects = [known.remember(info_of(item)) for item in cast("list[Resource]", items)]
    prefixes = [str(prefix) for prefix in cast("list[object]", folded)]
    if start_after is not None:  # GCS begins with the offset itself
        objects = [info for info in objects if info.key != start_after]
    return ObjectPage(tuple(objects), tuple(prefixes), more)
