"""What the tests of the object store provider share: hooks, and a client that says which requests overlapped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

import anyio

from moorage import Entry, MoorageError, Provider, StoragePath
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage.objects.memory_client import S3_FEATURES
from moorage.testing import Chunks

Style = Literal["s3", "gcs"]

P = StoragePath.parse

IGNORANT = replace(
    S3_FEATURES,
    conditional_put=False,
    conditional_delete=False,
    conditional_copy=False,
    conditional_source=False,
    delete_reports_missing=False,
)
"""What an S3-compatible server does that ignores all conditions."""


async def entries(provider: Provider, path: str = "/", *, recursive: bool = False) -> list[Entry]:
    return [entry async for entry in provider.list(P(path), recursive=recursive)]


async def shown(provider: Provider, path: str = "/", *, recursive: bool = False) -> list[tuple[str, str]]:
    """Kind and path (or raw name) of each entry, sorted."""
    found = await entries(provider, path, recursive=recursive)
    return sorted(
        (entry.kind.value, repr(entry.raw_name) if entry.path is None else str(entry.path)) for entry in found
    )


async def content(provider: Provider, path: str) -> bytes:
    async with await provider.read(P(path)) as reader:
        return await reader.read()


async def requests(client: MemoryObjectClient, call: Callable[[], Awaitable[object]]) -> Counter[str]:
    """The requests that one call makes; its refusal, if any, is part of the question and not of the answer."""
    client.requests.clear()
    with suppress(MoorageError):
        await call()
    return Counter(client.requests)


async def drained(provider: Provider, path: str, *, recursive: bool = False) -> int:
    return len(await entries(provider, path, recursive=recursive))


def chunks(*parts: bytes) -> Chunks:
    """A body that can be read once."""
    return Chunks(parts)


class Failing:
    """A hook that raises an error at chosen requests of one kind, counted from 1."""

    def __init__(self, kind: str, error: Callable[[], MoorageError], *at: int) -> None:
        self.kind = kind
        self.error = error
        self.at = at
        self.seen = 0

    async def __call__(self, kind: str, key: str) -> None:
        if kind == self.kind:
            self.seen += 1
            if self.seen in self.at:
                raise self.error()


class Interfering:
    """A hook that lets another client act just before the first request of one kind."""

    def __init__(self, kind: str, act: Callable[[], object]) -> None:
        self.kind = kind
        self.act: Callable[[], object] | None = act

    async def __call__(self, kind: str, key: str) -> None:
        if kind == self.kind and self.act is not None:
            act, self.act = self.act, None
            act()


class Meeting:
    """A hook that answers no request of these kinds before one of each is under way: they must be concurrent."""

    def __init__(self, *kinds: str) -> None:
        self.missing = list(kinds)
        self.complete = anyio.Event()

    async def __call__(self, kind: str, key: str) -> None:
        if kind in self.missing:
            self.missing.remove(kind)
            if not self.missing:
                self.complete.set()
            with anyio.fail_after(5):
                await self.complete.wait()


def store(style: Style = "s3", **options: object) -> tuple[MemoryObjectClient, ObjectStoreProvider]:
    client = MemoryObjectClient(style=style)
    return client, ObjectStoreProvider(client, **options)  # type: ignore[arg-type]


async def race(count: int, call: Callable[[int], Awaitable[object]]) -> tuple[int, list[Exception]]:
    """How many of so many concurrent calls succeed, and the errors of the others."""
    errors: list[Exception] = []

    async def run(index: int) -> None:
        try:
            await call(index)
        except Exception as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for index in range(count):
            tasks.start_soon(run, index)
    return count - len(errors), errors
