"""Work on many things at once, results in order."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from moorage_workspace.searching.in_order import in_order

pytestmark = pytest.mark.anyio


async def numbers(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number


async def test_results_come_in_order_however_the_work_ends() -> None:
    done = [anyio.Event() for _ in range(5)]
    used: list[int] = []

    async def work(number: int) -> int:
        if number + 1 < len(done):
            await done[number + 1].wait()
        done[number].set()
        return number

    def use(number: int) -> bool:
        used.append(number)
        return True

    await in_order(numbers(5), work, use, width=5)
    assert used == [0, 1, 2, 3, 4]


async def test_no_more_at_once_than_allowed() -> None:
    running, most = 0, 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return number

    await in_order(numbers(50), work, lambda _: True, width=3)
    assert 1 < most <= 3


async def test_enough_is_enough() -> None:
    started: list[int] = []

    async def work(number: int) -> int:
        started.append(number)
        if number > 2:
            await anyio.sleep_forever()
        return number

    await in_order(numbers(1_000), work, lambda number: number < 2, width=4)
    assert len(started) < 12


@pytest.mark.parametrize("where", ["work", "things"])
async def test_an_error_comes_out_as_it_is(where: str) -> None:
    async def things() -> AsyncIterator[int]:
        yield 1
        yield 2
        if where == "things":
            raise LookupError("gone")

    async def work(number: int) -> int:
        if where == "work" and number == 2:
            raise LookupError("gone")
        return number

    with pytest.raises(LookupError, match="gone"):
        await in_order(things(), work, lambda _: True, width=2)
