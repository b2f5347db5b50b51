"""The exact edit: on bytes, so that nothing but the matched bytes can change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from moorage_workspace.reads import Replaced
from moorage_workspace.text.encodings import UTF8_BOM
from moorage_workspace.text.pieces import Pieces
from moorage_workspace.text.places import Places, Shows, shows_all
from moorage_workspace.text.shared_ends import shared_end, shared_start

SHOWN_MATCHES: Final = 20
MOST_PLACES: Final = 100_000
"""That are replaced at once; each takes memory and time of its own."""
_COPIED: Final = 256
"""Bytes up to which a part is copied, since a view of them takes no less memory."""
_JOINED: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Edit:
    """A content in which some spans were replaced.

    Attributes:
        content: the new one; it holds on to the old one.
        replaced: in order.
        texts: what stands in the place of each.
    """

    content: Pieces
    replaced: tuple[Replaced, ...]
    texts: tuple[bytes, ...]

    def alters(self, before: bytes) -> bool:
        """Whether anything is different from ``before``, the old content."""
        pairs = zip(self.replaced, self.texts, strict=True)
        return any(before[part.start : part.end] != text for part, text in pairs)


@dataclass(frozen=True, slots=True)
class NotFound:
    """The old text is not there."""


@dataclass(frozen=True, slots=True)
class NotUnique:
    """The old text is there ``count`` times, overlapping ones included; ``lines`` has the first of them.

    Beyond :data:`MOST_PLACES`, which are not counted further, ``count`` is one more.
    """

    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The new content would have ``size`` bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class TooMany:
    """The old text is there more than :data:`MOST_PLACES` times."""


def edit(
    data: bytes,
    old: str,
    new: str,
    *,
    replace_all: bool = False,
    max_size: int | None = None,
    shows: Shows = shows_all,
) -> Edit | NotFound | NotUnique | TooLarge | TooMany:
    """Put ``new`` in the place of ``old``, which must be there exactly once unless ``replace_all``.

    A ``\\n`` in ``old`` matches ``\\r\\n``, too, each on its own, and a ``\\n`` in ``new`` becomes what ends lines at
    that place; a text with ``\\r`` in it is taken as it is. A byte order mark stays as it is, in neither text is it
    needed. Nothing in ``new`` has a special meaning. ``data`` is UTF-8. What ``shows`` denies counts as not there, so
    that no answer tells whether a text was guessed.
    """
    mark = len(UTF8_BOM) if data.startswith(UTF8_BOM) else 0
    if mark:
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    needle = old.encode()
    if not needle:
        return NotFound()
    crlf = ("\n" in old or "\n" in new) and _has_crlf(data)
    growth = len(new.encode()) + new.count("\n") - len(needle)
    if max_size is not None and len(data) + growth > max_size:
        return TooLarge(len(data) + growth)
    places = Places(data, needle, mark, shows, flattened=crlf and b"\n" in needle and b"\r" not in needle)
    found = list(islice(places.apart(), MOST_PLACES + 1) if replace_all else islice(places.overlapping(), 2))
    if len(found) > MOST_PLACES:
        return TooMany()
    if not found:
        return NotFound()
    if len(found) > 1 and not replace_all:
        return _not_unique(places, data)
    size = len(data) + len(found) * growth
    if max_size is not None and size > max_size:
        return TooLarge(size)
    put = _LineEnds(data, old, new).at if crlf and "\n" in new and "\r" not in new else _as_it_is(new.encode())
    return _replaced(data, found, put)


def _not_unique(places: Places, data: bytes) -> NotUnique:
    first = list(islice(places.overlapping(), SHOWN_MATCHES))
    lines: list[int] = []
    line, at = 1, 0
    for start, _ in first:
        line, at = line + data.count(b"\n", at, start), start
        lines.append(line)
    count = sum(1 for _ in islice(places.apart(), MOST_PLACES + 1))
    return NotUnique(max(count, len(first)), tuple(dict.fromkeys(lines)))


def _replaced(data: bytes, spans: Iterable[tuple[int, int]], put: Callable[[int, int], bytes]) -> Edit:
    view = memoryview(data)
    parts = _Parts()
    replaced: list[Replaced] = []
    texts: list[bytes] = []
    at = 0
    for start, end in spans:
        text = put(start, end)
        if start == 0:
            text = text.removeprefix(UTF8_BOM)
        parts.add(view[at:start])
        parts.add(text)
        replaced.append(Replaced(start, end, len(text)))
        texts.append(text)
        at = end
    parts.add(view[at:])
    return Edit(parts.pieces(), tuple(replaced), tuple(texts))


class _Parts:
    """Collects the parts of a content; short ones become one."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._short = bytearray()

    def add(self, part: bytes | memoryview) -> None:
        if len(part) > _COPIED:
            self._flush()
            self._parts.append(part)
            return
        self._short += part
        if len(self._short) >= _JOINED:
            self._flush()

    def pieces(self) -> Pieces:
        self._flush()
        return Pieces(self._parts)

    def _flush(self) -> None:
        if self._short:
            self._parts.append(bytes(self._short))
            self._short.clear()


def _has_crlf(data: bytes) -> bool:
    at = data.find(b"\r")  # a single byte is looked for many times faster than two
    return at >= 0 and data.find(b"\r\n", at) >= 0


def _as_it_is(text: bytes) -> Callable[[int, int], bytes]:
    return lambda start, end: text


class _LineEnds:
    """A new text with the line ends of a place: those that it shares with the old text stay, others follow them."""

    def __init__(self, data: bytes, old: str, new: str) -> None:
        before = shared_start(old, new)
        after = shared_end(old, new, min(len(old), len(new)) - before)
        self._data = data
        self._lines = new.encode().split(b"\n")
        self._before = old.count("\n", 0, before)
        self._after = old.count("\n", len(old) - after)
        self._made: dict[bytes, bytes] = {}

    def at(self, start: int, end: int) -> bytes:
        """The text as it stands in place of the bytes ``[start, end)``."""
        there = [_line_end(line) for line in self._data[start:end].split(b"\n")[:-1]]
        after = len(there) - self._after
        inner = there[self._before : after]
        if not inner:
            inner = there[: self._before][-1:] or there[after:][:1] or [self._near(start, end)]
        count = len(self._lines) - 1 - self._before - self._after
        middle = [*inner[:count], *inner[-1:] * (count - len(inner))]
        ends = [*there[: self._before], *middle, *there[after:], b""]
        text = b"".join(part for pair in zip(self._lines, ends, strict=True) for part in pair)
        return self._made.setdefault(text, text)

    def _near(self, start: int, end: int) -> bytes:
        at = self._data.find(b"\n", end)
        if at < 0:
            at = self._data.rfind(b"\n", 0, start)
        return _line_end(self._data[max(0, at - 1) : max(0, at)])


def _line_end(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r") else b"\n"


def first_lines(before: bytes, done: Edit) -> tuple[int, ...]:
    """The lines of the new content that the first replacements begin in; ``before`` is the old one."""
    lines: list[int] = []
    line, at = 1, 0
    for part, text in zip(done.replaced[:SHOWN_MATCHES], done.texts, strict=False):
        line += before.count(b"\n", at, part.start)
        lines.append(line)
        line += text.count(b"\n")
        at = part.end
    return tuple(dict.fromkeys(lines))
