"""Bodies to write, made to be cut, counted and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import anyio.lowlevel


class Chunks:
    """A body that can be read once, with an await before every chunk.

    Not a generator, so that a provider which stops half-way leaves nothing open.

    Attributes:
        served: chunks handed out so far.
    """

    def __init__(self, chunks: Iterable[bytes], *, error: BaseException | None = None) -> None:
        """``error`` is raised once the chunks are used up, in the place of the end."""
        self._chunks = iter(chunks)
        self._error = error
        self.served = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        chunk = next(self._chunks, None)
        if chunk is not None:
            self.served += 1
            return chunk
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration


def pattern(size: int, *, seed: int = 0) -> bytes:
    """``size`` bytes in which every kind of shift shows; another ``seed`` gives other bytes."""
    unit = b"".join((index * 2_654_435_761 + seed).to_bytes(8, "big")[4:] for index in range(min(size // 4 + 1, 4099)))
    return (unit * (size // len(unit) + 1))[:size]


def blocks(count: int, size: int = 1 << 20) -> Iterator[bytes]:
    """``count`` fresh blocks of ``size`` bytes, no two neighbours alike; made one at a time."""
    for index in range(count):
        yield bytes([index % 251]) * size
