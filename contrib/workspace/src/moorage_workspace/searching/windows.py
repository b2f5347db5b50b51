"""A file as text, a window at a time: bounded memory, whole lines, and around each window what secrets need to be seen.

A window's core is searched once; the margins beside it are only there so that what spans two windows is redacted in
both, and so that lines of context can be shown.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final

from moorage_workspace.text.encodings import SNIFFED, UTF8_BOM, judge, whole_characters
from moorage_workspace.text.excerpts import REACH

CORE: Final = 1024 * 1024
"""Bytes of a core; a longer line is searched so far."""


class NotTextError(Exception):
    """It is no UTF-8 text.

    Attributes:
        is_binary: nor text in any other encoding.
    """

    def __init__(self, *, is_binary: bool) -> None:
        super().__init__("binary" if is_binary else "not UTF-8")
        self.is_binary = is_binary


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file.

    Attributes:
        first: number of the core's first line, from 1.
    """

    before: str
    core: str
    after: str
    first: int


async def windows(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Window]:
    """The windows of a file, in order.

    Raises:
        NotTextError: as soon as the content shows it, maybe after some windows.
    """
    buffer = _Buffer()
    async for chunk in chunks:
        buffer.feed(chunk)
        while buffer.is_full:
            yield buffer.cut()
    buffer.end()
    while buffer.has_more:
        yield buffer.cut()


class _Buffer:
    def __init__(self) -> None:
        self._check = codecs.getincrementaldecoder("utf-8")()
        self._head = b""
        self._data = bytearray()
        self._begun = False
        self._ended = False
        self._skipping = False
        self._core = 0
        self._line = 1

    def feed(self, chunk: bytes) -> None:
        if len(self._head) < SNIFFED:
            self._head += chunk[:SNIFFED]
        self._validate(chunk)
        self._data += chunk
        if not self._begun and len(self._data) >= len(UTF8_BOM):
            self._begin()
        self._skip()

    def end(self) -> None:
        if not self._begun:
            self._begin()
        self._ended = True
        self._validate(b"", final=True)

    def _begin(self) -> None:
        self._begun = True
        if self._data.startswith(UTF8_BOM):
            del self._data[: len(UTF8_BOM)]

    def _validate(self, chunk: bytes, *, final: bool = False) -> None:
        bad = b"\0" in chunk
        if not bad and (self._check.getstate()[0] or not chunk.isascii()):
            try:
                self._check.decode(chunk, final)
            except UnicodeDecodeError:
                bad = True
        if bad:
            verdict = judge(self._head, complete=False)
            raise NotTextError(is_binary=b"\0" in chunk if verdict.is_text else verdict.is_binary)

    @property
    def is_full(self) -> bool:
        return not self._skipping and len(self._data) - self._core > CORE + REACH

    @property
    def has_more(self) -> bool:
        return not self._skipping and len(self._data) > self._core

    def cut(self) -> Window:
        """The next window; the buffer keeps what the one after it needs."""
        data, start = self._data, self._core
        end = len(data)
        if not self._ended or end - start > CORE + REACH:
            end = data.rfind(b"\n", start, start + CORE) + 1
        if end == 0:
            return self._cut_long_line()
        after = len(data) if self._ended and len(data) - end <= REACH else data.rfind(b"\n", end, end + REACH) + 1
        window = self._window(start, end, max(after, end))
        kept = self._margin(end)
        self._core = end - kept
        del data[:kept]
        return window

    def _margin(self, start: int) -> int:
        """Where the margin before a core begins."""
        if start <= REACH:
            return 0
        found = self._data.find(b"\n", start - REACH, start)
        return start if found < 0 else found + 1

    def _window(self, start: int, end: int, after: int) -> Window:
        data = self._data
        core = data[start:end].decode()
        window = Window(data[self._margin(start) : start].decode(), core, data[end:after].decode(), self._line)
        self._line += core.count("\n") + (not core.endswith("\n"))
        return window

    def _cut_long_line(self) -> Window:
        """The line's start; the rest of it is passed over."""
        start = self._core
        _, end = whole_characters(bytes(self._data[: start + CORE]), start, start + CORE)
        window = self._window(start, end, end)
        del self._data[:end]
        self._core = 0
        self._skipping = True
        self._skip()
        return window

    def _skip(self) -> None:
        if not self._skipping:
            return
        found = self._data.find(b"\n")
        if found >= 0:
            del self._data[: found + 1]
            self._skipping = False
        else:
            self._data.clear()
