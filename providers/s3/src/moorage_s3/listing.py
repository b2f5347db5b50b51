"""Pages of keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from moorage import StorageError
from moorage.objects import ListOptions, ObjectPage
from moorage_s3.documents import listing
from moorage_s3.sending import Request, Sender

PAGE: int = 1000


async def pages(sender: Sender, prefix: str, options: ListOptions) -> AsyncGenerator[ObjectPage, None]:
    """See :meth:`moorage.objects.ObjectClient.list`.

    Raises:
        StorageError: the answer has other keys than those asked for, or does not tell how the listing goes on.
    """
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
        _check_prefix(prefix, found.page)
        yield found.page
        if left is not None:
            left -= len(found.page.objects) + len(found.page.prefixes)
        if not found.page.more or (left is not None and left <= 0):
            return
        if found.token in ("", query.get("continuation-token")):
            raise StorageError("the store does not tell how its listing goes on")
        query = {**query, "continuation-token": found.token}
        query.pop("start-after", None)


def _check_prefix(prefix: str, page: ObjectPage) -> None:
    """What is listed is read, copied and deleted: a store that lists what is outside must not be believed."""
    if not all(info.key.startswith(prefix) for info in page.objects) or not all(
        folded.startswith(prefix) for folded in page.prefixes
    ):
        raise StorageError("the store listed keys outside of what was asked for")
