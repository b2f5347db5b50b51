"""Times of the store: of objects, and of its own clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def moment(text: str) -> datetime | None:
    """``2026-11-30T18:16:34.123Z`` floored to a millisecond."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not UTC:
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    beyond = found.microsecond % 1000
    return found.replace(microsecond=found.microsecond - beyond) if beyond else found


def skew(date: str) -> float:
    """How many seconds the store's clock is ahead of this machine's; 0 where its answer does not tell."""
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0.0
