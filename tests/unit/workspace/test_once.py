"""Values that are made at most once, and those that last as long as a context."""

from __future__ import annotations

import gc

import anyio
import pytest

from moorage import RequestContext
from moorage_workspace.once import ByContext, Once

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_all_who_come_meanwhile_get_the_one_that_is_made() -> None:
    once = Once[object]()
    going, got = anyio.Event(), list[object]()

    async def make() -> object:
        going.set()
        await anyio.wait_all_tasks_blocked()
        return object()

    async def get() -> None:
        got.append(await once.get(make))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(get)
    assert len(set(got)) == 1
    assert len(got) == 5


async def test_a_failure_is_not_kept() -> None:
    once = Once[int]()
    left = [ValueError("no"), ValueError("no")]

    async def make() -> int:
        if left:
            raise left.pop()
        return 1

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await once.get(make)
    assert await once.get(make) == 1


async def test_a_cancelled_maker_is_succeeded_by_the_next() -> None:
    once = Once[int]()
    made: list[int] = []

    async def hang() -> int:
        await anyio.sleep_forever()
        return 1

    async def make() -> int:
        return 2

    async def get() -> None:
        made.append(await once.get(make))

    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await once.get(hang)
        tasks.start_soon(get)
    assert made == [2]


async def test_a_reset_makes_it_again() -> None:
    once = Once[int]()
    counted = iter(range(5))

    async def make() -> int:
        return next(counted)

    assert [await once.get(make), await once.get(make)] == [0, 0]
    once.reset()
    assert await once.get(make) == 1


def test_one_a_context_object_though_contexts_are_equal() -> None:
    by_context = ByContext[list[int]](lambda context: [])
    one, equal = RequestContext(a=1), RequestContext(a=1)
    assert by_context.get(one) is by_context.get(one)
    assert by_context.get(one) is not by_context.get(equal)


def test_a_value_goes_with_its_context() -> None:
    gone: list[list[int]] = []
    by_context = ByContext[list[int]](lambda context: [len(gone)], gone.append)
    for _ in range(100):
        by_context.get(RequestContext())
    gc.collect()
    assert len(gone) == 100
    assert list(by_context) == []


def test_what_was_cleared_is_not_given_to_anybody() -> None:
    gone: list[list[int]] = []
    by_context = ByContext[list[int]](lambda context: [], gone.append)
    context = RequestContext()
    before = by_context.get(context)
    by_context.clear()
    assert by_context.get(context) is not before
    del context
    gc.collect()
    assert len(gone) == 1
