"""Streams that are left half-way: closed with those who left them, in whatever order an event loop ends them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from moorage import CompositeFilesystem, Entry, Filesystem, MemoryFilesystem
from moorage.streams import closing
from moorage_local import LocalFilesystem

Listing = Callable[[Filesystem], AsyncIterator[Entry]]


@pytest.mark.parametrize("mounted", [True, False])
@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(
    "listing",
    [
        lambda fs: fs.scan_dir("/m"),
        lambda fs: fs.scan_dir("/m", recursive=True),
        lambda fs: fs.scan_dir("/m", max_depth=2),
        lambda fs: fs.walk("/m"),
        lambda fs: fs.glob("/m/*"),
        lambda fs: fs.glob("/m/*/*.txt"),
    ],
    ids=["flat", "recursive", "levels", "walk", "glob", "glob below"],
)
def test_a_loop_ends_in_peace_while_a_listing_is_open(
    tmp_path: Path, listing: Listing, is_local: bool, mounted: bool
) -> None:
    said: list[dict[str, Any]] = []
    kept: list[AsyncIterator[Entry]] = []

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        store: Filesystem = LocalFilesystem(tmp_path) if is_local else MemoryFilesystem()
        fs = CompositeFilesystem({"/": store}) if mounted else store
        await fs.init()
        for name in ("one", "two", "three"):
            await fs.write_bytes(f"/m/{name}/file.txt", b"x")
        kept.append(listing(fs))
        await anext(kept[0])

    asyncio.run(leave())
    assert said == []


@pytest.mark.anyio
async def test_a_stream_is_closed_on_the_way_out() -> None:
    left: list[str] = []

    async def numbers() -> AsyncGenerator[int]:
        try:
            yield 1
            yield 2
        finally:
            left.append("closed")

    async with closing(numbers()) as stream:
        assert await anext(stream) == 1
    assert left == ["closed"]
    with suppress(LookupError):
        async with closing(numbers()) as stream:
            await anext(stream)
            raise LookupError
    assert left == ["closed", "closed"]


@pytest.mark.anyio
async def test_what_cannot_be_closed_is_left_alone() -> None:
    class Endless:
        def __aiter__(self) -> Endless:
            return self

        async def __anext__(self) -> int:
            return 1

    async with closing(Endless()) as stream:
        assert await anext(stream) == 1
    assert await anext(stream) == 1
