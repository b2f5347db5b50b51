"""When something fails half-way: the body, the store, or one file of many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from moorage import (
    Body,
    Filesystem,
    Kind,
    MoorageError,
    PathNotFoundError,
    Provider,
    StoragePath,
    TransferError,
    UnavailableError,
)
from moorage.testing.bodies import Chunks, pattern
from moorage.testing.fault_provider import Fault, FaultProvider
from moorage.testing.harness import Harness
from moorage.testing.latency_provider import LatencyProvider

FILE = StoragePath("/dir/file")


class BodyFailedError(Exception):
    """What only the caller's own stream raises."""


class Faults(Harness):
    async def test_a_body_that_fails_leaves_what_was_there_and_its_own_error_comes_out(self, fs: Filesystem) -> None:
        await fs.write_bytes("/dir/file", b"old")
        for chunks in self._beginnings():
            error = BodyFailedError("of the caller")
            with pytest.raises(BodyFailedError) as caught:
                await fs.write_stream("/dir/file", Chunks(chunks, error=error))
            assert caught.value is error
            with pytest.raises(BodyFailedError):
                await fs.write_stream("/dir/new", Chunks(chunks, error=error))
            await self._check_still_old()

    async def test_a_primitive_lets_the_error_of_a_body_pass(self, opened: Provider) -> None:
        await self.put("/dir/file", b"old")
        for primitive in (opened.write, opened.append):
            for chunks in self._beginnings():
                await self._check_passes(primitive, chunks)

    async def test_an_error_of_ours_from_a_body_keeps_its_own_path(self, opened: Provider) -> None:
        await self.put("/dir/file", b"old")
        error = PathNotFoundError("of another store", path="/of/another/store")
        for primitive in (opened.write, opened.append):
            with pytest.raises(PathNotFoundError) as caught:
                await primitive(FILE, Chunks([b"new"], error=error))
            assert (caught.value, caught.value.path) == (error, "/of/another/store")
        await self._check_still_old()

    async def test_a_read_that_is_cut_is_an_error_and_not_a_shorter_file(self, opened: Provider) -> None:
        await self.put("/dir/file", pattern(1_000))
        for passes in (0, 1, 999, 1_000):
            async with Filesystem(FaultProvider(opened, Fault("read", passes=passes))) as fs:
                with pytest.raises(UnavailableError) as caught:
                    await fs.read_bytes("/dir/file")
                assert (caught.value.path, caught.value.operation) == ("/dir/file", "read")
            await opened.start()

    async def test_a_fault_of_any_primitive_reaches_the_caller_as_one_of_ours(self, opened: Provider) -> None:
        calls: dict[str, Callable[[Filesystem], Awaitable[object]]] = {
            "stat": lambda fs: fs.stat("/dir/file"),
            "list": lambda fs: fs.list_dir("/dir"),
            "read": lambda fs: fs.read_bytes("/dir/file"),
            "write": lambda fs: fs.write_bytes("/dir/file", b"new"),
            "append": lambda fs: fs.append_bytes("/dir/file", b"new"),
            "delete": lambda fs: fs.delete("/dir/file"),
            "copy": lambda fs: fs.copy("/dir/file", "/copied"),
            "move": lambda fs: fs.move("/dir/file", "/moved"),
            "make_dir": lambda fs: fs.make_dir("/dir/made"),
            "remove_dir": lambda fs: fs.remove_dir("/dir", recursive=True),
        }
        await self.put("/dir/file", b"old")
        for primitive, call in calls.items():
            for error in (UnavailableError("injected"), RuntimeError("foreign")):
                async with Filesystem(FaultProvider(opened, Fault(primitive, error=_always(error)))) as fs:
                    with pytest.raises(MoorageError) as caught:
                        await call(fs)
                    assert caught.value.operation == primitive
                await opened.start()
        await self._check_still_old()

    async def test_a_tree_of_which_one_file_fails_says_which(self, opened: Provider) -> None:
        for primitive in ("copy", "move"):
            for index in range(5):
                await self.put(f"/src/{index}", b"%d" % index)
            faulty = FaultProvider(opened, Fault(primitive, call=3))
            if primitive == "move":
                faulty = FaultProvider(opened, Fault("move", call=4))
                await self.put("/dst/there", b"so that it goes file by file")
            async with Filesystem(faulty) as fs:
                with pytest.raises(TransferError) as caught:
                    await getattr(fs, primitive)("/src", "/dst", **({"recursive": True} if primitive == "copy" else {}))
            await opened.start()
            await self._check_transfer(caught.value, moved=primitive == "move")

    async def test_a_slow_store_answers_the_same(self, opened: Provider) -> None:
        async with Filesystem(LatencyProvider(opened)) as fs:
            await fs.write_bytes("/dir/file", b"one")
            await fs.append_bytes("/dir/file", b"two")
            assert await fs.read_bytes("/dir/file") == b"onetwo"
            assert [entry.kind for entry in await fs.list_dir("/", recursive=True)] == [Kind.DIRECTORY, Kind.FILE]

    async def _check_passes(
        self, primitive: Callable[[StoragePath, Body], Awaitable[object]], chunks: list[bytes]
    ) -> None:
        error = BodyFailedError("of the caller")
        with pytest.raises(BodyFailedError) as caught:
            await primitive(FILE, Chunks(chunks, error=error))
        assert caught.value is error
        await self._check_still_old()

    async def _check_transfer(self, error: TransferError, *, moved: bool) -> None:
        assert len(error.done) == 4
        ((failed, why),) = error.failed
        assert isinstance(why, UnavailableError)
        held = await self.content()
        assert failed in held
        assert f"/dst/{failed.rpartition('/')[2]}" not in held
        for done in error.done:
            assert held[f"/dst/{done.rpartition('/')[2]}"] == done.rpartition("/")[2].encode()
            assert (done not in held) is moved
        await self._provider.remove_dir(StoragePath("/dst"), recursive=True)
        await self._provider.remove_dir(StoragePath("/src"), recursive=True)

    async def _check_still_old(self) -> None:
        assert await self.content() == {"/dir/file": b"old"}
        assert await self.leftovers() == []

    def _beginnings(self) -> list[list[bytes]]:
        return [[], [b"new"], [pattern(self.larger), b"and more"]]


def _always(error: Exception) -> Callable[[], Exception]:
    return lambda: error
