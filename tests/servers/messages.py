"""Heads and bodies of HTTP/1.1 messages on asyncio streams, kept as they came: a signature covers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import Final

CHUNK: Final = 64 * 1024
LINE_END: Final = b"\r\n"
BODILESS: Final = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Head:
    """First line and headers of a message."""

    first: str
    fields: tuple[tuple[str, str], ...]

    @property
    def method(self) -> str:
        return self.first.split(" ", 2)[0]

    @property
    def target(self) -> str:
        return self.first.split(" ", 2)[1]

    @property
    def status(self) -> int:
        return int(self.first.split(" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name."""
        return {name.lower(): value for name, value in self.fields}

    def without(self, names: Iterable[str]) -> Head:
        dropped = frozenset(names)
        return replace(self, fields=tuple(each for each in self.fields if each[0].lower() not in dropped))

    def with_header(self, name: str, value: str) -> Head:
        return replace(self, fields=(*self.without([name.lower()]).fields, (name, value)))

    def with_target(self, target: str) -> Head:
        method, _, version = self.first.split(" ", 2)
        return replace(self, first=f"{method} {target} {version}")

    def encode(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.fields), "", ""]
        return "\r\n".join(lines).encode("latin-1")


def response_head(status: int, headers: dict[str, str]) -> Head:
    return Head(f"HTTP/1.1 {status} -", tuple(headers.items()))


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next message's head; ``None`` where the connection ended before it."""
    try:
        raw = await reader.readuntil(LINE_END + LINE_END)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = raw[: -2 * len(LINE_END)].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(first, tuple((name, value.strip()) for name, _, value in pairs))


async def read_response_head(reader: asyncio.StreamReader) -> Head | None:
    """The head of the final response; interim ones (1xx) are passed over."""
    while (head := await read_head(reader)) is not None:
        if head.status >= 200:
            return head
    return None


def request_body(head: Head, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The body as it is on the wire. Raises IncompleteReadError where the connection ends within it."""
    headers = head.headers
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunked(reader)
    return _sized(reader, int(headers.get("content-length", "0")))


def response_body(method: str, head: Head, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The body as it is on the wire: by length, in chunks, or until the connection ends."""
    if method == "HEAD" or head.status in BODILESS:
        return _sized(reader, 0)
    if ends_with_connection(head):
        return _rest(reader)
    return request_body(head, reader)


def ends_with_connection(head: Head) -> bool:
    headers = head.headers
    return "content-length" not in headers and "transfer-encoding" not in headers and head.status not in BODILESS


async def _sized(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size:
        data = await reader.read(min(size, CHUNK))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(data)
        yield data


async def _rest(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while data := await reader.read(CHUNK):
        yield data


async def _chunked(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readuntil(LINE_END)
        yield line
        size = int(line.split(b";")[0], 16)
        if not size:
            break
        async for data in _sized(reader, size + len(LINE_END)):
            yield data
    while (line := await reader.readuntil(LINE_END)) != LINE_END:
        yield line
    yield LINE_END
