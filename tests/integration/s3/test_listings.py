"""Listings of several pages: the next page is under way while one is taken, and nothing of that shows or stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import anyio.to_thread
import pytest
from tests.integration.s3.support import opened, provider_of
from tests.servers.faults import Answer, Rule, Stall, s3_error
from tests.servers.proxy import Proxy

from moorage import MoorageError, StorageError
from moorage.objects import ListOptions, ObjectClient, ObjectPage
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

KIND = "list_objects"


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy, prefix="") as fs:
        s3_proxy.reset()
        yield fs


def client_of(fs: S3Filesystem) -> ObjectClient:
    return provider_of(fs).client


def page(key: str, token: str = "") -> Answer:
    entry = f"<Contents><Key>{key}</Key><Size>1</Size></Contents>"
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return Answer(200, {}, f"<ListBucketResult>{entry}{more}</ListBucketResult>".encode())


def serve(proxy: Proxy, *answers: Answer) -> list[Rule]:
    """The pages in turn, whatever is asked."""
    return [proxy.add(Rule(answer, kind=KIND, times=1)) for answer in answers]


async def arrived(proxy: Proxy, number: int) -> None:
    await anyio.to_thread.run_sync(lambda: proxy.wait_for(KIND, number, seconds=120))


def keys(found: ObjectPage) -> list[str]:
    return [info.key for info in found.objects]


async def test_pages_follow_each_other(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    serve(s3_proxy, page("a", "1/+ä"), page("b", "2"), page("c"))
    options = ListOptions(start_after="A")
    found = [keys(each) async for each in client_of(fs).list("", options)]
    assert found == [["a"], ["b"], ["c"]]
    asked = [seen.target.partition("?")[2] for seen in s3_proxy.requests]
    assert ["start-after" in each for each in asked] == [True, False, False]
    assert ["continuation-token=1%2F%2B%C3%A4" in each for each in asked] == [False, True, False]
    assert s3_proxy.count() == 3


async def test_the_next_page_is_asked_for_while_one_is_taken(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    serve(s3_proxy, page("a", "1"), page("b", "2"), page("c"))
    async with aclosing(client_of(fs).list("")) as pages:
        assert keys(await anext(pages)) == ["a"]
        await arrived(s3_proxy, 2)
        assert keys(await anext(pages)) == ["b"]
        await arrived(s3_proxy, 3)
        assert [keys(each) async for each in pages] == [["c"]]
    assert s3_proxy.count() == 3


async def test_with_a_limit_nothing_is_asked_for_that_may_not_be_wanted(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    serve(s3_proxy, page("a", "1"), page("b", "2"), page("c"))
    before = asyncio.all_tasks()
    pages = client_of(fs).list("", ListOptions(limit=2))
    assert [asyncio.all_tasks() - before async for _ in pages] == [set(), set()]
    assert s3_proxy.count() == 2


@pytest.mark.parametrize("leave", ["close", "scope", "task"])
async def test_a_listing_that_is_left_leaves_no_request_behind(fs: S3Filesystem, s3_proxy: Proxy, leave: str) -> None:
    """Closed while the next page is on its way, or cancelled while it waits for that one."""
    release = threading.Event()
    serve(s3_proxy, page("a", "1"))
    s3_proxy.add(Rule(Stall(release=release), kind=KIND))
    before = asyncio.all_tasks()
    scope, waiting = anyio.CancelScope(), anyio.Event()

    async def take() -> None:
        with scope:
            async with aclosing(client_of(fs).list("")) as pages:
                assert keys(await anext(pages)) == ["a"]
                await arrived(s3_proxy, 2)
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


async def test_what_comes_of_the_next_page_is_told_after_this_one(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    for answer in (s3_error(403, "AccessDenied"), page("elsewhere"), Answer(200, {}, b"<html/>")):
        s3_proxy.clear()
        serve(s3_proxy, page("p/a", "1"), answer)
        async with aclosing(client_of(fs).list("p/")) as pages:
            assert keys(await anext(pages)) == ["p/a"]
            with pytest.raises(MoorageError):
                await anext(pages)


async def test_a_page_that_is_refused_takes_the_next_with_it(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    release = threading.Event()
    serve(s3_proxy, page("elsewhere", "1"))
    s3_proxy.add(Rule(Stall(release=release), kind=KIND))
    before = asyncio.all_tasks()
    try:
        with pytest.raises(StorageError):
            await fs.list_dir("/p", recursive=True)
        assert asyncio.all_tasks() <= before
    finally:
        release.set()


async def test_a_failure_that_nobody_asks_for_is_not_complained_about(
    fs: S3Filesystem, s3_proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    serve(s3_proxy, page("a", "1"), s3_error(403, "AccessDenied"))
    async with aclosing(client_of(fs).list("")) as pages:
        await anext(pages)
        await fs.aclose()
    assert not caplog.records
