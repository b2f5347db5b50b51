"""A stream on disk, so that it can be sent as one body of known length."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from typing import IO

import anyio.to_thread

from moorage import LimitExceededError
from moorage_s3.sending import LargeBody

_PIECE = 1 << 20


@asynccontextmanager
async def spooled(chunks: AsyncIterable[bytes], in_memory: int, most: int) -> AsyncGenerator[bytes | LargeBody, None]:
    """All chunks: as bytes up to ``in_memory`` of them, else in an unnamed temporary file.

    Raises:
        LimitExceededError: more than ``most`` bytes.
    """
    head = bytearray()
    stream = aiter(chunks)
    async for chunk in stream:
        head += chunk
        if len(head) > in_memory:
            break
    else:
        yield bytes(head)
        return
    file: IO[bytes] = await anyio.to_thread.run_sync(tempfile.TemporaryFile)
    with file:
        yield await _spool(file, bytes(head), stream, most)


async def _spool(file: IO[bytes], head: bytes, rest: AsyncIterable[bytes], most: int) -> LargeBody:
    digest, length = hashlib.sha256(), 0

    def append(data: bytes) -> None:
        file.write(data)
        digest.update(data)

    await anyio.to_thread.run_sync(append, head)
    length = len(head)
    async for chunk in rest:
        length += len(chunk)
        if length > most:
            raise LimitExceededError("larger than this store takes under a condition")
        await anyio.to_thread.run_sync(append, chunk)
    await anyio.to_thread.run_sync(file.flush)

    reading = threading.Lock()

    def piece(start: int) -> bytes:
        with reading:  # of an attempt that was given up a read may still be under way
            file.seek(start)
            return file.read(_PIECE)

    async def read() -> AsyncGenerator[bytes, None]:
        start = 0
        while data := await anyio.to_thread.run_sync(piece, start):
            start += len(data)
            yield data

    return LargeBody(length, digest.hexdigest(), read)
