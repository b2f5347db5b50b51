"""What of the objects that are met while a change is being made was there before it, and what was made since."""

from __future__ import annotations

import time
from typing import Final

from moorage_gcs.clocks import StoreClock, moment
from moorage_gcs.objects import Resource

_APART: Final = 1.0
"""Seconds by which two clocks of the store may differ."""
_MICROSECONDS: Final = 1_000_000
_EPOCHS: Final = range(10**15, 4 * 10**15)
"""Generations that tell the time, as Google's do: microseconds."""


class Beginning:
    """When a change began, by the store's clock, and which version its client then knew to be there.

    That clock is told to the second, so that of an object that was made about then neither can be said.
    """

    def __init__(self, clock: StoreClock, seen: str | None = None) -> None:
        self._clock = clock
        self._seen = seen
        self._at = time.monotonic()

    def follows(self, found: Resource) -> bool:
        """Whether this object was there before the change began."""
        generation = str(found.get("generation", ""))
        if generation and generation == self._seen:
            return True
        made = _made(generation, str(found.get("timeCreated", "")))
        return made is not None and made < self._clock.earliest(self._at) - _APART

    def precedes(self, found: Resource) -> bool:
        """Whether this object was made after the change had begun."""
        made = _made(str(found.get("generation", "")), str(found.get("timeCreated", "")))
        return made is not None and made > self._clock.latest(self._at) + _APART


def _made(generation: str, created: str) -> float | None:
    """When an object came to its name: one that was moved may tell an earlier time."""
    known = moment(created)
    times = [] if known is None else [known.timestamp()]
    if generation.isascii() and generation.isdecimal() and len(generation) < 20 and int(generation) in _EPOCHS:
        times.append(int(generation) / _MICROSECONDS)
    return max(times, default=None)
