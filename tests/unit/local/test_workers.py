"""Jobs: dropped before they start, undone before their point of no return, seen through after it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from moorage import PathNotFoundError, StoragePath
from moorage_local.workers import Job, Withdrawn, Workers, wait

PATH = StoragePath("/path")
PATIENCE = 10.0

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lane() -> Workers:
    return Workers("test", 1)


async def test_results_and_errors_come_back(lane: Workers) -> None:
    assert await lane.run(lambda _: threading.current_thread().name, PATH) == "test-1"

    def fail(_: Job[Any]) -> None:
        raise FileNotFoundError(2, "gone", "/host/path")

    with pytest.raises(PathNotFoundError) as caught:
        await lane.run(fail, PATH)
    assert (caught.value.path, caught.value.__context__) == ("/path", None)
    assert "/host" not in repr(caught.value.__cause__)


async def test_a_job_cancelled_before_it_starts_never_runs(lane: Workers) -> None:
    held, ran = threading.Event(), threading.Event()
    blocker = lane.submit(lambda _: held.wait(PATIENCE), PATH)
    with anyio.move_on_after(0.01):
        await lane.run(lambda _: ran.set(), PATH)
    held.set()
    await wait(blocker)
    await lane.run(lambda _: None, PATH)
    assert not ran.is_set()


async def test_a_job_cancelled_before_its_point_of_no_return_is_told_so(lane: Workers) -> None:
    held, outcomes = threading.Event(), list[str]()

    def change(job: Job[Any]) -> None:
        held.wait(PATIENCE)
        try:
            job.commit()
        except Withdrawn:
            outcomes.append("undone")
            raise
        outcomes.append("made")

    with anyio.move_on_after(0.01):
        await lane.run(change, PATH)
    held.set()
    await lane.run(lambda _: None, PATH)
    assert outcomes == ["undone"]


async def test_a_job_past_its_point_of_no_return_is_seen_through(lane: Workers) -> None:
    committed, release, made = threading.Event(), threading.Event(), threading.Event()

    def change(job: Job[Any]) -> None:
        job.commit()
        committed.set()
        release.wait(PATIENCE)
        made.set()

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lane.run, change, PATH)
            await anyio.to_thread.run_sync(committed.wait, PATIENCE)
            threading.Timer(0.05, release.set).start()
            scope.cancel()
    assert made.is_set()


def test_a_second_native_cancellation_does_not_cut_it_short(lane: Workers) -> None:
    committed, release, made = threading.Event(), threading.Event(), threading.Event()

    def change(job: Job[Any]) -> None:
        job.commit()
        committed.set()
        release.wait(PATIENCE)
        made.set()

    async def main() -> None:
        task = asyncio.create_task(lane.run(change, PATH))
        await asyncio.to_thread(committed.wait, PATIENCE)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.001)
        assert not task.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert made.is_set()

    asyncio.run(main())


async def test_many_at_once_all_come_back(lane: Workers) -> None:
    results: list[int] = []

    async def one(number: int) -> None:
        results.append(await lane.run(lambda _: number, PATH))

    async with anyio.create_task_group() as tasks:
        for number in range(500):
            tasks.start_soon(one, number)
    assert sorted(results) == list(range(500))
