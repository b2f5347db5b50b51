"""Listings of several pages: the next page is under way while one is taken, and nothing of that shows or stays."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import anyio.to_thread
import pytest
from tests.integration.gcs.support import opened
from tests.servers.faults import Answer, Rule, Stall, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import MoorageError, StorageError
from moorage.objects import ListOptions, ObjectClient
from moorage_gcs import GCSProvider

pytestmark = pytest.mark.anyio

KIND = "list"


@pytest.fixture
async def client(gcs_server: LocalGCSServer, gcs_proxy: Proxy) -> AsyncIterator[ObjectClient]:
    async with opened(gcs_proxy, gcs_server.make_bucket(), check_bucket=False) as fs:
        assert isinstance(fs.provider, GCSProvider)
        gcs_proxy.reset()
        yield fs.provider.client


def page(name: str, token: str = "") -> Answer:
    found = {"items": [{"name": name, "generation": "1", "size": "1"}], **({"nextPageToken": token} if token else {})}
    return Answer(200, {}, json.dumps(found).encode())


def serve(proxy: Proxy, *answers: Answer) -> None:
    """The pages in turn, whatever is asked."""
    for answer in answers:
        proxy.add(Rule(answer, kind=KIND, times=1))


async def arrived(proxy: Proxy, number: int) -> None:
    await anyio.to_thread.run_sync(lambda: proxy.wait_for(KIND, number, seconds=120))


async def test_a_page_comes_while_the_one_before_is_taken(client: ObjectClient, gcs_proxy: Proxy) -> None:
    serve(gcs_proxy, page("a", "1/+"), page("b", "2"), page("c"))
    found: list[str] = []
    async for each in client.list("", ListOptions(start_after="A")):
        found += [info.key for info in each.objects]
        await arrived(gcs_proxy, min(len(found) + 1, 3))
    assert found == ["a", "b", "c"]
    asked = [seen.target.partition("?")[2] for seen in gcs_proxy.requests]
    assert ["pageToken=1%2F%2B" in each for each in asked] == [False, True, False]
    assert all("startOffset=A" in each for each in asked)
    assert gcs_proxy.count() == 3


async def test_with_a_limit_nothing_is_asked_for_that_may_not_be_wanted(client: ObjectClient, gcs_proxy: Proxy) -> None:
    serve(gcs_proxy, page("a", "1"), page("b", "2"), page("c"))
    before = asyncio.all_tasks()
    pages = client.list("", ListOptions(limit=2))
    assert [asyncio.all_tasks() - before async for _ in pages] == [set(), set()]
    assert gcs_proxy.count() == 2


@pytest.mark.parametrize("leave", ["close", "scope", "task"])
async def test_a_listing_that_is_left_leaves_no_request_behind(
    client: ObjectClient, gcs_proxy: Proxy, leave: str
) -> None:
    """Closed while the next page is on its way, or cancelled while it waits for that one."""
    release = threading.Event()
    serve(gcs_proxy, page("a", "1"))
    gcs_proxy.add(Rule(Stall(release=release), kind=KIND))
    before = asyncio.all_tasks()
    scope, waiting = anyio.CancelScope(), anyio.Event()

    async def take() -> None:
        with scope:
            async with aclosing(client.list("")) as pages:
                await anext(pages)
                await arrived(gcs_proxy, 2)
                waiting.set()
                if leave != "close":
                    await anext(pages)

    task = asyncio.create_task(take())
    try:
        await waiting.wait()
        if leave == "scope":
            scope.cancel()
        if leave == "task":
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() == (leave == "task")
        assert asyncio.all_tasks() <= before
    finally:
        release.set()


@pytest.mark.parametrize(
    "answer", [gcs_error(403, "forbidden"), Answer(200, {}, b"<html/>"), page("b", "1")], ids=["403", "html", "no-end"]
)
async def test_what_comes_of_the_next_page_is_told_after_this_one(
    client: ObjectClient, gcs_proxy: Proxy, answer: Answer
) -> None:
    serve(gcs_proxy, page("a", "1"), answer)
    async with aclosing(client.list("")) as pages:
        assert [info.key for info in (await anext(pages)).objects] == ["a"]
        with pytest.raises(MoorageError):
            await anext(pages)


async def test_a_page_that_is_refused_takes_the_next_with_it(client: ObjectClient, gcs_proxy: Proxy) -> None:
    release = threading.Event()
    serve(gcs_proxy, Answer(200, {}, b'{"items": 5, "nextPageToken": "1"}'))
    gcs_proxy.add(Rule(Stall(release=release), kind=KIND))
    before = asyncio.all_tasks()
    try:
        with pytest.raises(StorageError):
            await anext(client.list(""))
        assert asyncio.all_tasks() <= before
    finally:
        release.set()
