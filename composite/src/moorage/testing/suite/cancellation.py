"""Cancelled at any await, a change has happened whole or not at all, nothing is left over, and the store goes on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio

from moorage import PathNotFoundError, Provider, StoragePath
from moorage.testing.bodies import Chunks
from moorage.testing.cancelling import Outcome, cancel_everywhere, on_asyncio
from moorage.testing.harness import Harness
from moorage.testing.iterating import collect

FILE = StoragePath("/dir/file")
OTHER = StoragePath("/dir/other")
TREE = StoragePath("/dir")

BEFORE = {"/dir/file": b"old", "/dir/other": b"other"}

Operation = Callable[[Provider], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class Change:
    """One mutating call from :data:`BEFORE`, and all contents that may be there when it was cut short."""

    primitive: str
    run: Operation
    after: dict[str, bytes]
    between: tuple[dict[str, bytes], ...] = ()

    @property
    def allowed(self) -> list[dict[str, bytes]]:
        return [BEFORE, *self.between, self.after]


def changes(larger: bytes) -> list[Change]:
    """Every mutating primitive at least once; a test checks that none is missing."""
    parts = [larger[: len(larger) // 2], larger[len(larger) // 2 :]]
    new = StoragePath("/new/file")
    return [
        Change("write", lambda p: p.write(FILE, b"new"), BEFORE | {"/dir/file": b"new"}),
        Change("write", lambda p: p.write(new, b"new"), BEFORE | {"/new/file": b"new"}),
        Change("write", lambda p: p.write(FILE, Chunks(parts)), BEFORE | {"/dir/file": larger}),
        Change("append", lambda p: p.append(FILE, b" and new"), BEFORE | {"/dir/file": b"old and new"}),
        Change("append", lambda p: p.append(FILE, Chunks(parts)), BEFORE | {"/dir/file": b"old" + larger}),
        Change("delete", lambda p: p.delete(FILE), {"/dir/other": b"other"}),
        Change("copy", lambda p: p.copy(OTHER, FILE), BEFORE | {"/dir/file": b"other"}),
        Change(
            "move",
            lambda p: p.move(OTHER, FILE),
            {"/dir/file": b"other"},
            ({"/dir/file": b"other", "/dir/other": b"other"},),
        ),
        Change("make_dir", lambda p: p.make_dir(StoragePath("/dir/made")), BEFORE),
        Change(
            "remove_dir",
            lambda p: p.remove_dir(TREE, recursive=True),
            {},
            ({"/dir/file": b"old"}, {"/dir/other": b"other"}),
        ),
    ]


class Cancellation(Harness):
    async def test_every_mutating_primitive_is_cancelled_somewhere_here(self, opened: Provider) -> None:
        assert {change.primitive for change in changes(b"")} == set(opened.mutating)

    async def test_cancelled_at_any_await_a_change_is_whole_or_not_at_all(self, opened: Provider, slow: bool) -> None:
        for change in changes(b"larger" * (self.larger // 6)):
            await self._cancel_change(opened, change, native=False, slow=slow)

    async def test_a_task_that_asyncio_cancels_is_no_different(self, opened: Provider, slow: bool) -> None:
        if not on_asyncio():
            return
        for change in changes(b"larger" * (self.larger // 6)):
            await self._cancel_change(opened, change, native=True, slow=slow)

    async def test_a_cancelled_read_or_listing_leaves_the_store_usable(self, opened: Provider) -> None:
        async def read() -> bytes:
            async with await opened.read(FILE) as reader:
                return await reader.read()

        async def listing() -> int:
            return len(await collect(opened.list(StoragePath("/"), recursive=True)))

        async def check(outcome: Outcome[Any]) -> None:
            assert outcome.cancelled or outcome.result in (b"old", 3)
            assert await self.content() == BEFORE

        for operation in (read, listing, lambda: opened.stat(FILE)):
            if operation in (read, listing):
                await cancel_everywhere(self._start_over, operation, check, limit=self.cancellation_points)
            else:
                await cancel_everywhere(
                    self._start_over, operation, self._still_as_before, limit=self.cancellation_points
                )

    async def test_a_write_that_is_cancelled_while_it_waits_for_its_body_ends_at_once(self, opened: Provider) -> None:
        class Stuck:
            def __aiter__(self) -> Stuck:
                return self

            async def __anext__(self) -> bytes:
                await anyio.sleep_forever()
                raise AssertionError

        await self._start_over()
        for primitive in (opened.write, opened.append):
            with anyio.fail_after(10), anyio.move_on_after(0.05) as scope:
                await primitive(FILE, Stuck())
            assert scope.cancelled_caught
            await self._settles_on([BEFORE])

    async def _cancel_change(self, provider: Provider, change: Change, *, native: bool, slow: bool) -> None:
        async def check(outcome: Outcome[object]) -> None:
            if outcome.cancelled:
                await self._settles_on(change.allowed)
            else:
                assert await self.content() == change.after, change.primitive
            await provider.write(StoragePath("/usable"), b"yes")
            await provider.delete(StoragePath("/usable"))

        limit = None if slow else self.cancellation_points
        await cancel_everywhere(self._start_over, lambda: change.run(provider), check, limit=limit, native=native)

    async def _start_over(self) -> None:
        for path in await self.content():
            await self._provider.delete(StoragePath(path))
        for path, data in BEFORE.items():
            await self.put(path, data)

    async def _settles_on(self, allowed: list[dict[str, bytes]]) -> None:
        """What a worker had already begun may still end; then one of these is there, and nothing else."""
        end = anyio.current_time() + self.settling
        while anyio.current_time() < end:
            with suppress(PathNotFoundError):  # listed, and then gone
                if await self.content() in allowed and await self.leftovers() == []:
                    return
            await anyio.sleep(0.02)
        found = {path: data[:40] for path, data in (await self.content()).items()}
        raise AssertionError(f"neither old nor new: {found}; left over: {await self.leftovers()}")

    async def _still_as_before(self, outcome: Outcome[Any]) -> None:
        assert await self.content() == BEFORE
