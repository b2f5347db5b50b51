"""A content in parts: what is large is not copied only to change a little of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Pieces:
    """Bytes that follow each other, some of them views of other bytes. ``bytes(pieces)`` puts them together."""

    __slots__ = ("_parts", "_size")

    def __init__(self, parts: Iterable[bytes | memoryview] = ()) -> None:
        self._parts = tuple(parts)
        self._size = sum(map(len, self._parts))

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self._parts)

    def part(self, start: int, end: int) -> bytes:
        """The bytes ``[start, end)``."""
        found: list[bytes | memoryview] = []
        at = 0
        for part in self._parts:
            if at < end and at + len(part) > start:
                found.append(part[max(0, start - at) : end - at])
            at += len(part)
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
