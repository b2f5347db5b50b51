"""Answers that get lost, servers that fail: never a false stale, never a silent double, nothing half-done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.integration.gcs.support import CHUNK, opened, pending
from tests.servers.faults import Action, DropRequest, DropResponse, Rule, Stall, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import (
    ConflictError,
    Filesystem,
    OperationTimeoutError,
    PathExistsError,
    PermissionDeniedError,
    StaleFileError,
    UnavailableError,
)

pytestmark = pytest.mark.anyio

Call = Callable[[], Awaitable[object]]

UPLOADS = ("multipart_upload", "resumable_chunk")
CHANGES = (*UPLOADS, "resumable_start", "delete", "rewrite", "move", "compose", "batch")


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


@pytest.mark.parametrize("size", [0, 16, CHUNK + 1])
async def test_a_lost_answer_is_recognised_as_the_own_write(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int
) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        last = "resumable_chunk" if size > CHUNK else "multipart_upload"
        for index, nth in enumerate((2, 4, 6) if size > CHUNK else (1, 3, 5)):
            gcs_proxy.clear()
            gcs_proxy.add(Rule(DropResponse(), kind=last, nth=2 if size > CHUNK else 1))
            body = bytes([index]) * size
            if index == 0:
                stat = await fs.write_bytes("/file", body, overwrite=False)
            elif index == 1:
                stat = await fs.write_bytes("/file", body, expected_version=stat.version or "")
            else:
                stat = await fs.write_bytes("/file", body)
            assert stat == await fs.stat("/file"), nth
            assert gcs_server.get("file", bucket=bucket) == body
    assert pending(gcs_server, bucket) == []


@pytest.mark.parametrize("drops", [100, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_no_false_stale_however_many_answers_are_lost(gcs_proxy: Proxy, bucket: str, drops: int) -> None:
    rule = gcs_proxy.add(Rule(DropResponse(), kind="multipart_upload", probability=0.5, seed=5))
    async with opened(gcs_proxy, bucket) as fs:
        stat = await fs.write_bytes("/counter", b"0")
        number = 0
        while rule.fired < drops:
            number += 1
            stat = await fs.write_bytes("/counter", b"%d" % number, expected_version=stat.version or "")
        assert await fs.read_bytes("/counter") == b"%d" % number


@pytest.mark.parametrize("rounds", [4, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [0, 1000, CHUNK + 3])
async def test_a_counter_stays_exact_with_faults(gcs_proxy: Proxy, bucket: str, size: int, rounds: int) -> None:
    """Equal contents of two writers are the trap: only a word of the writer's own tells whose write it was."""
    for action in (DropResponse(), DropRequest(), gcs_error(503), gcs_error(429), gcs_error(503, after=True)):
        gcs_proxy.add(Rule(action, kind=UPLOADS, probability=0.08, seed=len(repr(action))))
    wins: list[int] = []

    async def work(fs: Filesystem) -> None:
        for _ in range(rounds):
            async with fs.open_read("/counter") as reader:
                value, version = int((await reader.read())[:10]), reader.stat.version or ""
            with suppress(StaleFileError):
                await fs.write_bytes("/counter", b"%010d" % (value + 1) + bytes(size), expected_version=version)
                wins.append(value)

    async with opened(gcs_proxy, bucket, retries=10, name_checks=False) as fs:
        await fs.write_bytes("/counter", b"%010d" % 0 + bytes(size))
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(work, fs)
        assert int((await fs.read_bytes("/counter"))[:10]) == len(wins) == len(set(wins))
    assert wins


async def test_of_many_writers_one_wins_with_faults(gcs_proxy: Proxy, bucket: str) -> None:
    gcs_proxy.add(Rule(DropResponse(), kind=UPLOADS, probability=0.4, seed=11))
    async with opened(gcs_proxy, bucket, retries=12) as fs:
        for size in (0, 16, CHUNK + 1):
            seen = await fs.write_bytes("/file", b"before")
            won: list[int] = []
            lost: list[int] = []

            async def write(
                index: int, size: int = size, version: str = seen.version or "", won: list[int] = won,
                lost: list[int] = lost,
            ) -> None:  # fmt: skip
                try:
                    await fs.write_bytes("/file", bytes([index]) * size, expected_version=version)
                    won.append(index)
                except StaleFileError:
                    lost.append(index)

            async with anyio.create_task_group() as group:
                for index in range(16):
                    group.start_soon(write, index)
            assert (len(won), len(lost)) == (1, 15)


