"""The driver cancels at exactly the await it was told, and sees what the operation made of it."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from moorage.testing import Outcome, SwallowedCancellationError, cancel_at, cancel_everywhere, count_awaits

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "asyncio natively", "trio"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def anyio_backend(way: str) -> str:
    return way.split()[0]


@pytest.fixture
def native(way: str) -> bool:
    return way.endswith("natively")


class Steps:
    """Sleeps three times and notes how far it came."""

    def __init__(self) -> None:
        self.done: list[int] = []

    async def run(self) -> str:
        for number in (1, 2, 3):
            await anyio.sleep(0.001)
            self.done.append(number)
        return "end"


async def test_the_awaits_are_counted() -> None:
    steps = Steps()
    outcome = await count_awaits(steps.run)
    assert (outcome.awaits, outcome.cancelled, outcome.result) == (3, False, "end")


async def test_the_chosen_await_is_cancelled(native: bool) -> None:
    for number in (1, 2, 3):
        steps = Steps()
        outcome = await cancel_at(number, steps.run, native=native)
        assert outcome.cancelled
        assert steps.done == list(range(1, number))


async def test_after_the_last_await_it_ends_as_it_would(native: bool) -> None:
    outcome = await cancel_at(4, Steps().run, native=native)
    assert (outcome.cancelled, outcome.result) == (False, "end")
    await anyio.lowlevel.checkpoint()


async def test_swallowing_is_noticed(native: bool) -> None:
    async def swallow() -> str:
        try:
            await anyio.sleep(1)
        except anyio.get_cancelled_exc_class():
            return "as if nothing had happened"
        return "end"

    with pytest.raises(SwallowedCancellationError, match="returned"):
        await cancel_at(1, swallow, native=native)


async def test_wrapping_is_noticed(native: bool) -> None:
    async def wrap() -> None:
        try:
            await anyio.sleep(1)
        except BaseException as error:
            raise ValueError("wrapped") from error

    with pytest.raises(SwallowedCancellationError, match="ValueError"):
        await cancel_at(1, wrap, native=native)


async def test_an_error_of_its_own_passes(native: bool) -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await cancel_at(9, fail, native=native)


async def test_a_time_limit_of_its_own_is_no_swallowing() -> None:
    async def limited() -> str:
        with anyio.move_on_after(0.001):
            await anyio.sleep(1)
        await anyio.lowlevel.checkpoint()
        return "end"

    assert (await cancel_at(5, limited)).result == "end"
    assert (await cancel_at(2, limited)).cancelled


async def test_everywhere_is_once_whole_and_once_an_await(native: bool) -> None:
    outcomes: list[bool] = []
    prepared: list[int] = []

    async def prepare() -> None:
        prepared.append(1)

    async def check(outcome: Outcome[str]) -> None:
        outcomes.append(outcome.cancelled)

    assert await cancel_everywhere(prepare, lambda: Steps().run(), check, native=native) == 3
    assert (outcomes, len(prepared)) == ([False, True, True, True], 4)
    outcomes.clear()
    await cancel_everywhere(prepare, lambda: Steps().run(), check, native=native, limit=2)
    assert outcomes == [False, True, True]
