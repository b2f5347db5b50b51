"""What was claimed, what was measured, and whether the two agree."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Row:
    claim: str
    measured: str
    holds: bool


class Report:
    """Collects claims while the steps run; steps announce themselves at once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @property
    def holds(self) -> bool:
        """Whether there is a claim, and every one holds."""
        return bool(self.rows) and all(row.holds for row in self.rows)

    def announce(self, text: str) -> None:
        print(text, flush=True)

    def claim(self, claim: str, measured: str, holds: bool) -> None:
        self.rows.append(Row(claim, measured, holds))

    def show(self) -> None:
        """Print the table: drawn to fit a terminal, a line a claim in a pipe."""
        if not sys.stdout.isatty():
            print(self._lines())
            return
        table = Table("claim", "measured", "ok")
        for row in self.rows:
            table.add_row(Text(row.claim), Text(row.measured), Text(*(_YES if row.holds else _NO)))
        Console().print(table)

    def _lines(self) -> str:
        claims = max(len(row.claim) for row in [*self.rows, _HEAD])
        measured = max(len(row.measured) for row in [*self.rows, _HEAD])
        rule = f"{'-' * claims}  {'-' * measured}  --"
        head, *lines = (
            f"{row.claim:<{claims}}  {row.measured:<{measured}}  {(_YES if row.holds else _NO)[0]}"
            for row in [_HEAD, *self.rows]
        )
        return "\n".join([head, rule, *lines])

    def verdict(self) -> str:
        wrong = sum(not row.holds for row in self.rows)
        if wrong:
            return f"{wrong} of {len(self.rows)} claims do NOT hold"
        return f"all {len(self.rows)} claims hold"


_HEAD: Final = Row("claim", "measured", holds=True)
_YES: Final = ("ok", "green")
_NO: Final = ("NO", "bold red")


def amount(files: int, size: int) -> str:
    return f"{files:,} files, {size / (1 << 20):.1f} MiB"
