"""What a call costs on its way through the mount table and through the user's class."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from scripts.benches.rows import Aim, Row, Setting, medians

from moorage import CompositeFilesystem, MemoryFilesystem, Stat, StoragePath

T = TypeVar("T")

MOUNTS: Final = 30
_CACHED: Final = 10
_UNCACHED: Final = 400
"""Files a mount; 30 times as many exceed what the cache of parsed paths holds."""

_AIM: Final = Aim("more", "≤", 5)


async def measure(setting: Setting) -> None:
    stores = [MemoryFilesystem() for _ in range(MOUNTS)]
    async with CompositeFilesystem({f"/mount{number}": store for number, store in enumerate(stores)}) as tree:
        for files in (_CACHED, setting.size(_UNCACHED, 2 * _CACHED)):
            texts = [f"/directory/file{number}" for number in range(files)]
            for store in stores:
                for text in texts:
                    await store.write_bytes(text, b"")
            await _measure_paths(setting, tree, stores, texts)


async def _measure_paths(
    setting: Setting, tree: CompositeFilesystem, stores: Sequence[MemoryFilesystem], texts: Sequence[str]
) -> None:
    calls = setting.size(24_000, 600)
    outer_texts = [f"/mount{number}{text}" for text in texts for number in range(MOUNTS)]
    outer = [StoragePath(text) for text in outer_texts]
    inner = [StoragePath(text) for text in texts for _ in range(MOUNTS)]
    providers = [store.provider.stat for _ in texts for store in stores]

    async def bare(_: int) -> float:
        return await _each(list(zip(providers, inner, strict=True)), calls)

    async def router(_: int) -> float:
        return await _each([(tree.provider.stat, path) for path in outer], calls)

    async def user(_: int) -> float:
        return await _each([(tree.stat, text) for text in outer_texts], calls)

    theirs, routed, whole = await medians([bare, router, user], setting.size(9, 1))
    setting.emit(Row(f"router: stat over the bare provider's, {len(outer):,} paths", routed, theirs, "µs", _AIM))
    setting.emit(Row(f"tree: stat(str) over the bare provider's, {len(outer):,} paths", whole, theirs, "µs", _AIM))


async def _each(calls: Sequence[tuple[Callable[[T], Awaitable[Stat]], T]], count: int) -> float:
    """Microseconds a call."""
    rounds = max(1, count // len(calls))
    started = time.perf_counter()
    for _ in range(rounds):
        for call, path in calls:
            await call(path)
    return (time.perf_counter() - started) / (rounds * len(calls)) * 1e6
