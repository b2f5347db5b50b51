"""Listings: pages, implied directories once, keys that no path can express."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import anyio.lowlevel
import pytest
from tests.unit.objects.support import P, content, entries, shown, store

from moorage import PathNotDirectoryError, PathNotFoundError, StoragePath
from moorage.objects import ListOptions, MemoryObjectClient, ObjectPage, ObjectStoreProvider
from moorage.objects.client import LIST

pytestmark = pytest.mark.anyio

ODD = ["a//b", "/lead", "./x", "a/../b", "..", "a/.", "new\nline", "del\x7f", "tab\t/x", "dir//", "//"]


class Disorderly(MemoryObjectClient):
    """Lists in reverse, page after page, and repeats all common prefixes on every page."""

    async def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        pages = [page async for page in super().list(prefix, options)]
        prefixes = tuple(found for page in pages for found in page.prefixes)
        for index, page in enumerate(reversed(pages)):
            yield ObjectPage(page.objects[::-1], prefixes[::-1], more=index + 1 < len(pages))


async def test_2500_keys_in_one_directory_and_in_many() -> None:
    client, provider = store()
    for index in range(2500):
        client.poke(f"flat/{index:04}", b"")
        client.poke(f"deep/{index % 50}/{index:04}", b"")
    assert len(await shown(provider, "/flat")) == 2500
    assert await shown(provider) == [("directory", "/deep"), ("directory", "/flat")]
    assert len(await shown(provider, "/deep")) == 50
    everything = await shown(provider, recursive=True)
    assert len(everything) == len(set(everything)) == 2 + 50 + 5000


@pytest.mark.parametrize("recursive", [False, True])
async def test_no_order_and_repeated_prefixes_change_nothing(recursive: bool) -> None:
    orderly, disorderly = MemoryObjectClient(), Disorderly()
    for client in (orderly, disorderly):
        for index in range(1100):
            client.poke(f"{index}/x/{index}", b"")
        for key in (*ODD, "0/", "0_$folder$", "0"):
            client.poke(key, b"")
    found = await shown(ObjectStoreProvider(disorderly), recursive=recursive)
    assert found == await shown(ObjectStoreProvider(orderly), recursive=recursive)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("key", ODD)
async def test_an_odd_key_is_listed_and_never_reached(key: str) -> None:
    client, provider = store()
    client.poke(key, b"odd")
    client.poke("a/b", b"even")
    raw = [entry.raw_name for entry in await entries(provider, recursive=True) if entry.path is None]
    assert raw == [key.encode()]
    assert {str(entry.path) for entry in await entries(provider, recursive=True)} >= {"/a", "/a/b"}
    assert await content(provider, "/a/b") == b"even"
    await provider.write(P("/a/b"), b"new")
    await provider.delete(P("/a/b"))
    assert client.all_keys() == (key,)
    assert client.peek(key) == b"odd"


async def test_odd_keys_are_met_step_by_step_too() -> None:
    client, provider = store()
    for key in ("a//b", "/lead", "./x", "d/../b", "d/ok"):
        client.poke(key, b"")
    found = await entries(provider)
    assert {str(entry.path) for entry in found if entry.path} == {"/a", "/d"}
    assert {entry.raw_name for entry in found if not entry.path} == {b"/", b"./"}
    assert [entry.raw_name for entry in await entries(provider, "/a")] == [b"a//"]
    assert await shown(provider, "/d") == [("directory", "b'd/../'"), ("file", "/d/ok")]


async def test_the_way_to_an_odd_key_is_a_directory_in_both_listings() -> None:
    client, provider = store()
    client.poke("q/r//x", b"")
    assert await shown(provider) == [("directory", "/q")]
    found = await shown(provider, recursive=True)
    assert found == [("directory", "/q"), ("directory", "/q/r"), ("file", "b'q/r//x'")]
    assert await shown(provider, "/q/r", recursive=True) == [("file", "b'q/r//x'")]


async def test_raw_names_are_below_the_prefix() -> None:
    client, _ = store()
    client.poke("base//x", b"")
    provider = ObjectStoreProvider(client, prefix="base")
    assert [entry.raw_name for entry in await entries(provider, recursive=True)] == [b"/x"]


async def test_names_in_their_two_unicode_forms_are_two_files() -> None:
    _, provider = store()
    await provider.write(P("/é"), b"composed")
    await provider.write(P("/e\u0301"), b"decomposed")
    assert len(await entries(provider)) == 2
    assert await content(provider, "/é") == b"composed"


@pytest.mark.parametrize("recursive", [False, True])
async def test_what_is_no_directory(recursive: bool) -> None:
    client, provider = store()
    client.poke("f", b"")
    with pytest.raises(PathNotDirectoryError) as file:
        await entries(provider, "/f", recursive=recursive)
    assert file.value.path == "/f"
    with pytest.raises(PathNotFoundError):
        await entries(provider, "/missing", recursive=recursive)


async def test_an_entry_says_what_stat_says() -> None:
    client, provider = store()
    client.poke("d/f", b"123")
    listed = (await entries(provider, "/d"))[0].stat
    asked = await provider.stat(P("/d/f"))
    assert (listed.size, listed.version, listed.modified_at) == (asked.size, asked.version, asked.modified_at)


async def test_a_key_of_1024_bytes_round_trips() -> None:
    client, provider = store()
    path = StoragePath("/" + "/".join(["x" * 255] * 4) + "y")
    assert len(path.relative) == 1024
    await provider.write(path, b"long")
    assert await content(provider, str(path)) == b"long"
    assert (await provider.stat(path)).size == 4
    assert client.all_keys() == (path.relative,)


async def test_a_listing_left_half_way_leaves_nothing_open(anyio_backend_name: str) -> None:
    client, provider = store()
    for index in range(2500):
        client.poke(f"{index}", b"")
    listing = provider.list(P("/"))
    await anext(listing)
    await listing.aclose()  # type: ignore[attr-defined]
    assert client.requests == {"list": 1}


async def test_iteration_yields_in_no_task_group() -> None:
    client, provider = store()
    client.poke("a", b"")
    client.poke("b", b"")
    seen = 0
    with anyio.move_on_after(5) as scope:
        async for _ in provider.list(P("/"), recursive=True):
            seen += 1
            with anyio.CancelScope() as inner:
                inner.cancel()
                await anyio.lowlevel.checkpoint()
    assert seen == 2
    assert not scope.cancelled_caught
