"""Writes and deletes without an expectation whose answer was lost: repeated, but not over what others made of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import anyio
import pytest
from tests.integration.gcs.support import (
    CHUNK,
    losing,
    meanwhile,
    opened,
    read_and_write,
    read_and_write_times,
    shift,
)
from tests.servers.faults import Action, DropRequest, DropResponse, Rule, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import ConflictError, Filesystem, TransferError
from moorage_gcs.write_marks import _KEPT as KEPT

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
MINE = (0, 4, CHUNK + 4)
"""Sizes of what is written here; the last is uploaded in chunks."""


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


def forestalled(size: int) -> Rule:
    """The store makes nothing, and nobody says so."""
    if size > CHUNK:
        return Rule(gcs_error(410), kind="resumable_chunk", nth=2)
    return Rule(DropRequest(), kind="multipart_upload", nth=1)


@pytest.mark.parametrize("size", MINE)
@pytest.mark.parametrize("times", [1, KEPT + 5])
async def test_what_others_based_on_a_write_stays(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int, times: int
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await others.write_bytes("/file", b"before")
        rule = gcs_proxy.add(losing(size))
        async with meanwhile(gcs_proxy, partial(read_and_write_times, others, times)):
            stat = await fs.write_bytes("/file", bytes(size))
        now = await fs.stat("/file")
        assert rule.fired == 1
        assert await fs.read_bytes("/file") == b"%02d" % (times - 1)
        assert stat.size == size
        assert int(stat.version or "") < int(now.version or "")


@pytest.mark.parametrize("size", MINE)
async def test_a_write_that_did_not_arrive_is_made_after_those_of_others(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/file", b"before")
        rule = gcs_proxy.add(forestalled(size))
        async with meanwhile(gcs_proxy, partial(read_and_write_times, others, 3)):
            stat = await fs.write_bytes("/file", bytes(size))
        assert rule.fired == 1
        assert await fs.read_bytes("/file") == bytes(size)
        assert stat == await fs.stat("/file")


@pytest.mark.parametrize("size", MINE)
async def test_of_writes_that_know_of_nothing_the_last_one_wins(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        rule = gcs_proxy.add(losing(size))
        async with meanwhile(gcs_proxy, partial(others.write_bytes, "/file", b"theirs")):
            await fs.write_bytes("/file", bytes(size))
        assert rule.fired == 1
        assert await fs.read_bytes("/file") == bytes(size)


@pytest.mark.parametrize("size", MINE)
async def test_what_another_program_wrote_since_is_not_undone(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int
) -> None:
    """It may have based that on this write, or not."""

    async def write() -> None:
        gcs_server.put("file", b"theirs", bucket=bucket)

    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        gcs_proxy.add(losing(size))
        async with meanwhile(gcs_proxy, write):
            with pytest.raises(ConflictError) as raised:
                await fs.write_bytes("/file", bytes(size))
        assert not raised.value.retryable
        assert await fs.read_bytes("/file") == b"theirs"


@pytest.mark.parametrize("size", MINE)
async def test_what_another_program_wrote_before_is_replaced(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int
) -> None:
    gcs_server.put("file", b"theirs", bucket=bucket)
    shift(gcs_server, bucket, "file", -HOUR)
    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        rule = gcs_proxy.add(forestalled(size))
        await fs.write_bytes("/file", bytes(size))
        assert rule.fired == 1
        assert await fs.read_bytes("/file") == bytes(size)


@pytest.mark.parametrize("has_arrived", [True, False])
async def test_without_former_generations_it_may_not_be_known(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, has_arrived: bool
) -> None:
    """What others based their write on is known where this client has met it before."""
    gcs_server.state.buckets[bucket].soft_delete = False
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/file", b"before")
        gcs_proxy.add(losing(4) if has_arrived else forestalled(4))
        async with meanwhile(gcs_proxy, partial(read_and_write, others, b"theirs")):
            if has_arrived:
                with pytest.raises(ConflictError) as raised:
                    await fs.write_bytes("/file", b"mine")
                assert not raised.value.retryable
            else:
                await fs.write_bytes("/file", b"mine")
        assert await fs.read_bytes("/file") == (b"theirs" if has_arrived else b"mine")


async def test_what_others_based_on_a_copy_stays(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/source", b"content")
        rule = gcs_proxy.add(Rule(DropResponse(), kind="rewrite", nth=1))
        async with meanwhile(gcs_proxy, partial(read_and_write, others, b"theirs")):
            stat = await fs.copy("/source", "/file")
        assert rule.fired == 1
        assert stat.size == len(b"content")
        assert await fs.read_bytes("/file") == b"theirs"


async def test_an_earlier_copy_is_not_taken_for_one_that_did_not_arrive(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    """Both look the same."""
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/source", b"content")
        await fs.copy("/source", "/file")
        gcs_proxy.add(Rule(DropRequest(), kind="rewrite", nth=1))
        async with meanwhile(gcs_proxy, partial(read_and_write, others, b"theirs")):
            await fs.copy("/source", "/file")
        assert await fs.read_bytes("/file") == b"content"


async def recreate(server: LocalGCSServer, others: Filesystem, bucket: str, later: timedelta) -> None:
    await others.write_bytes("/file", b"precious", overwrite=False)
    shift(server, bucket, "file", later)


async def test_a_delete_is_not_repeated_onto_what_was_made_since(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/file", b"old")
        gcs_proxy.add(Rule(DropResponse(), kind="delete", nth=1))
        async with meanwhile(gcs_proxy, partial(recreate, gcs_server, others, bucket, HOUR)):
            await fs.delete("/file")
        assert gcs_proxy.count("delete") == 1
        assert await fs.read_bytes("/file") == b"precious"


async def test_of_what_was_made_at_about_the_time_of_a_delete_it_cannot_be_told(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/file", b"old")
        gcs_proxy.add(Rule(DropResponse(), kind="delete", nth=1))
        async with meanwhile(gcs_proxy, partial(recreate, gcs_server, others, bucket, timedelta())):
            with pytest.raises(ConflictError) as raised:
                await fs.delete("/file")
        assert not raised.value.retryable
        assert await fs.read_bytes("/file") == b"precious"


async def replace_old(others: Filesystem) -> None:
    await read_and_write_times(others, 2)


async def nothing(_: Filesystem) -> None:
    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("action", [DropRequest(), gcs_error(503)], ids=["lost", "503"])
@pytest.mark.parametrize("other", [nothing, replace_old])
@pytest.mark.parametrize("is_met", [True, False])
async def test_a_delete_that_did_not_arrive_is_repeated(
    gcs_server: LocalGCSServer,
    gcs_proxy: Proxy,
    bucket: str,
    action: Action,
    other: Callable[[Filesystem], Awaitable[None]],
    is_met: bool,
) -> None:
    """The file was there before: this client has met it, or it is old. What replaced it tells of that."""
    gcs_server.put("file", b"old", bucket=bucket)
    if not is_met:
        shift(gcs_server, bucket, "file", -HOUR)
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        if is_met:
            await fs.stat("/file")
        rule = gcs_proxy.add(Rule(action, kind="delete", nth=1))
        async with meanwhile(gcs_proxy, partial(other, others)):
            await fs.delete("/file")
        assert (rule.fired, gcs_proxy.count("delete")) == (1, 2)
    assert gcs_server.keys(bucket=bucket) == []


async def test_a_tree_of_which_one_file_was_made_anew_is_reported(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async def write() -> None:
        gcs_server.put("tree/1", b"precious", bucket=bucket)

    for index in range(3):
        gcs_server.put(f"tree/{index}", b"old", bucket=bucket)
    async with opened(gcs_proxy, bucket) as fs:
        gcs_proxy.add(Rule(gcs_error(501, "notImplemented"), kind="batch"))
        gcs_proxy.add(Rule(DropResponse(), kind="delete", target="tree%2F1", times=1))
        async with meanwhile(gcs_proxy, write):
            with pytest.raises(TransferError) as raised:
                await fs.remove_dir("/tree", recursive=True)
    [(path, error)] = raised.value.failed
    assert (path, type(error), error.retryable) == ("/tree/1", ConflictError, False)
    assert gcs_server.keys(bucket=bucket) == ["tree/1"]
