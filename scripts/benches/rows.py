"""What a measurement comes to: one row of the table."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Unit = Literal["/s", "MiB/s", "MiB", "KiB", "ms", "µs"]
Sign = Literal["≥", "≤", "<"]

_DECIMALS: Final[dict[Unit, int]] = {"/s": 0, "MiB/s": 0, "MiB": 1, "KiB": 0, "ms": 2, "µs": 2}
_NEXT_TO_NOTHING: Final[dict[Unit, float]] = {"MiB": 0.5}
_WIDTHS: Final = (66, 12, 12, 8, 12, 3)
_TITLES: Final = ("what", "ours", "theirs", "ratio", "aim", "met")


@dataclass(frozen=True, slots=True)
class Aim:
    """What is wanted: of the ratio, of what ours takes more than theirs, or of ours alone."""

    of: Literal["ratio", "more", "ours"]
    sign: Sign
    limit: float

    def is_met(self, row: Row) -> bool:
        value = {"ratio": row.ratio, "more": row.ours - row.theirs, "ours": row.ours}[self.of]
        if value is None:
            return False
        return {"≥": value >= self.limit, "≤": value <= self.limit, "<": value < self.limit}[self.sign]

    def text(self, unit: Unit) -> str:
        ending = {"ratio": "×", "more": f"{unit} more", "ours": unit}[self.of]
        return f"{self.sign} {self.limit:g} {ending}"


@dataclass(frozen=True, slots=True)
class Row:
    """Ours beside theirs, both medians of the same run."""

    what: str
    ours: float
    theirs: float
    unit: Unit
    aim: Aim | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; ``None`` where theirs is next to nothing."""
        return None if self.theirs <= _NEXT_TO_NOTHING.get(self.unit, 0.0) else self.ours / self.theirs

    @property
    def is_met(self) -> bool | None:
        return None if self.aim is None else self.aim.is_met(self)

    def as_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "ours": self.ours,
            "theirs": self.theirs,
            "unit": self.unit,
            "ratio": self.ratio,
            "aim": None if self.aim is None else self.aim.text(self.unit),
            "met": self.is_met,
        }

    def as_line(self) -> str:
        met = {None: "", True: "yes", False: "no"}[self.is_met]
        aim = "" if self.aim is None else self.aim.text(self.unit)
        relation = "" if self.ratio is None else f"{self.ratio:.2f} ×"
        return _line(self.what, self._value(self.ours), self._value(self.theirs), relation, aim, met)

    def _value(self, value: float) -> str:
        space = "" if self.unit == "/s" else " "
        return f"{value:,.{_DECIMALS[self.unit]}f}{space}{self.unit}"


def heading() -> str:
    """The two lines above the rows; what follows is a Markdown table."""
    rule = [f"{'-' * width}:" if 0 < index < 4 else "-" * (width + 1) for index, width in enumerate(_WIDTHS)]
    return f"{_line(*_TITLES)}\n| {' | '.join(part[1:] for part in rule)} |"


def _line(*cells: str) -> str:
    padded = [
        cell.rjust(width) if 0 < index < 4 else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return f"| {' | '.join(padded)} |"


@dataclass(frozen=True, slots=True)
class Setting:
    """Where to measure, how much, and whom to tell.

    Attributes:
        reference: the directory with the reference system's packages.
    """

    directory: Path
    quick: bool
    emit: Callable[[Row], None]
    reference: Path | None = None

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


Sample = Callable[[int], Awaitable[float]]
"""Measures once; the number of the repetition lets it use fresh names."""


async def medians(samples: Sequence[Sample], repetitions: int) -> list[float]:
    """The median of each, repetitions interleaved, every other round in reverse order, so that a busy spell of the
    machine meets all of them alike.
    """
    found: list[list[float]] = [[] for _ in samples]
    for repetition in range(repetitions):
        order = range(len(samples)) if repetition % 2 == 0 else reversed(range(len(samples)))
        for index in order:
            gc.collect()
            found[index].append(await samples[index](repetition))
    return [statistics.median(values) for values in found]
