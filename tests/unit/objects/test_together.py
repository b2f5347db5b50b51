"""Concurrent requests and the locks by key."""

from __future__ import annotations

from functools import partial

import anyio
import anyio.lowlevel
import pytest

from moorage.objects.together import KeyLocks, both, every

pytestmark = pytest.mark.anyio


async def give(value: int, after: float = 0.0) -> int:
    await anyio.sleep(after)
    return value


async def fail(message: str, after: float = 0.0) -> int:
    await anyio.sleep(after)
    raise ValueError(message)


async def test_results_are_in_order_of_the_calls() -> None:
    assert await every([partial(give, 1, 0.02), partial(give, 2)]) == (1, 2)
    assert await every([]) == ()
    assert await both(partial(give, 1), partial(give, 2)) == (1, 2)


async def test_the_first_error_in_that_order_comes_out_as_it_is() -> None:
    with pytest.raises(ValueError, match="first"):
        await every([partial(give, 1), partial(fail, "first", 0.02), partial(fail, "second")])


async def test_cancelling_ends_all() -> None:
    with anyio.move_on_after(0.02) as scope:
        await both(partial(give, 1, 5), partial(give, 2, 5))
    assert scope.cancelled_caught


async def test_locks_taken_in_opposite_orders_do_not_wait_for_each_other_for_ever() -> None:
    locks = KeyLocks()
    inside = 0

    async def hold(*keys: str) -> None:
        nonlocal inside
        for _ in range(20):
            async with locks.hold(*keys):
                inside += 1
                assert inside == 1
                await anyio.lowlevel.checkpoint()
                inside -= 1

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for keys in (("a", "b"), ("b", "a"), ("b", "a", "a")):
                tasks.start_soon(hold, *keys)
    assert locks.in_use == 0


async def test_a_cancelled_wait_leaves_no_lock_behind() -> None:
    locks = KeyLocks()
    release = anyio.Event()

    async def hold() -> None:
        async with locks.hold("b"):
            await release.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(0.01) as scope:
            async with locks.hold("a", "b"):
                pytest.fail("held twice")
        assert scope.cancelled_caught
        assert locks.in_use == 1
        async with locks.hold("a"):
            release.set()
    assert locks.in_use == 0
