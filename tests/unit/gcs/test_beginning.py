"""Whether an object was there before a change began, by clocks that are told to the second."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from moorage_gcs.beginning import Beginning
from moorage_gcs.clocks import StoreClock
from moorage_gcs.objects import KnownTimes, info_of

AHEAD = timedelta(days=3)
"""The store's clock is not this machine's."""


@pytest.fixture
def now() -> datetime:
    return (datetime.now(UTC) + AHEAD).replace(microsecond=0)


@pytest.fixture
def clock(now: datetime) -> StoreClock:
    clock = StoreClock()
    clock.saw(format_datetime(now, usegmt=True), time.monotonic())
    return clock


def made(moment: datetime) -> dict[str, str]:
    return {"generation": "5", "timeCreated": moment.isoformat()}


def named(moment: datetime) -> dict[str, str]:
    return {"generation": str(int(moment.timestamp() * 1_000_000))}


@pytest.mark.parametrize("described", [made, named])
def test_what_is_told_by_times(clock: StoreClock, now: datetime, described: object) -> None:
    assert callable(described)
    begun = Beginning(clock)
    for seconds, follows, precedes in ((-900, True, False), (0, False, False), (1, False, False), (900, False, True)):
        found = described(now + timedelta(seconds=seconds))
        assert (begun.follows(found), begun.precedes(found)) == (follows, precedes), seconds


def test_a_moved_object_came_when_its_generation_says(clock: StoreClock, now: datetime) -> None:
    found = {**made(now - timedelta(days=9)), **named(now + timedelta(hours=1))}
    assert Beginning(clock).precedes(found)
    assert not Beginning(clock).follows(found)


def test_what_was_met_before_was_there_before(clock: StoreClock, now: datetime) -> None:
    known = KnownTimes()
    known.remember(info_of({"name": "k", "generation": "5"}))
    begun = Beginning(clock, known.version("k"))
    assert begun.follows(made(now))
    assert not begun.follows({**made(now), "generation": "6"})
    assert known.version("other") is None


@pytest.mark.parametrize("found", [{}, {"generation": "5"}, {"generation": "9" * 18}, {"generation": "x"}])
def test_of_what_tells_no_time_nothing_is_known(clock: StoreClock, found: dict[str, str]) -> None:
    assert not Beginning(clock).follows(found)
    assert not Beginning(clock).precedes(found)


def test_a_store_that_tells_no_time_has_this_machines(now: datetime) -> None:
    clock = StoreClock()
    for date in ("", "nonsense"):
        clock.saw(date, time.monotonic())
        assert Beginning(clock).precedes(made(now))
        assert Beginning(clock).follows(made(now - 2 * AHEAD))


def test_an_answer_that_was_long_on_its_way_tells_the_less(now: datetime) -> None:
    """The time in it may be that of any moment since the request was sent."""
    clock = StoreClock()
    clock.saw(format_datetime(now, usegmt=True), time.monotonic() - 60)
    begun = Beginning(clock)
    assert not begun.precedes(made(now + timedelta(seconds=30)))
    assert begun.precedes(made(now + timedelta(seconds=900)))
    assert begun.follows(made(now - timedelta(seconds=900)))
