"""Whether the block of a private key goes on where some bytes end, told in bounded memory."""

from __future__ import annotations

from typing import Final

from moorage_workspace.redaction import keys

OPENING: Final = "-----BEGIN PRIVATE KEY-----"
"""The marker that any key's lines are known by."""
_MARK: Final = b"PRIVATE KEY"
_MARKER: Final = 64
"""Bytes of the longest marker on either side of :data:`_MARK`."""
_NEAR: Final = 2_048
"""Bytes that mostly have a line which is of no key."""
_LONGEST: Final = 8_192
"""Bytes of a line that is judged at once; of a longer one, each such part is."""


class OpenKey:
    """Takes a content in chunks, from its start or the start of a line.

    Attributes:
        is_open: the next line, and the one that the chunks so far end in, belongs to a key if it can.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._line = b""

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        if not self.is_open and _MARK not in chunk and _MARK not in self._line + chunk[:_MARKER]:
            self._line = (self._line + chunk[-2 * _MARKER :])[-2 * _MARKER :].rpartition(b"\n")[2]
            return
        data = self._line + chunk if self._line else chunk
        end = kept = data.rfind(b"\n") + 1
        if len(data) - end > _LONGEST:
            end = len(data) - _MARKER
            kept = end - _MARKER  # no marker is parted
        self._line = data[kept:]
        begun = _last_marker(data, end)
        if begun >= 0:
            self.is_open = True
        if self.is_open:
            self.is_open = goes_on(data, max(begun, 0), end)


def may_be_open(data: bytes, end: int) -> bool:
    """Whether the lines right before ``end``, where one begins, could be of a key; cheap."""
    first = max(0, end - _NEAR)
    lines = _text(data[first:end]).split("\n")[:-1]
    for line in reversed(lines[1:] if first else lines):
        if keys.begun(line) is not None:
            return True
        body = keys.continued(line)
        if body is None or body.ended:
            return False
    return first > 0


def start_of_key(data: bytes, line: int) -> int:
    """Where the line begins that opened the key that the line at ``line`` may be of; where it is of none, ``line``."""
    if not may_be_open(data, line):
        return line
    begun = _last_marker(data, line)
    return data.rfind(b"\n", 0, begun) + 1 if begun >= 0 and goes_on(data, begun, line) else line


def has_marker(data: bytes, end: int) -> bool:
    """Whether something before ``end`` opens a block."""
    return _last_marker(data, end) >= 0


def _last_marker(data: bytes, end: int) -> int:
    """Where the last marker ends that opens a block; -1 where there is none."""
    at = data.rfind(_MARK, 0, end)
    while at >= 0:
        first = max(0, at - _MARKER)
        stop = data.find(b"\n", at, at + _MARKER)
        around = _text(data[first : stop if stop >= 0 else at + _MARKER])
        ends = [marker.end() for marker in keys.BEGIN.finditer(around)]
        if ends:
            return first + len(around[: ends[-1]].encode("utf-8", "surrogateescape"))
        at = data.rfind(_MARK, 0, at)
    return -1


def goes_on(data: bytes, start: int, end: int) -> bool:
    """Whether all lines up to ``end`` can be of one key, and none ends it."""
    while start < end:
        stop = data.find(b"\n", start, min(end, start + _LONGEST))
        stop = min(end, start + _LONGEST) if stop < 0 else stop
        body = keys.continued(_text(data[start:stop]))
        if body is None or body.ended:
            return False
        start = stop + (data[stop : stop + 1] == b"\n")
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
