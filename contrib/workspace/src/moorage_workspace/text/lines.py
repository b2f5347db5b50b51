"""Lines of bytes. A line ends with ``\\n`` or ``\\r\\n`` and with nothing else.

A lone ``\\r``, form feed, U+0085, U+2028 and the like are ordinary characters, as they are for ripgrep and git, so that
line numbers agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage_workspace.redaction.open_keys import OpenKey
from moorage_workspace.text.encodings import whole_characters
from moorage_workspace.text.excerpts import REACH


def line_number(data: bytes, offset: int) -> int:
    """Of the line that the byte at ``offset`` is in, from 1."""
    return data.count(b"\n", 0, offset) + 1


def line_start(data: bytes, offset: int) -> int:
    """Where the line begins that the byte at ``offset`` is in."""
    return data.rfind(b"\n", 0, offset) + 1


def line_end(data: bytes, offset: int) -> int:
    """Where the next line begins after the byte at ``offset``, or the end."""
    found = data.find(b"\n", offset)
    return len(data) if found < 0 else found + 1


def after_lines(data: bytes, count: int, start: int = 0) -> int | None:
    """Where the line begins that is ``count`` line ends after ``start``; ``None`` where there are not so many.

    Linear in the distance, whatever the lines' length.
    """
    end = len(data)
    if data.count(b"\n", start, end) < count:
        return None
    while count > 0 and end - start > 256:
        middle = (start + end) // 2
        before = data.count(b"\n", start, middle)
        if before >= count:
            end = middle
        else:
            start, count = middle, count - before
    for _ in range(count):
        start = data.find(b"\n", start) + 1
    return start


def split_lines(text: str) -> list[str]:
    """The lines without their ends; a text that ends with a line end has no empty line after it."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


class LineWindow:
    """Picks some lines out of chunks in bounded memory, with what surrounds them, and counts all lines.

    Feed it every chunk from the start; stop early once :attr:`filled` holds and the number of lines is not wanted.

    Args:
        first: the first line of the window, from 1.
        count: lines that are wanted; ``None`` for all that follow.
        capacity: bytes of the window that are kept; the rest of it is left out.

    Attributes:
        first: the first line.
        start: offset in the content of the window's first byte, once it was reached.
        kept: the bytes around and in the window.
        base: offset in the content of the first byte of ``kept``.
        size: bytes fed so far.
        newlines: line ends fed so far.
        key: whether a private key is open where the window begins.
    """

    def __init__(self, first: int, count: int | None, capacity: int) -> None:
        self.first = first
        self._skip = first - 1
        self._count = count
        self._capacity = capacity
        self._unended = False
        self.start: int | None = 0 if first == 1 else None
        self.kept = bytearray()
        self.base = 0
        self.size = 0
        self.newlines = 0
        self.key = OpenKey()

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the content."""
        newlines = chunk.count(b"\n")
        if self.start is None and self.newlines + newlines >= self._skip:
            within = after_lines(chunk, self._skip - self.newlines)
            assert within is not None  # noqa: S101 (just counted)
            self.start = self.size + within
            self.key.feed(chunk[:within])
        elif self.start is None:
            self.key.feed(chunk)
        if self.start is None:
            self.kept = (self.kept + chunk[-REACH:])[-REACH:]
            self.base = self.size + len(chunk) - len(self.kept)
        else:
            self._keep(chunk, max(0, self.start - REACH), self.start + self._capacity + REACH)
        self.newlines += newlines
        self.size += len(chunk)
        if chunk:
            self._unended = not chunk.endswith(b"\n")

    def _keep(self, chunk: bytes, start: int, end: int) -> None:
        if self.base < start:
            del self.kept[: start - self.base]
            self.base = start
        self.kept += chunk[max(0, start - self.size) : max(0, end - self.size)]

    @property
    def filled(self) -> bool:
        """Whether nothing that is fed from now on will be kept."""
        return self.start is not None and self.size >= self.start + self._capacity + REACH

    @property
    def lines(self) -> int:
        """Lines fed so far; one that is not ended counts."""
        return self.newlines + self._unended

    def picked(self) -> Picked:
        """The window as far as it was kept, in complete lines; call it once everything was fed.

        A single line that is longer than the capacity is cut, between two characters.
        """
        assert self.start is not None  # noqa: S101 (the caller has seen that the line exists)
        data, start = bytes(self.kept), self.start - self.base
        end = min(len(data), start + self._capacity)
        if self._count is not None:
            wanted = after_lines(data[:end], self._count, start)
            end = end if wanted is None else wanted
        if self.base + end == self.size or data.endswith(b"\n", start, end):
            return Picked(data, self.base, start, end, in_key=self.key.is_open)
        complete = line_start(data, end)
        if complete > start:
            return Picked(data, self.base, start, complete, in_key=self.key.is_open)
        cut = whole_characters(data, start, end)[1]
        return Picked(data, self.base, start, cut, within_line=True, in_key=self.key.is_open)


@dataclass(frozen=True, slots=True)
class Picked:
    """Lines with what surrounds them.

    Attributes:
        base: where ``data`` begins in the content.
        start: where the lines begin in ``data``; ``end`` where they end.
        within_line: the only line goes on.
        in_key: a private key is open where the lines begin.
    """

    data: bytes = field(repr=False)
    base: int
    start: int
    end: int
    within_line: bool = False
    in_key: bool = False
