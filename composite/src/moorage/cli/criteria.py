"""What ``find`` asks of an entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

from moorage import globs
from moorage.cli.arguments import parse_time
from moorage.models import Entry, Kind
from moorage.paths import StoragePath

_SIZE: Final = re.compile(r"([+-]?)(\d+)([kKmMgGtT]?)(?:i?[bB])?")
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_KINDS: Final = {"f": Kind.FILE, "d": Kind.DIRECTORY, "l": Kind.LINK, "o": Kind.OTHER}
KINDS: Final = "|".join(_KINDS)
"""The letters that :func:`of_kind` takes."""

Criterion = Callable[[Entry], bool]


@dataclass(frozen=True, slots=True)
class Criteria:
    """All of them must hold."""

    tests: tuple[Criterion, ...]

    def hold(self, entry: Entry) -> bool:
        return all(test(entry) for test in self.tests)


def by_name(pattern: str) -> Criterion:
    """A glob of the name alone; hidden names too."""
    matches = _matcher(pattern)
    return lambda entry: matches(entry.name)


def by_glob(pattern: str, root: StoragePath) -> Criterion:
    """A glob of the path relative to where the search began; hidden names too."""
    matches = _matcher(pattern)
    return lambda entry: entry.path is not None and matches(entry.path.rebased(root, StoragePath("/")).relative)


def by_size(text: str) -> Criterion:
    """``+10k``: more than 10 KiB; ``-1M``: less than 1 MiB; ``42``: exactly. Of files only."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size like +10k, -1M or 42", param_hint="--size")
    size = int(found[2]) * 1024 ** _POWERS[found[3].lower()]
    if found[1] == "+":
        return lambda entry: entry.is_file and entry.stat.size > size
    if found[1] == "-":
        return lambda entry: entry.is_file and entry.stat.size < size
    return lambda entry: entry.is_file and entry.stat.size == size


def newer_than(text: str) -> Criterion:
    """Changed after that time; what has no time is left out."""
    limit = _time(text, "--newer")
    return lambda entry: entry.stat.modified_at is not None and entry.stat.modified_at > limit


def older_than(text: str) -> Criterion:
    """Changed before that time; what has no time is left out."""
    limit = _time(text, "--older")
    return lambda entry: entry.stat.modified_at is not None and entry.stat.modified_at < limit


def of_kind(letter: str) -> Criterion:
    """``f`` file, ``d`` directory, ``l`` link, ``o`` other."""
    kind = _KINDS.get(letter)
    if kind is None:
        raise typer.BadParameter(f"{letter!r} is none of {KINDS}", param_hint="--type")
    return lambda entry: entry.kind is kind


def _matcher(pattern: str) -> Callable[[str], bool]:
    expressions = [globs.matcher(globs.split(one), hidden=True) for one in globs.expand_braces(pattern)]
    return lambda text: any(expression.fullmatch(text) for expression in expressions)


def _time(text: str, option: str) -> datetime:
    found = _DURATION.fullmatch(text)
    if found is None:
        return parse_time(text, option, or_else="a duration like 2d or 3h (s, m, h, d, w)")
    try:
        return datetime.now(UTC) - timedelta(seconds=float(found[1]) * _SECONDS[found[2]])
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is longer ago than time goes", param_hint=option) from None
