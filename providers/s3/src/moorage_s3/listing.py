"""Pages of keys, the next one under way while the last one is being read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from operator import methodcaller

from moorage import StorageError
from moorage.objects import ListOptions, ObjectPage
from moorage_s3.ahead import Ahead
from moorage_s3.listed_pages import ListedPage, listed_page
from moorage_s3.sending import Request, Sender

PAGE: int = 1000


async def pages(sender: Sender, prefix: str, options: ListOptions) -> AsyncGenerator[ObjectPage, None]:
    """See :meth:`moorage.objects.ObjectClient.list`. Without a limit the next page is asked for while one is taken.

    Raises:
        StorageError: the answer has other keys than those asked for, or does not tell how the listing goes on.
    """
    query, left = _first(prefix, options), options.limit
    ahead = Ahead(sender)
    try:
        while True:
            if left is not None:
                query["max-keys"] = str(max(1, min(PAGE, left)))
            answer = await ahead.answer(Request("GET", "", query))
            if not answer.is_success:
                raise answer.error()
            found = listed_page(answer.body)
            following = _following(query, found)
            if following is not None and left is None:
                await ahead.send(Request("GET", "", following))
            yield _checked(prefix, found.read())
            if left is not None:
                left -= found.count
            if not found.more or (left is not None and left <= 0):
                return
            if following is None:
                raise StorageError("the store does not tell how its listing goes on")
            query = following
    finally:
        await ahead.aclose()


def _first(prefix: str, options: ListOptions) -> dict[str, str]:
    query = {"list-type": "2", "encoding-type": "url", "prefix": prefix}
    if options.delimiter is not None:
        query["delimiter"] = options.delimiter
    if options.start_after is not None:
        query["start-after"] = options.start_after
    return query


def _following(query: dict[str, str], found: ListedPage) -> dict[str, str] | None:
    """What to ask next; ``None`` where nothing follows, or no way leads there."""
    if not found.more or found.token in ("", query.get("continuation-token")):
        return None
    following = {**query, "continuation-token": found.token}
    following.pop("start-after", None)
    return following


def _checked(prefix: str, page: ObjectPage) -> ObjectPage:
    """What is listed is read, copied and deleted: a store that lists what is outside must not be believed."""
    names = [*(info.key for info in page.objects), *page.prefixes]
    if not all(map(methodcaller("startswith", prefix), names)):
        raise StorageError("the store listed keys outside of what was asked for")
    return page
