"""The end of a stream, kept in bounded memory however much comes."""

from __future__ import annotations

import codecs
import inspect
import logging
from collections.abc import Awaitable
from typing import Final

from moorage_workspace.sandbox.port import OnOutput

_log: Final = logging.getLogger("moorage.workspace")
_LINE_SEARCH: Final = 4096


class Retained:
    """Takes bytes, keeps the last ``limit`` of them, and passes text on as it comes.

    Bytes that are no UTF-8 become U+FFFD. Where something was dropped, what is kept starts with a character, and with
    a line if one starts nearby: half a line may be half a secret, which nobody would know again.
    """

    def __init__(self, limit: int, callback: OnOutput | None = None) -> None:
        self._limit = max(limit, 0)
        self._buffer = bytearray()
        self._total = 0
        self._callback = callback
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> Awaitable[object] | None:
        """What it returns is done once the callback can take more."""
        self._total += len(data)
        if len(data) >= self._limit:
            self._buffer[:] = data[len(data) - self._limit :]
        else:
            self._buffer += data
            if len(self._buffer) > 2 * self._limit:
                del self._buffer[: len(self._buffer) - self._limit]
        if self._callback is not None:
            return self._pass_on(self._decoder.decode(data))
        return None

    def close(self) -> None:
        """Nothing more comes."""
        if self._callback is not None:
            self._pass_on(self._decoder.decode(b"", final=True))

    def text(self) -> tuple[str, int]:
        """What is kept, and how many bytes before it were dropped."""
        start = max(len(self._buffer) - self._limit, 0)
        if self._total > len(self._buffer) - start:
            start = self._beginning(start)
        kept = self._buffer[start:]
        return kept.decode("utf-8", "replace"), self._total - len(kept)

    def _beginning(self, start: int) -> int:
        nearby = min(_LINE_SEARCH, (len(self._buffer) - start) // 2)
        newline = self._buffer.find(b"\n", start, start + nearby)
        if newline >= 0:
            return newline + 1
        for position in range(start, min(start + 4, len(self._buffer))):
            if self._buffer[position] & 0xC0 != 0x80:
                return position
        return start

    def _pass_on(self, text: str) -> Awaitable[object] | None:
        if text and self._callback is not None:
            try:
                room = self._callback(text)
                return room if inspect.isawaitable(room) else None
            except Exception:
                _log.exception("a callback for a command's output failed; it is not called again")
                self._callback = None
        return None
