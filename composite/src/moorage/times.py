"""Comparing modification times the way a store tells them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def same_time(first: datetime | None, second: datetime | None, resolution: float) -> bool:
    """Whether two times are equal once both are floored to ``resolution`` seconds.

    A time that is missing or has no zone equals none.
    """
    if first is None or second is None or first.tzinfo is None or second.tzinfo is None:
        return False
    unit = max(1, round(resolution * 1_000_000))
    return (first - _EPOCH) // _MICROSECOND // unit == (second - _EPOCH) // _MICROSECOND // unit