@pytest.mark.parametrize("action", [DropResponse(), DropRequest(), gcs_error(503), gcs_error(429, "rateLimitExceeded")])
async def test_every_change_survives_one_fault(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, action: Action
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        large = b"l" * (9 << 20)
        calls: list[tuple[str, Call]] = [
            ("multipart_upload", lambda: fs.write_bytes("/a", b"one")),
            ("resumable_start", lambda: fs.write_bytes("/b", b"t" * (2 * CHUNK))),
            ("resumable_chunk", lambda: fs.write_bytes("/b", b"u" * (2 * CHUNK))),
            ("rewrite", lambda: fs.copy("/a", "/c", overwrite=False)),
            ("rewrite", lambda: fs.copy("/b", "/c")),
            ("move", lambda: fs.move("/c", "/d")),
            ("delete", lambda: fs.delete("/a")),
            ("get_media", lambda: fs.read_bytes("/d")),
            ("get_metadata", lambda: fs.stat("/d")),
            ("list", lambda: fs.list_dir("/")),
            ("resumable_chunk", lambda: fs.write_bytes("/log", large)),
            ("compose", lambda: fs.append_bytes("/log", b"added")),
            ("batch", lambda: fs.remove_dir("/dir", recursive=True)),
        ]
        for index in range(5):
            await fs.write_bytes(f"/dir/{index}", b"x")
        for kind, call in calls:
            gcs_proxy.clear()
            rule = gcs_proxy.add(Rule(action, kind=kind, times=1))
            await call()
            assert rule.fired == 1, kind
        gcs_proxy.clear()
        assert {entry.name for entry in await fs.list_dir("/")} == {"b", "d", "log"}
        assert await fs.read_bytes("/d") == b"u" * (2 * CHUNK)
        assert await fs.read_bytes("/log", (9 << 20) - 1) == b"ladded"
    if not isinstance(action, DropResponse):  # nobody knows the place of an upload whose first answer was lost
        assert pending(gcs_server, bucket) == []


async def test_an_unconditional_delete_is_not_repeated_onto_what_came_after(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    gcs_server.put("file", b"old", bucket=bucket)
    async with opened(gcs_proxy, bucket) as fs:
        gcs_proxy.add(Rule(DropResponse(), kind="delete", times=1))
        await fs.delete("/file")
        assert gcs_proxy.count("delete") == 1
    assert gcs_server.get("file", bucket=bucket) is None


async def test_what_the_store_says_becomes_ours(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    gcs_server.put("file", b"x", bucket=bucket)
    async with opened(gcs_proxy, bucket, retries=1) as fs:
        for action, expected in (
            (gcs_error(403, "forbidden"), PermissionDeniedError),
            (gcs_error(401, "authError"), PermissionDeniedError),
            (gcs_error(429), UnavailableError),
            (gcs_error(500), UnavailableError),
            (DropRequest(), UnavailableError),
        ):
            gcs_proxy.clear()
            gcs_proxy.add(Rule(action, kind="get_metadata"))
            with pytest.raises(expected) as caught:
                await fs.stat("/file")
            assert (caught.value.path, caught.value.operation) == ("/file", "stat")


async def test_a_server_that_never_answers_is_given_up(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, retries=1, read_timeout=0.2) as fs:
        gcs_proxy.add(Rule(Stall(), kind=("get_metadata", "multipart_upload")))
        with anyio.fail_after(10):
            with pytest.raises(OperationTimeoutError):
                await fs.stat("/file.txt")
            with pytest.raises(OperationTimeoutError):
                await fs.write_bytes("/file", b"x", expected_version="1")


def writes(fs: Filesystem, options: Mapping[str, Any]) -> list[Call]:
    return [
        partial(fs.write_bytes, "/file", b"x", **options),
        partial(fs.write_bytes, "/file", b"", **options),
        partial(fs.write_bytes, "/file", bytes(2 * CHUNK), **options),
        partial(fs.copy, "/other", "/file", **options),
        partial(fs.move, "/other", "/file", **options),
    ]


async def test_a_stale_write_is_stale_in_every_way(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as fs:
        old = (await fs.write_bytes("/file", b"old")).version or ""
        new = (await fs.write_bytes("/file", b"new")).version or ""
        await fs.write_bytes("/other", b"other")
        for version in (old, "0", "1", "nonsense", "-1", "9" * 30, "01"):
            expected: dict[str, Any] = {"expected_version": version}
            more: list[Call] = [
                partial(fs.append_bytes, "/file", b"x", **expected),
                partial(fs.delete, "/file", **expected),
            ]
            for call in (*writes(fs, expected), *more):
                with pytest.raises(StaleFileError):
                    await call()
        assert (await fs.stat("/file")).version == new
        for call in writes(fs, {"overwrite": False}):
            with pytest.raises(PathExistsError):
                await call()
        assert await fs.read_bytes("/file") == b"new"
    assert pending(gcs_server, bucket) == []


async def test_another_copy_of_the_same_object_is_not_taken_for_the_own(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        await fs.write_bytes("/source", b"x")
        there = await fs.copy("/source", "/copied")
        gcs_proxy.add(Rule(gcs_error(503), kind="rewrite", times=1))
        with pytest.raises((PathExistsError, ConflictError)):
            await fs.copy("/source", "/copied", overwrite=False)
        assert await fs.stat("/copied") == there


async def test_what_was_there_before_is_not_taken_for_what_was_moved(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    """The request never arrived, and the source is gone: deleted by somebody else."""
    gcs_server.put("source", b"new", bucket=bucket)
    gcs_server.put("there", b"old", bucket=bucket)
    objects = gcs_server.state.buckets[bucket].objects
    then = objects["there"].created - timedelta(hours=1)
    objects["there"] = replace(objects["there"], created=then, generation=int(then.timestamp() * 1e6))
    gcs_proxy.add(Rule(Stall(seconds=0.3), kind="move", times=1))

    async def other() -> None:
        await anyio.to_thread.run_sync(gcs_proxy.wait_for, "move")
        gcs_server.delete("source", bucket=bucket)

    async with opened(gcs_proxy, bucket, name_checks=False, read_timeout=0.1) as fs:
        async with anyio.create_task_group() as group:
            group.start_soon(other)
            with pytest.raises((ConflictError, FileNotFoundError)):
                await fs.move("/source", "/there")
        assert await fs.read_bytes("/there") == b"old"
