"""Pages of keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from moorage.objects import ListOptions, ObjectPage
from moorage_s3.documents import listing
from moorage_s3.sending import Request, Sender

PAGE: int = 1000


async def pages(sender: Sender, prefix: str, options: ListOptions) -> AsyncGenerator[ObjectPage, None]:
    """See :meth:`moorage.objects.ObjectClient.list`."""
    query = {"list-type": "2", "encoding-type": "url", "prefix": prefix}
    if options.delimiter is not None:
        query["delimiter"] = options.delimiter
    if options.start_after is not None:
        query["start-after"] = options.start_after
    left = options.limit
    while True:
        if left is not None:
            query["max-keys"] = str(max(1, min(PAGE, left)))
        answer = await sender.send(Request("GET", "", query))
        if not answer.is_success:
            raise answer.error()
        found = listing(answer.body)
        yield found.page
        if left is not None:
            left -= len(found.page.objects) + len(found.page.prefixes)
        if not found.token or (left is not None and left <= 0):
            return
        query = {**query, "continuation-token": found.token}
        query.pop("start-after", None)
