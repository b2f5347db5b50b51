"""Bodies that arrive in chunks: small ones become bytes, large ones are written as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from functools import partial
from typing import Final, Protocol

from moorage import StoragePath
from moorage_local.sources import BytesSource, Source
from moorage_local.workers import LONG, Job, wait

PIECE: Final = 1 << 20


async def pieces(body: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The same bytes in pieces of about a mebibyte; always at least one, which may be empty."""
    held: list[bytes] = []
    size = 0
    async for chunk in body:
        if held and size + len(chunk) > PIECE:
            yield b"".join(held)
            held, size = [], 0
        held.append(bytes(chunk))
        size += len(chunk)
    yield b"".join(held)


class Filled(Protocol):
    """What takes a long body, a piece at a time, on a worker."""

    path: StoragePath

    def begin(self, job: Job[None]) -> None: ...

    def add(self, source: Source, job: Job[None]) -> None: ...


async def fill(target: Filled, stream: AsyncIterator[bytes], *first: bytes) -> None:
    """Write ``first`` and then the rest of ``stream``: one piece is written while the next one arrives."""
    await LONG.run(target.begin, target.path)
    job: Job[None] | None = None
    for piece in first:
        if job is not None:
            await wait(job)
        job = LONG.submit(partial(target.add, BytesSource(piece)), target.path)
    async for piece in stream:
        if job is not None:
            await wait(job)
        job = LONG.submit(partial(target.add, BytesSource(piece)), target.path)
    if job is not None:
        await wait(job)
