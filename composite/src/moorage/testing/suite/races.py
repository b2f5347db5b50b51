"""Many tasks on one file: exactly one wins, nothing is lost, nothing is torn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from moorage import Capabilities, Filesystem, PathExistsError, StaleFileError, Stat, StoragePath
from moorage.testing.bodies import Chunks, pattern
from moorage.testing.harness import Harness

Attempt = Callable[[int], Awaitable[Stat]]


class Races(Harness):
    async def test_of_many_writers_with_one_version_exactly_one_wins(
        self, fs: Filesystem, can: Capabilities, slow: bool
    ) -> None:
        for size in [*[16] * (50 if slow else self.rounds), 0, self.larger]:
            seen = await fs.write_bytes("/file", b"before")
            if can.conditional_write == "none":
                await self._check_last_one_stays(fs, size)
                continue
            bodies = [pattern(size, seed=index) for index in range(self.writers)]

            async def write(index: int, *, seen: Stat = seen, bodies: list[bytes] = bodies) -> Stat:
                return await fs.write_bytes("/file", bodies[index], expected_version=seen.version or "")

            winner, stat = await self._one_winner(write, StaleFileError)
            assert await self.peek(StoragePath("/file")) == bodies[winner]
            assert (await fs.stat("/file")).version == stat.version

    async def test_of_many_streams_with_one_version_exactly_one_wins(self, fs: Filesystem, can: Capabilities) -> None:
        if can.conditional_write == "none":
            return
        seen = await fs.write_bytes("/file", b"before")

        async def write(index: int) -> Stat:
            body = Chunks([b"%04d" % index, b"-", b"%04d" % index])
            return await fs.write_stream("/file", body, expected_version=seen.version or "")

        winner, _ = await self._one_winner(write, StaleFileError)
        assert await self.peek(StoragePath("/file")) == b"%04d-%04d" % (winner, winner)

    async def test_of_many_writers_with_one_time_exactly_one_wins(self, fs: Filesystem, can: Capabilities) -> None:
        if can.conditional_write == "none" or can.mtime_resolution > 0.001:
            await self._check_last_one_stays(fs, 16)
            return
        await fs.write_bytes("/file", b"before")
        time = (await fs.stat("/file")).modified_at
        assert time is not None

        async def write(index: int) -> Stat:
            return await fs.write_bytes("/file", b"%04d" % index, expected_mtime=time)

        winner, _ = await self._one_winner(write, StaleFileError)
        assert await self.peek(StoragePath("/file")) == b"%04d" % winner

    async def test_of_many_creators_exactly_one_wins(self, fs: Filesystem) -> None:
        for size in (0, 16, self.larger):
            path = f"/new-{size}"
            bodies = [pattern(size, seed=index) for index in range(self.writers)]

            async def create(index: int, *, path: str = path, bodies: list[bytes] = bodies) -> Stat:
                return await fs.write_bytes(path, bodies[index], overwrite=False)

            winner, _ = await self._one_winner(create, PathExistsError)
            assert await self.peek(StoragePath(path)) == bodies[winner]

    async def test_of_many_copies_without_overwrite_exactly_one_wins(self, fs: Filesystem) -> None:
        for index in range(self.writers):
            await self.put(f"/from/{index}", b"%04d" % index)

        async def copy(index: int) -> Stat:
            await fs.copy(f"/from/{index}", "/target", overwrite=False)
            return await fs.stat("/target")

        winner, _ = await self._one_winner(copy, PathExistsError)
        assert await self.peek(StoragePath("/target")) == b"%04d" % winner

    async def test_of_many_deletes_with_one_version_exactly_one_wins(self, fs: Filesystem, can: Capabilities) -> None:
        if can.conditional_write == "none":
            return
        seen = await fs.write_bytes("/file", b"before")

        async def delete(index: int) -> Stat:
            await fs.delete("/file", expected_version=seen.version or "")
            return seen

        await self._one_winner(delete, StaleFileError)
        assert await self.peek(StoragePath("/file")) is None

    async def test_concurrent_appends_lose_nothing(self, fs: Filesystem, can: Capabilities) -> None:
        lines = [b"line %04d of all\n" % index for index in range(self.writers)]

        async def append(index: int) -> None:
            await fs.append_bytes("/log", lines[index])

        if can.conditional_write == "none":
            for index in range(self.writers):
                await append(index)
        else:
            async with anyio.create_task_group() as group:
                for index in range(self.writers):
                    group.start_soon(append, index)
        held = await self.peek(StoragePath("/log"))
        assert held is not None
        assert sorted(held.splitlines(keepends=True)) == lines

    async def test_a_counter_that_is_read_and_written_conditionally_is_exact(
        self, fs: Filesystem, can: Capabilities
    ) -> None:
        await fs.write_bytes("/counter", b"0")
        if can.conditional_write == "none":
            return

        async def increment() -> None:
            async with fs.open_read("/counter") as reader:
                value, version = int(await reader.read()), reader.stat.version
            await fs.write_bytes("/counter", b"%d" % (value + 1), expected_version=version or "")

        async def worker() -> None:
            done = 0
            while done < 6:
                try:
                    await increment()
                except StaleFileError:
                    continue
                done += 1

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(worker)
        assert await self.peek(StoragePath("/counter")) == b"30"

    async def test_a_reader_sees_one_version_and_never_a_mixture(self, fs: Filesystem) -> None:
        contents = [bytes([index]) * self.larger for index in range(4)]
        await fs.write_bytes("/file", contents[0])
        torn: list[int] = []

        async def read() -> None:
            for _ in range(6):
                data = await fs.read_bytes("/file")
                if data not in contents:
                    torn.append(len(data))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(read)
            for content in contents[1:] * 2:
                await fs.write_bytes("/file", content)
        assert torn == []

    async def test_a_move_that_races_a_write_loses_nothing(self, fs: Filesystem, slow: bool) -> None:
        async def move() -> None:
            with suppress(StaleFileError):
                await fs.move("/from", "/to")

        for index in range(50 if slow else self.rounds * 3):
            new = b"new %d" % index
            await fs.write_bytes("/from", b"old")
            async with anyio.create_task_group() as group:
                group.start_soon(move)
                group.start_soon(fs.write_bytes, "/from", new)
            held = await self.content()
            assert new in held.values(), "a write that succeeded is gone"
            assert set(held) <= {"/from", "/to"}
            assert set(held.values()) <= {new, b"old"}
            for path in held:
                await fs.delete(path)

    async def test_a_listing_goes_on_while_files_come_and_go(self, fs: Filesystem) -> None:
        staying = {f"/dir/staying-{index:02d}" for index in range(30)}
        for path in staying:
            await self.put(path)

        async def churn(name: str) -> None:
            for _ in range(10):
                await fs.write_bytes(f"/dir/{name}", b"x")
                await fs.write_bytes(f"/dir/sub-{name}/file", b"x")
                await fs.delete(f"/dir/{name}")
                await fs.remove_dir(f"/dir/sub-{name}", recursive=True)

        async with anyio.create_task_group() as group:
            for index in range(3):
                group.start_soon(churn, f"churned-{index}")
            for recursive in (True, False) * 5:
                assert staying <= {str(entry.path) for entry in await fs.list_dir("/dir", recursive=recursive)}
        assert {str(entry.path) for entry in await fs.list_dir("/dir")} == staying

    async def _one_winner(self, attempt: Attempt, due: type[Exception]) -> tuple[int, Stat]:
        won: list[tuple[int, Stat]] = []
        lost: Counter[str] = Counter()

        async def run(index: int) -> None:
            try:
                won.append((index, await attempt(index)))
            except Exception as error:
                lost[type(error).__name__] += 1

        async with anyio.create_task_group() as group:
            for index in range(self.writers):
                group.start_soon(run, index)
        assert (len(won), dict(lost)) == (1, {due.__name__: self.writers - 1})
        return won[0]

    async def _check_last_one_stays(self, fs: Filesystem, size: int) -> None:
        """What holds without expectations: whoever came last, its content is there whole."""
        bodies = [pattern(size, seed=index) for index in range(self.writers)]
        async with anyio.create_task_group() as group:
            for body in bodies:
                group.start_soon(fs.write_bytes, "/file", body)
        assert await self.peek(StoragePath("/file")) in bodies
