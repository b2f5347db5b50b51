"""Writing and deleting only what is still as it was seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import anyio

from moorage import (
    Capabilities,
    Filesystem,
    InvalidArgumentError,
    StaleFileError,
    StoragePath,
    UnsupportedError,
)
from moorage.testing.bodies import Chunks
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused

Guarded = Callable[..., Awaitable[object]]


def guarded_calls(fs: Filesystem, path: str) -> dict[str, Guarded]:
    """Every call that takes expectations about ``path``."""

    async def write_stream(**expected: Any) -> None:
        await fs.write_stream(path, Chunks([b"new"]), **expected)

    return {
        "write_bytes": partial(fs.write_bytes, path, b"new"),
        "write_text": partial(fs.write_text, path, "new"),
        "write_stream": write_stream,
        "append_bytes": partial(fs.append_bytes, path, b"new"),
        "append_text": partial(fs.append_text, path, "new"),
        "delete": partial(fs.delete, path),
        "copy": partial(fs.copy, "/other", path),
        "move": partial(fs.move, "/other", path),
    }


class Preconditions(Harness):
    async def test_the_version_that_was_seen_is_accepted(self, fs: Filesystem, can: Capabilities) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            stat = await self._seen_file(fs)
            if can.conditional_write == "none":
                await self._check_unsupported(fs, call, expected_version=stat.version)
                continue
            await call(expected_version=stat.version)
            assert await self.peek(StoragePath("/file")) != b"seen", name

    async def test_any_other_version_is_stale(self, fs: Filesystem, can: Capabilities) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            old = await self._seen_file(fs, b"before")
            new = await fs.write_bytes("/file", b"seen")
            if can.conditional_write == "none":
                await self._check_unsupported(fs, call, expected_version=old.version)
                continue
            with refused(StaleFileError, path="/file") as refusal:
                await call(expected_version=old.version)
            assert refusal.error.expected == old.version, name
            assert refusal.error.actual in (None, new.version), name
            await self._check_untouched(name)

    async def test_the_time_that_was_seen_is_accepted(self, fs: Filesystem, can: Capabilities) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            await self._seen_file(fs)
            time = (await fs.stat("/file")).modified_at
            if can.conditional_write == "none":
                await self._check_unsupported(fs, call, expected_mtime=time)
                continue
            await call(expected_mtime=time)
            assert await self.peek(StoragePath("/file")) != b"seen", name

    async def test_an_earlier_or_a_later_time_is_stale(self, fs: Filesystem, can: Capabilities) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            await self._seen_file(fs)
            for away in (timedelta(hours=-1), timedelta(hours=1)):
                time = await self._seen_time(fs) + away
                if can.conditional_write == "none":
                    await self._check_unsupported(fs, call, expected_mtime=time)
                    continue
                with refused(StaleFileError, path="/file") as refusal:
                    await call(expected_mtime=time)
                assert refusal.error.expected == time, name
                await self._check_untouched(name)

    async def test_a_replacement_is_seen_by_its_time(self, fs: Filesystem, can: Capabilities) -> None:
        await fs.write_bytes("/file", b"before")
        time = await self._seen_time(fs)
        if can.mtime_resolution > 0.0001:
            await anyio.sleep(can.mtime_resolution * 1.1)
        await fs.write_bytes("/file", b"after!")
        assert await self._seen_time(fs) > time
        if can.conditional_write != "none":
            with refused(StaleFileError, path="/file"):
                await fs.write_bytes("/file", b"mine", expected_mtime=time)
        assert await self.peek(StoragePath("/file")) == b"after!"

    async def test_the_version_wins_over_the_time(self, fs: Filesystem, can: Capabilities) -> None:
        stat = await self._seen_file(fs)
        wrong = await self._seen_time(fs) - timedelta(hours=1)
        if can.conditional_write == "none":
            with refused(UnsupportedError):
                await fs.write_bytes("/file", b"x", expected_version=stat.version or "", expected_mtime=wrong)
            return
        await fs.write_bytes("/file", b"mine", expected_version=stat.version or "", expected_mtime=wrong)
        time = await self._seen_time(fs)
        with refused(StaleFileError, path="/file"):
            await fs.write_bytes("/file", b"x", expected_version=stat.version or "", expected_mtime=time)
        assert await self.peek(StoragePath("/file")) == b"mine"

    async def test_none_is_no_expectation(self, fs: Filesystem) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            await self._seen_file(fs)
            for field in ("expected_version", "expected_mtime"):
                with refused(InvalidArgumentError, path="/file"):
                    await call(**{field: None})
                await self._check_untouched(name)

    async def test_gone_is_stale_and_not_created_again(self, fs: Filesystem, can: Capabilities) -> None:
        for name, call in guarded_calls(fs, "/file").items():
            stat = await self._seen_file(fs)
            time = await self._seen_time(fs)
            await fs.delete("/file")
            for expected in ({"expected_version": stat.version}, {"expected_mtime": time}):
                due = UnsupportedError if can.conditional_write == "none" else StaleFileError
                with refused(due, path="/file"):
                    await call(**expected)
                assert await self.content() == {"/other": b"other"}, name

    async def test_replaced_by_another_program_is_stale(self, fs: Filesystem, can: Capabilities) -> None:
        stat = await self._seen_file(fs, b"before")
        await self.poke(StoragePath("/file"), b"by another")
        due = UnsupportedError if can.conditional_write == "none" else StaleFileError
        with refused(due, path="/file"):
            await fs.write_bytes("/file", b"mine", expected_version=stat.version or "")
        assert await self.peek(StoragePath("/file")) == b"by another"

    async def test_the_answer_to_a_write_is_the_next_expectation(self, fs: Filesystem, can: Capabilities) -> None:
        stat = await fs.write_bytes("/file", b"0")
        for index in range(1, 6):
            if can.conditional_write == "none":
                break
            stat = await fs.write_bytes("/file", b"%d" % index, expected_version=stat.version or "")
            assert await fs.read_bytes("/file") == b"%d" % index

    async def test_a_guarded_write_of_a_larger_body(self, fs: Filesystem, can: Capabilities) -> None:
        if can.conditional_write == "none":
            return
        stat = await self._seen_file(fs, b"before")
        await fs.write_bytes("/file", bytes(self.larger), expected_version=stat.version or "")
        with refused(StaleFileError, path="/file"):
            await fs.write_bytes("/file", b"x" * self.larger, expected_version=stat.version or "")
        assert await self.peek(StoragePath("/file")) == bytes(self.larger)

    async def _seen_file(self, fs: Filesystem, data: bytes = b"seen") -> Any:
        await self.put("/other", b"other")
        return await fs.write_bytes("/file", data)

    async def _seen_time(self, fs: Filesystem) -> datetime:
        time = (await fs.stat("/file")).modified_at
        assert time is not None, "stat of a file says no time"
        return time

    async def _check_untouched(self, name: str) -> None:
        assert await self.content() == {"/file": b"seen", "/other": b"other"}, name

    async def _check_unsupported(self, fs: Filesystem, call: Guarded, **expected: object) -> None:
        before = await self.content()
        with refused(UnsupportedError, path="/file"):
            await call(**expected)
        assert await self.content() == before
