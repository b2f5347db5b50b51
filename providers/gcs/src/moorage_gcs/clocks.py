"""Times of the store: of objects, and of its own clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


class StoreClock:
    """The clock of a store, as the last of its answers told it; this machine's where none of them did."""

    def __init__(self) -> None:
        self._date = ""
        self._sent = self._received = 0.0

    def saw(self, date: str, sent: float) -> None:
        """Take the time, to the second, from an answer to a request that was sent then (monotonic)."""
        if date:
            self._date, self._sent, self._received = date, sent, time.monotonic()

    def earliest(self, then: float) -> float:
        """What the store's clock showed at this moment (monotonic) at least."""
        known = _told(self._date)
        return time.time() + then - time.monotonic() if known is None else known + then - self._received

    def latest(self, then: float) -> float:
        """What the store's clock showed at this moment (monotonic) at most."""
        known = _told(self._date)
        return time.time() + then - time.monotonic() if known is None else known + 1 + then - self._sent


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
    known = _told(date)
    return 0.0 if known is None else known - time.time()


def _told(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
