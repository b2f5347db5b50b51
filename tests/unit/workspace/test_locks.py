"""One writer a file."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.locks import FileLocks

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


async def test_first_come_first_served() -> None:
    locks, order = FileLocks(), list[int]()

    async def write(number: int) -> None:
        async with locks.holding(["f"], 60):
            order.append(number)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group, locks.holding(["f"], 60):
        for number in range(8):
            group.start_soon(write, number)
            await anyio.wait_all_tasks_blocked()
        assert order == []
    assert order == list(range(8))


async def test_other_files_are_free() -> None:
    locks = FileLocks()
    async with locks.holding(["a"], 60), locks.holding(["b"], 60):
        pass


async def test_no_two_wait_for_each_other() -> None:
    locks, done = FileLocks(), list[int]()

    async def write(number: int) -> None:
        names = ["a", "b"] if number % 2 else ["b", "a", "b"]
        async with locks.holding(names, 60):
            await anyio.lowlevel.checkpoint()
        done.append(number)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(write, number)
    assert sorted(done) == list(range(20))


async def test_a_waiter_that_gives_up_holds_nothing_and_stands_in_nobodys_way() -> None:
    locks = FileLocks()
    async with locks.holding(["b"], 60):
        with pytest.raises(ToolRefusedError) as refused:
            async with locks.holding(["a", "b"], 0.01):
                pytest.fail("held")
        assert (refused.value.refusal, refused.value.retryable) == (Refusal.LOCK_TIMEOUT, True)
        async with locks.holding(["a"], 60):
            pass
    with anyio.fail_after(60):
        async with locks.holding(["a", "b"], 60):
            pass


async def test_a_cancelled_waiter_passes_its_turn_on() -> None:
    locks, order = FileLocks(), list[str]()

    async def write(name: str) -> None:
        async with locks.holding(["f"], 60):
            order.append(name)

    async with anyio.create_task_group() as group, locks.holding(["f"], 60):
        cancelled = anyio.CancelScope()

        async def leave() -> None:
            with cancelled:
                await write("cancelled")

        group.start_soon(leave)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(write, "next")
        await anyio.wait_all_tasks_blocked()
        cancelled.cancel()
        await anyio.wait_all_tasks_blocked()
    assert order == ["next"]
    async with locks.holding(["f"], 1):
        pass


async def test_a_turn_that_comes_with_the_cancellation_is_not_lost() -> None:
    locks, order = FileLocks(), list[str]()

    async def write(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with locks.holding(["f"], 60):
                order.append(name)

    async with anyio.create_task_group() as group:
        scope = anyio.CancelScope()
        async with locks.holding(["f"], 60):
            group.start_soon(write, "cancelled", scope)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(write, "next", anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
        scope.cancel()
    assert order[-1] == "next"
