"""Numbers and lists as prose has them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``1,200 files``; ``many`` is needed where it is not ``one`` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def first_of(names: Sequence[object], most: int) -> str:
    """The names with commas between them, and behind the first ``most`` how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more
