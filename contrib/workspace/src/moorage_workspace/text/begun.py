"""What began so far before a part of a content that the part alone does not show it: a long value, a key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from moorage_workspace.redaction.mask import MASK
from moorage_workspace.redaction.open_keys import OPENING, OpenKey, goes_on, has_marker, may_be_open

_NEAR: Final = 4_608
"""Bytes before a part that are redacted with it: what began in them needs no telling."""
_TRIED: Final = 4_096
"""Bytes of a value that show whether it is a secret."""
_NAMED: Final = 256
"""Bytes before a value that its name takes, and what is between them."""
_LINE_OF_A_KEY: Final = 8_192
_ZEROS: Final = 16 * 1024
"""Bytes in which a zero byte tells that they are no text."""

_SECRET: Final = "x1" * 128
_QUOTES: Final = (b'"', b"'", b"`")
_ENDS: Final = (*_QUOTES, b" ", b"<", b"&", b"\t", b"\r")
"""What ends a value without quotes, the frequent ones first."""
_MARK: Final = b"PRIVATE KEY"
_OF_A_KEY: Final = re.compile(rb"[A-Za-z0-9+/=: ,.\\-]*+")
_SEPARATORS: Final = (b":", b"=", b">", b"!")
_NAMES: Final = re.compile(
    rb"(?i)(?:pass|secret|token|key|authorization)[\w-]{0,24}\\{0,4}\]?[:=>!]|LS0tLS1CRUdJTi",
)

Redact = Callable[[str], str]


class Begun:
    """What to redact a part of a content with; fastest when it is asked from the start to the end."""

    def __init__(self, data: bytes, redact: Redact) -> None:
        self._data, self._redact = data, redact
        self._line = _Last(data, b"\n")
        self._ends = {mark: _Last(data, mark) for mark in _ENDS}
        self._whole = {quote: _Last(data, quote, escapable=quote != b"`") for quote in _QUOTES}
        self._mark = _Last(data, _MARK)
        self._key, self._fed = OpenKey(), 0
        self._key_line = (-1, 0, False)
        self._key_in_line = self._run = (-1, 0)
        self._run_is_secret = False

    def before(self, at: int) -> tuple[int, str]:
        """From where on to redact, to know what is secret from ``at`` on, and what to put before that.

        The first is ``at`` or a little less. The second is no part of the content, and all ASCII.
        """
        line = self._line.before(at) + 1
        opening = f"{OPENING}\n" if self._is_in_key(line) else ""
        if at - line <= (_LINE_OF_A_KEY if opening else _NEAR):
            return line, opening
        if opening and self._is_of_key(line, at):
            return at - _NEAR, opening
        value = self._value(line, at)
        return (at, value) if value else (at - _NEAR, "")

    def _is_in_key(self, line: int) -> bool:
        if not may_be_open(self._data, line):
            return False
        if line < self._fed:
            self._key, self._fed = OpenKey(), 0
        self._key.feed(self._data[self._fed : line])
        self._fed = line
        return self._key.is_open

    def _is_of_key(self, line: int, at: int) -> bool:
        """Whether this long line is of the key that is open where it begins."""
        known, until, is_of_key = self._key_line
        if known != line or until > at:
            until, is_of_key = line, True
        is_of_key = is_of_key and goes_on(self._data, until, at)
        self._key_line = line, at, is_of_key
        return is_of_key

    def _value(self, line: int, at: int) -> str:
        """What stands for a secret in this line that goes on at ``at``."""
        for mark, last in self._whole.items():
            if self._opens(last.before(at), line, at):
                return f"password={mark.decode()}{_SECRET}"
        quote = max(self._ends[mark].before(at) for mark in (b'"', b"'"))
        if line <= quote <= at - _TRIED and self._is_hidden(line, quote, quote + _TRIED):
            return f'password=\\"{_SECRET}'
        if self._is_key(line, at):
            return f"{OPENING}{_SECRET}"
        return f"password={_SECRET}" if self._is_bare(line, at) else ""

    def _opens(self, quote: int, line: int, at: int) -> bool:
        """Whether a secret begins at this quote, which is known not to end before ``at``."""
        if not line <= quote <= at - _TRIED:
            return False
        text = self._data[max(line, quote - _NAMED) : quote + 1].decode("utf-8", "surrogateescape")
        return self._redact(text + _SECRET).endswith(text[-1] + MASK)

    def _is_hidden(self, line: int, value: int, end: int) -> bool:
        """Whether ``end`` is within a secret: what is right before it leaves no trace."""
        text = self._data[max(line, value - _NAMED) : end].decode("utf-8", "surrogateescape")
        shown = self._redact(text)
        return shown != text and shown.rstrip("\\") == self._redact(text[: -_TRIED // 2]).rstrip("\\")

    def _is_key(self, line: int, at: int) -> bool:
        """Whether it is a key that is written in one line."""
        mark = self._mark.before(at)
        if not line <= mark <= at - _TRIED or not _OF_A_KEY.fullmatch(self._data, at - _NAMED, at):
            return False
        known, until = self._key_in_line
        start = until if known == mark and until <= at else mark
        if not _OF_A_KEY.fullmatch(self._data, start, at):
            return False
        self._key_in_line = mark, at
        return self._is_hidden(line, mark, mark + _TRIED)

    def _is_bare(self, line: int, at: int) -> bool:
        """Whether it is a secret without quotes; what names that may be within the same run of characters."""
        start = max(line, *(last.before(at) for last in self._ends.values()))
        if start > at - _TRIED:
            return False
        known, searched = self._run
        if known != start or searched > at:
            searched, self._run_is_secret = start, self._is_hidden(line, start, start + _TRIED)
        while not self._run_is_secret:
            name = self._name(searched, at - _TRIED)
            if name < 0:
                break
            searched = name + _TRIED
            self._run_is_secret = self._is_hidden(line, name, searched)
        self._run = start, max(searched, at - _TRIED - _NAMED)
        return self._run_is_secret

    def _name(self, start: int, end: int) -> int:
        """Where something that may name a secret is; quick where nothing is."""
        start = max(0, start - _NAMED)
        if not any(self._data.find(one, start, end) >= 0 for one in (*_SEPARATORS, b"LS0tLS1CRUdJTi")):
            return -1
        found = _NAMES.search(self._data, start, end)
        return found.start() if found is not None else -1


def is_known(data: bytes, at: int) -> bool:
    """Whether what comes before ``data`` in its content cannot matter for what is secret from ``at`` on.

    A secret of many bytes is text.
    """
    line = data.rfind(b"\n", 0, at) + 1
    if data.find(b"\0", max(0, at - _ZEROS), at) >= 0:
        return True
    return line > 0 and (not may_be_open(data, line) or has_marker(data, line))


def may_be_one_secret(data: bytes, at: int) -> bool:
    """Whether all of ``data`` up to ``at``, which is not known, could be of one secret."""
    return b"\n" in data[:at] or (data.find(b'"', 0, at) < 0 and data.find(b" ", 0, at) < 0)


class _Last:
    """Where a mark is last before an offset; what was passed over is not searched again.

    Args:
        escapable: those after an odd number of backslashes do not count.
    """

    def __init__(self, data: bytes, mark: bytes, *, escapable: bool = False) -> None:
        self._data, self._mark, self._escapable = data, mark, escapable
        self._found, self._searched = -1, 0

    def before(self, at: int) -> int:
        if at < self._searched:
            return self._search(0, at)
        found = self._search(max(0, self._searched - len(self._mark) + 1), at)
        self._found, self._searched = max(found, self._found), at
        return self._found

    def _search(self, start: int, end: int) -> int:
        found = self._data.rfind(self._mark, start, end)
        while found >= 0 and self._escapable and self._is_escaped(found):
            found = self._data.rfind(self._mark, start, found)
        return found

    def _is_escaped(self, at: int) -> bool:
        first = at
        while first and self._data[first - 1] == 0x5C:
            first -= 1
        return (at - first) % 2 == 1
