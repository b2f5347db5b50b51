"""A content in parts: what is large is not copied only to change a little of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate


class Pieces:
    """Bytes that follow each other, some of them views of other bytes. ``bytes(pieces)`` puts them together."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Iterable[bytes | memoryview] = ()) -> None:
        self._parts = tuple(parts)
        self._ends = tuple(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __bytes__(self) -> bytes:
        return b"".join(self._parts)

    def part(self, start: int, end: int) -> bytes:
        """The bytes ``[start, end)``."""
        found: list[bytes | memoryview] = []
        for number in range(bisect_right(self._ends, start), len(self._parts)):
            part = self._parts[number]
            at = self._ends[number] - len(part)
            if at >= end:
                break
            found.append(part[max(0, start - at) : end - at])
        return b"".join(found)

    def chunks(self, size: int) -> Iterator[bytes]:
        """All of it, ``size`` bytes at a time, and at the end what is left."""
        held: list[bytes | memoryview] = []
        room = size
        for part in self._parts:
            at = 0
            while len(part) - at >= room:
                held.append(part[at : at + room])
                yield b"".join(held)
                held, at, room = [], at + room, size
            if at < len(part):
                held.append(part[at:])
                room -= len(part) - at
        if held:
            yield b"".join(held)
