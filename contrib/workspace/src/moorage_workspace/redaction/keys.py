"""Private keys in their blocks: the lines between the markers are hidden, the markers are not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from moorage_workspace.redaction.mask import MASK, Found

TRIGGER: Final = "private key"
BEGIN: Final = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END: Final = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_ESCAPED: Final = re.compile(r"(?:[A-Za-z0-9+/= :,.]|\\+[nru/])++")
"""A key in one line, as JSON holds it."""
_SHORTEST_ESCAPED: Final = 64
_LINE: Final = re.compile(r"[^\w+/=]*(?:\d{1,7}[^\w+/=]{1,3})?[\w+/=\\-]*+\W*")
"""One word, perhaps behind a line's number or other marks."""
_NUMBER: Final = re.compile(r"\s*(?:\d{1,7}\N{RIGHTWARDS ARROW}\s*)?")
"""What a tool puts before a line; no key has an arrow."""
_HEADER: Final = re.compile(
    r"\W*(?:\d{1,7}\W{1,3})?(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject)\s*:.*"
)


@dataclass(frozen=True, slots=True)
class Body:
    """What to show of a line in a block, for how many characters that stands, and whether the block ends there."""

    shown: str
    used: int
    ended: bool = False


def begun(line: str) -> int | None:
    """Where in this line a block begins that the next lines go on with."""
    ends = [marker.end() for marker in BEGIN.finditer(line)]
    if not ends or _END.search(line, ends[-1]) or not _may_be_body(line[ends[-1] :]):
        return None
    return ends[-1]


def within(line: str, start: int) -> list[Found]:
    """The keys that this line holds whole, or a good part of."""
    found: list[Found] = []
    begin = BEGIN.search(line, start)
    while begin is not None:
        run = _ESCAPED.match(line, begin.end())
        stop = run.end() if run is not None else begin.end()
        if (_END.match(line, stop) and stop > begin.end()) or stop - begin.end() >= _SHORTEST_ESCAPED:
            found.append(Found(begin.start(), begin.end(), stop, _ESCAPED))
        begin = BEGIN.search(line, stop)
    return found


def continued(line: str) -> Body | None:
    """The line, if it can be one of a block; ``None``: the block is over, though it had no end.

    A line without a letter or digit hides nothing.
    """
    end = _END.search(line)
    if end is None and not _may_be_body(line):
        return None
    body = line[: end.start()] if end is not None else line
    number = _NUMBER.match(body)
    start = number.end() if number is not None else 0
    if any(character.isalnum() for character in body[start:].replace(MASK, "")):
        body = body[:start] + MASK
    return Body(body, len(line)) if end is None else Body(body + end[0], end.end(), ended=True)


def _may_be_body(line: str) -> bool:
    return bool(_LINE.fullmatch(line) or _HEADER.fullmatch(line))
