"""Redacted lines as a pattern may see them: a barrier stands where something was hidden, and no match reaches across.

A pattern that could match in what is hidden, or in what stands for it, would tell of the secret by whether it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from moorage_workspace.redaction.mask import MASK
from moorage_workspace.searching.matching import BARRIER, lines_of
from moorage_workspace.searching.windows import Window


@dataclass(frozen=True, slots=True)
class Shown:
    """A window without secrets.

    Attributes:
        lines: those of the core and of the margins beside it.
        core: the text to match instead of the window's core; ``None`` where nothing was hidden.
    """

    lines: list[str]
    core: str | None


def shown(window: Window, redact: Callable[[str], str]) -> Shown:
    """The window with its secrets hidden."""
    raw = window.before + window.core + window.after
    text = redact(raw)
    lines = list(lines_of(text))
    if text == raw:
        return Shown(lines, None)
    margin = window.before.count("\n")
    pairs = zip(lines[margin:], lines_of(window.core), strict=False)
    return Shown(lines, "".join(f"{barred(line, before)}\n" for line, before in pairs))


def barred(line: str, raw: str) -> str:
    """The redacted line with barriers over all that is not, for certain, the same in the raw one."""
    if line == raw:
        return line
    first, *others = line.split(MASK)
    start = _in_common(first, raw)
    if not others:
        end = min(_in_common(line[::-1], raw[::-1]), len(line) - start, len(raw) - start)
        return line[:start] + _barrier(len(line) - start - end) + line[len(line) - end :]
    *middle, last = others
    end = _in_common(last[::-1], raw[::-1])
    parts = [first[:start] + BARRIER * (len(first) - start)]
    parts += [part if part in raw else _barrier(len(part)) for part in middle]
    parts += [BARRIER * (len(last) - end) + last[len(last) - end :]]
    return _barrier(len(MASK)).join(parts)


def _barrier(length: int) -> str:
    return BARRIER * max(length, 1)


def _in_common(one: str, other: str) -> int:
    """How many characters at the start are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
