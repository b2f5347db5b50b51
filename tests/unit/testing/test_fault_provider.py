"""Faults happen where they were asked for, and nowhere else."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from moorage import MemoryProvider, PathNotFoundError, Provider, StoragePath, UnavailableError
from moorage.testing import Chunks, Fault, FaultProvider, LatencyProvider

pytestmark = pytest.mark.anyio

PATH = StoragePath("/file")


async def content(provider: Provider) -> bytes | None:
    try:
        async with await provider.read(PATH) as reader:
            return await reader.read()
    except PathNotFoundError:
        return None


async def fails(call: Awaitable[object]) -> bool:
    try:
        await call
    except UnavailableError:
        return True
    return False


async def test_the_chosen_call_fails_and_the_others_do_not() -> None:
    faulty = FaultProvider(MemoryProvider(), Fault("write", call=2))
    assert [await fails(faulty.write(PATH, b"x")) for _ in range(4)] == [False, True, False, False]
    assert faulty.calls == {"write": 4}


async def test_without_a_kind_all_calls_are_counted() -> None:
    faulty = FaultProvider(MemoryProvider(), Fault(call=3))
    await faulty.write(PATH, b"x")
    await faulty.stat(PATH)
    assert await fails(faulty.delete(PATH))
    await faulty.delete(PATH)


async def test_before_means_that_nothing_happened_and_after_that_it_did() -> None:
    for fault, held in ((Fault("write", when="before"), None), (Fault("write", when="after"), b"x")):
        inner = MemoryProvider()
        faulty = FaultProvider(inner, fault)
        assert await fails(faulty.write(PATH, b"x"))
        assert await content(inner) == held


async def test_a_body_is_cut_on_its_way_to_the_store() -> None:
    for body in (b"0123456789", Chunks([b"01234", b"56789"])):
        inner = MemoryProvider()
        await inner.write(PATH, b"old")
        faulty = FaultProvider(inner, Fault("write", passes=7))
        assert await fails(faulty.write(PATH, body))
        assert await content(inner) == b"old"


async def test_a_read_is_cut_after_so_many_bytes() -> None:
    inner = MemoryProvider()
    await inner.write(PATH, b"0123456789")
    reader = await FaultProvider(inner, Fault("read", passes=4)).read(PATH)
    assert await anext(reader) == b"0123"
    with pytest.raises(UnavailableError):
        await anext(reader)


async def test_a_listing_is_cut_after_so_many_entries() -> None:
    inner = MemoryProvider()
    for name in "abc":
        await inner.write(StoragePath(f"/{name}"), b"x")
    entries = FaultProvider(inner, Fault("list", passes=2)).list(StoragePath("/"))
    assert [(await anext(entries)).name, (await anext(entries)).name] == ["a", "b"]
    with pytest.raises(UnavailableError):
        await anext(entries)


async def test_another_error_can_be_chosen() -> None:
    faulty = FaultProvider(MemoryProvider(), Fault("stat", error=lambda: RuntimeError("foreign")))
    with pytest.raises(RuntimeError, match="foreign"):
        await faulty.stat(StoragePath("/"))


async def test_latency_changes_no_answer() -> None:
    slow = LatencyProvider(MemoryProvider(), most=0.001)
    stat = await slow.write(PATH, b"x")
    assert await slow.stat(PATH) == stat
    assert [entry.name async for entry in slow.list(StoragePath("/"))] == ["file"]
