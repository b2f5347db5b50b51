"""What comes nearest to a text that is not there, and in what it differs. Bounded work, whatever the size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from moorage_workspace.text.encodings import whole_characters
from moorage_workspace.text.lines import after_lines, line_end, line_number, line_start

_LINES: Final = 50
_COMPARED: Final = 2_000
_ANCHOR: Final = 200
_ANCHORS: Final = 4
_WORDS: Final = 6
_PLACES: Final = 5
_FOLDED: Final = 16 * 1024 * 1024
_NEAR: Final = 0.5
_WORD: Final = re.compile(r"\w{2,}")
_BETWEEN: Final = re.compile(r"(?<=\S)[ \t]+(?=\S)")
_NUMBERED: Final = re.compile(r"^\s*\d+→", re.MULTILINE)
_QUOTES: Final = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb`\u2013\u2014\u2212\u00a0", '\'\'\'"""""\'--- '
)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The lines that come nearest.

    Attributes:
        line: the first of them, from 1.
        start: where they are in the content, whole lines.
        differences: in what, e.g. ``indentation``; empty where they differ in their words.
    """

    line: int
    start: int
    end: int
    differences: tuple[str, ...]


def is_numbered(old: str) -> bool:
    """Whether line numbers were copied along with the text."""
    return _NUMBERED.match(old) is not None


def nearest(data: bytes, old: str) -> Nearest | None:
    """The lines of ``data`` that come nearest to ``old``, which is not there; ``None`` where nothing does."""
    wanted = old[: _COMPARED * 2].split("\n")[:_LINES]
    best: tuple[float, int, int] | None = None
    for start in dict.fromkeys(_candidates(data, wanted)):
        end = _block_end(data, start, len(wanted))
        score = _likeness(_text(data, start, end), "\n".join(wanted))
        if score >= _NEAR and (best is None or score > best[0]):
            best = (score, start, end)
    if best is None:
        return None
    _, start, end = best
    differences = _differences(_text(data, start, end), "\n".join(wanted))
    return Nearest(line_number(data, start), start, end, differences)


def _candidates(data: bytes, wanted: list[str]) -> Iterator[int]:
    """Where a block may begin: lines that hold a line of the text, or else a word of it, in whatever case."""
    found = False
    lines = {line.strip()[:_ANCHOR]: number for number, line in reversed(list(enumerate(wanted)))}
    for anchor in sorted((line for line in lines if len(line) > 2), key=len, reverse=True)[:_ANCHORS]:
        for at in _places(data, anchor.encode()):
            found = True
            yield _lines_before(data, at, lines[anchor])
    if found:
        return
    words = {word.lower(): number for number, line in reversed(list(enumerate(wanted))) for word in _WORD.findall(line)}
    folded = data.lower() if len(data) <= _FOLDED else data
    for word in sorted(words, key=len, reverse=True)[:_WORDS]:
        for at in _places(folded, word.encode()):
            yield _lines_before(data, at, words[word])


def _places(data: bytes, anchor: bytes) -> Iterator[int]:
    at = data.find(anchor)
    for _ in range(_PLACES):
        if at < 0:
            return
        yield at
        at = data.find(anchor, at + len(anchor))


def _lines_before(data: bytes, at: int, count: int) -> int:
    start = line_start(data, at)
    for _ in range(count):
        if start == 0:
            break
        start = line_start(data, start - 1)
    return start


def _block_end(data: bytes, start: int, lines: int) -> int:
    end = after_lines(data[start : start + _COMPARED * 4], lines)
    return (
        len(data)
        if end is None and start + _COMPARED * 4 >= len(data)
        else start + end
        if end
        else line_end(data, start)
    )


def _text(data: bytes, start: int, end: int) -> str:
    start, end = whole_characters(data, start, min(end, start + _COMPARED * 4))
    return data[start:end].decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def _likeness(text: str, wanted: str) -> float:
    text, wanted = (re.sub(r"\s+", " ", one)[:_COMPARED].casefold() for one in (text, wanted))
    matcher = SequenceMatcher(None, text, wanted, autojunk=len(text) > _ANCHOR)
    return matcher.ratio() if matcher.quick_ratio() >= _NEAR else 0.0


def _each_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(change(line) for line in text.split("\n"))


_Form = tuple[str, Callable[[str], str]]

_FORMS: Final[tuple[_Form, ...]] = (
    ("line ends", lambda text: text.replace("\r", "")),
    ("spaces at the end of lines", _each_line(lambda line: line.rstrip(" \t"))),
    ("indentation", _each_line(lambda line: line.lstrip(" \t"))),
    ("quotes or dashes", lambda text: text.translate(_QUOTES)),
    ("Unicode form", lambda text: unicodedata.normalize("NFC", text)),
    ("upper and lower case", str.casefold),
    ("spaces between words", lambda text: _BETWEEN.sub("", text)),
)


def _differences(text: str, wanted: str) -> tuple[str, ...]:
    """The names of the forms that make both equal, as few as possible; none where no form does."""
    text, wanted = text.replace("\r\n", "\n"), wanted.removesuffix("\n")
    needed: list[_Form] = list(_FORMS)
    if _formed(wanted, needed) not in _formed(text, needed):
        return ()
    for form in _FORMS:
        fewer = [one for one in needed if one is not form]
        if _formed(wanted, fewer) in _formed(text, fewer):
            needed = fewer
    return tuple(name for name, _ in needed)


def _formed(text: str, forms: list[_Form]) -> str:
    for _, change in forms:
        text = change(text)
    return text
