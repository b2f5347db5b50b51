"""How many requests each call makes: every row of the specification's table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from tests.unit.objects.support import Meeting, P, Style, chunks, content, drained, requests, store

from moorage import DeleteOptions, StoragePath, WriteOptions
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage.objects.memory_client import GCS_FEATURES, S3_FEATURES

pytestmark = pytest.mark.anyio

FILE = P("/d/e/file.txt")
DEPTH = 2
"""Ancestors of FILE below the root."""


@pytest.fixture(params=["s3", "gcs"])
def style(request: pytest.FixtureRequest) -> Style:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def client(style: Style) -> MemoryObjectClient:
    client = MemoryObjectClient(style=style, part_size=1000)
    client.poke("d/e/file.txt", b"content")
    return client


@pytest.fixture
def provider(client: MemoryObjectClient) -> ObjectStoreProvider:
    return ObjectStoreProvider(client)


@pytest.fixture
def unchecked(client: MemoryObjectClient) -> ObjectStoreProvider:
    return ObjectStoreProvider(client, name_checks=False)


async def test_stat_of_a_file(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    assert await requests(client, partial(provider.stat, FILE)) == {"head": 1}
    client.poke("Makefile", b"whatever its name")
    assert await requests(client, partial(provider.stat, P("/Makefile"))) == {"head": 1}


async def test_stat_of_a_file_just_written_whatever_its_name(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    await provider.write(P("/README"), b"x")
    assert await requests(client, partial(provider.stat, P("/README"))) == {"head": 1}


@pytest.mark.parametrize("path", ["/d", "/d/e", "/missing", "/d/e/missing"])
async def test_stat_of_a_directory_or_of_nothing_starts_both_requests_together(
    client: MemoryObjectClient, provider: ObjectStoreProvider, path: str
) -> None:
    client.before = Meeting("head", "list")
    assert await requests(client, partial(provider.stat, P(path))) == {"head": 1, "list": 1}


async def test_nothing_under_the_name_of_a_file_is_two_requests(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    assert await requests(client, partial(provider.stat, P("/d/nope.txt"))) == {"head": 1, "list": 1}


async def test_stat_of_the_root_asks_nothing(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    assert await requests(client, partial(provider.stat, P("/"))) == {}


@pytest.mark.parametrize(("start", "end"), [(0, None), (2, 4), (5, None), (3, 10_000)])
async def test_a_read_is_one_and_brings_its_stat(
    client: MemoryObjectClient, provider: ObjectStoreProvider, start: int, end: int | None
) -> None:
    client.requests.clear()
    async with await provider.read(FILE, start=start, end=end) as reader:
        assert reader.stat == await provider.stat(FILE)
        assert await reader.read() == b"content"[start:end]
    assert client.requests == {"get": 1, "head": 1}  # the head is this test's own


async def test_a_write_with_the_version(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    version = (await provider.stat(FILE)).version
    options = WriteOptions(expected_version=version or "")
    assert await requests(client, partial(provider.write, FILE, b"new", options)) == {"put": 1}
    assert client.peek("d/e/file.txt") == b"new"


async def test_a_write_without_it_adds_one_round(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    client.before = Meeting("list", "head", "head")
    assert await requests(client, partial(provider.write, FILE, b"new")) == {"list": 1, "head": DEPTH, "put": 1}


async def test_a_write_with_recent_knowledge(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    await provider.write(FILE, b"new")
    assert await requests(client, partial(provider.write, FILE, b"newer")) == {"put": 1}
    assert await requests(client, partial(provider.write, P("/d/e/other"), b"x")) == {"list": 1, "put": 1}


@pytest.mark.parametrize("overwrite", [True, False])
async def test_a_write_without_name_checks(
    client: MemoryObjectClient, unchecked: ObjectStoreProvider, overwrite: bool
) -> None:
    options = WriteOptions(overwrite=overwrite)
    assert await requests(client, partial(unchecked.write, P("/a/b/c"), b"new", options)) == {"put": 1}


async def test_a_write_with_the_time_only_is_still_atomic(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    time = (await provider.stat(FILE)).modified_at
    assert time is not None
    options = WriteOptions(expected_mtime=time)
    assert await requests(client, partial(provider.write, FILE, b"new", options)) == {"head": 1, "put": 1}


@pytest.mark.parametrize("prefix", [b"", b"content"])
async def test_an_append(client: MemoryObjectClient, provider: ObjectStoreProvider, prefix: bytes) -> None:
    client.poke("d/e/file.txt", prefix)
    assert await requests(client, partial(provider.append, FILE, b"+")) == {"get": 1, "put": 1}
    assert client.peek("d/e/file.txt") == prefix + b"+"


async def test_a_native_append_where_it_pays(style: Style) -> None:
    features = replace(S3_FEATURES if style == "s3" else GCS_FEATURES, native_append_from=5)
    client = MemoryObjectClient(style=style, features=features)
    provider = ObjectStoreProvider(client)
    client.poke("log", b"1234")
    assert await requests(client, partial(provider.append, P("/log"), b"5")) == {"get": 1, "put": 1}
    assert await requests(client, partial(provider.append, P("/log"), b"6")) == {"get": 1, "append": 1}
    assert client.peek("log") == b"123456"


async def test_a_native_append_everywhere(style: Style) -> None:
    client = MemoryObjectClient(style=style, features=replace(S3_FEATURES, native_append_from=0))
    provider = ObjectStoreProvider(client, name_checks=False)
    assert await requests(client, partial(provider.append, P("/log"), b"5")) == {"append": 1}
    assert await requests(client, partial(provider.append, P("/log"), b"6")) == {"append": 1}
    assert client.peek("log") == b"56"


async def test_a_delete(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    assert await requests(client, partial(provider.delete, FILE)) == {"delete": 1}
    assert client.peek("d/e/file.txt") is None


async def test_a_delete_where_the_store_does_not_tell_what_is_missing() -> None:
    client = MemoryObjectClient(features=replace(S3_FEATURES, delete_reports_missing=False))
    client.poke("file.txt", b"")
    provider = ObjectStoreProvider(client)
    assert await requests(client, partial(provider.delete, P("/file.txt"))) == {"head": 1, "delete": 1}


async def test_a_delete_with_the_version(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    version = (await provider.stat(FILE)).version or ""
    options = DeleteOptions(expected_version=version)
    assert await requests(client, partial(provider.delete, FILE, options)) == {"delete": 1}


@pytest.mark.parametrize("parts", [2, 3, 7])
async def test_a_write_of_n_parts(client: MemoryObjectClient, unchecked: ObjectStoreProvider, parts: int) -> None:
    body = b"x" * (1000 * parts - 1)
    uploads = {"start_upload": 1, "upload_part": parts, "finish_upload": 1}
    assert await requests(client, partial(unchecked.write, P("/big"), body)) == uploads
    assert client.peek("big") == body
    streamed = partial(unchecked.write, P("/big"), chunks(*[b"x" * 999] * parts, b"x" * (parts - 1)))
    assert await requests(client, streamed) == uploads
    assert client.peek("big") == body


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2500])
async def test_a_listing_of_n_entries(client: MemoryObjectClient, provider: ObjectStoreProvider, count: int) -> None:
    for index in range(count):
        client.poke(f"many/{index:05}", b"")
    pages = -(-count // 1000)
    assert await requests(client, partial(drained, provider, "/many")) == {"list": pages}
    assert await requests(client, partial(drained, provider, "/many", recursive=True)) == {"list": pages}


async def test_an_empty_listing_asks_once_more_what_is_there(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    await provider.make_dir(P("/empty"))
    assert await requests(client, partial(drained, provider, "/empty")) == {"list": 1}
    assert await requests(client, partial(drained, provider, "/missing")) == {"list": 2}
    assert await requests(client, partial(drained, provider, "/d/e/file.txt")) == {"list": 2}


async def test_a_recursive_listing_counts_keys_not_directories(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    for index in range(1200):
        client.poke(f"deep/{index}/x", b"")
    assert await requests(client, partial(drained, provider, "/deep", recursive=True)) == {"list": 2}


async def test_a_copy(client: MemoryObjectClient, unchecked: ObjectStoreProvider, style: Style) -> None:
    # S3's answer to a copy has no size: a look at the source is the one check.
    check = Counter({"head": 1}) if style == "s3" else Counter[str]()
    assert await requests(client, partial(unchecked.copy, FILE, P("/copy"))) == check + Counter({"copy": 1})
    assert client.peek("copy") == b"content"


async def test_the_checks_of_a_copy_are_one_round(
    client: MemoryObjectClient, provider: ObjectStoreProvider, style: Style
) -> None:
    look = ["head"] if style == "s3" else []
    client.before = Meeting("list", "head", *look)
    made = await requests(client, partial(provider.copy, FILE, P("/x/copy")))
    assert made == Counter(["list", "head", "copy", *look])


async def test_a_move(client: MemoryObjectClient, unchecked: ObjectStoreProvider, style: Style) -> None:
    made = await requests(client, partial(unchecked.move, FILE, P("/moved")))
    assert made == ({"head": 1, "copy": 1, "delete": 1} if style == "s3" else {"move": 1})
    assert (client.peek("moved"), client.peek("d/e/file.txt")) == (b"content", None)


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2500, 3000])
async def test_a_recursive_removal(
    client: MemoryObjectClient, provider: ObjectStoreProvider, style: Style, count: int
) -> None:
    for index in range(count):
        client.poke(f"many/{index:05}", b"")
    pages, batches = -(-count // 1000), -(-count // (1000 if style == "s3" else 100))
    made = await requests(client, partial(provider.remove_dir, P("/many"), recursive=True))
    assert made == {"list": pages, "delete_many": batches}
    assert client.all_keys() == ("d/e/file.txt",)


async def test_a_read_of_nothing_asks_what_is_there(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    assert await requests(client, partial(content, provider, "/d")) == {"get": 1, "list": 1}


async def test_lineage_and_capabilities_ask_nothing(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    assert await requests(client, partial(provider.lineage, FILE)) == {}
    assert await requests(client, partial(provider.capabilities, FILE)) == {}


async def test_a_short_page_of_similar_names_costs_a_second_round_only_when_it_overflows() -> None:
    client, provider = store()
    for index in range(1500):
        client.poke(f"part-{index:04}", b"")
    client.poke("part/x", b"")
    assert await requests(client, partial(provider.stat, StoragePath("/part"))) == {"head": 3, "list": 2}
    assert (await provider.stat(P("/part"))).is_dir
