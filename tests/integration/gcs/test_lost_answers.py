"""A write whose answer was lost while others went on writing: it is known whether it took effect."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterable, Awaitable, Callable
from functools import partial

import anyio
import anyio.to_thread
import pytest
from tests.integration.gcs.support import CHUNK, losing, meanwhile, opened, read_and_write, read_and_write_times
from tests.servers.faults import Answer, DropRequest, DropResponse, Rule, Stall, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import ConflictError, Filesystem, PathExistsError, StaleFileError, UnavailableError
from moorage_gcs.write_marks import _KEPT as KEPT

pytestmark = pytest.mark.anyio

SIZES = pytest.mark.parametrize("size", [0, 4, CHUNK + 4])


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


async def stat_and_write(fs: Filesystem, body: bytes) -> None:
    await fs.write_bytes("/file", body, expected_version=(await fs.stat("/file")).version or "")


@SIZES
@pytest.mark.parametrize("times", [1, 2, KEPT + 5])
async def test_a_write_that_others_replaced_has_succeeded(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int, times: int
) -> None:
    async with opened(gcs_proxy, bucket) as fs, opened(gcs_server, bucket) as others:
        seen = await fs.write_bytes("/file", b"before")
        rule = gcs_proxy.add(losing(size))
        async with meanwhile(gcs_proxy, partial(read_and_write_times, others, times)):
            stat = await fs.write_bytes("/file", bytes(size), expected_version=seen.version or "")
        now = await fs.stat("/file")
        assert rule.fired == 1
        assert await fs.read_bytes("/file") == b"%02d" % (times - 1)
        assert stat.size == size
        assert int(seen.version or "") < int(stat.version or "") < int(now.version or "")


@SIZES
@pytest.mark.parametrize("times", [1, 2, KEPT + 5])
async def test_a_write_that_others_forestalled_is_stale(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, size: int, times: int
) -> None:
    async with opened(gcs_proxy, bucket) as fs, opened(gcs_server, bucket) as others:
        seen = await fs.write_bytes("/file", b"before")
        kind = "resumable_chunk" if size > CHUNK else "multipart_upload"
        action = gcs_error(410) if size > CHUNK else DropRequest()
        gcs_proxy.add(Rule(action, kind=kind, nth=2 if size > CHUNK else 1))
        async with meanwhile(gcs_proxy, partial(read_and_write_times, others, times)):
            with pytest.raises(StaleFileError):
                await fs.write_bytes("/file", bytes(size), expected_version=seen.version or "")
        assert await fs.read_bytes("/file") == b"%02d" % (times - 1)


@pytest.mark.parametrize(("write", "is_known"), [(stat_and_write, True), (read_and_write, False)])
async def test_without_former_generations_it_is_known_from_those_who_asked_for_metadata(
    gcs_server: LocalGCSServer,
    gcs_proxy: Proxy,
    bucket: str,
    write: Callable[[Filesystem, bytes], Awaitable[None]],
    is_known: bool,
) -> None:
    gcs_server.state.buckets[bucket].soft_delete = False
    async with opened(gcs_proxy, bucket) as fs, opened(gcs_server, bucket) as others:
        seen = await fs.write_bytes("/file", b"before")

        async def twice() -> None:
            await write(others, b"one")
            await write(others, b"two")

        gcs_proxy.add(losing(4))
        async with meanwhile(gcs_proxy, twice):
            mine = partial(fs.write_bytes, "/file", b"mine", expected_version=seen.version or "")
            if is_known:
                assert (await mine()).version not in (None, seen.version)
            else:
                with pytest.raises(ConflictError) as raised:
                    await mine()
                assert not raised.value.retryable
        assert await fs.read_bytes("/file") == b"two"


async def test_over_a_write_by_another_program_it_cannot_be_told(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        seen = await fs.write_bytes("/file", b"before")

        async def write() -> None:
            gcs_server.put("file", b"theirs", bucket=bucket)

        gcs_proxy.add(losing(4))
        async with meanwhile(gcs_proxy, write):
            with pytest.raises(ConflictError) as raised:
                await fs.write_bytes("/file", b"mine", expected_version=seen.version or "")
        assert not raised.value.retryable
        assert await fs.read_bytes("/file") == b"theirs"


async def test_a_file_that_others_created_exists(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:

        async def write() -> None:
            await others.write_bytes("/file", b"theirs", overwrite=False)
            await read_and_write(others, b"again")

        gcs_proxy.add(Rule(DropRequest(), kind="multipart_upload", nth=1))
        async with meanwhile(gcs_proxy, write):
            with pytest.raises(PathExistsError):
                await fs.write_bytes("/file", b"mine", overwrite=False)


async def test_a_copy_that_others_replaced_has_succeeded(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket, name_checks=False) as fs, opened(gcs_server, bucket) as others:
        await fs.write_bytes("/source", b"content")
        seen = await fs.write_bytes("/file", b"before")
        release = threading.Event()
        gcs_proxy.add(Rule(DropResponse(), kind="rewrite", nth=1))
        gcs_proxy.add(Rule(Stall(release=release), kind="get_metadata", nth=2))  # the first is about the source
        gcs_proxy.reset()

        async def write() -> None:
            await anyio.to_thread.run_sync(gcs_proxy.wait_for, "get_metadata", 2)
            await read_and_write(others, b"after")
            release.set()

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            stat = await fs.copy("/source", "/file", expected_version=seen.version or "")
        assert stat.size == 7
        assert int(seen.version or "") < int(stat.version or "") < int((await fs.stat("/file")).version or "")


async def test_a_delete_is_stale_where_the_version_was_replaced(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str
) -> None:
    async with opened(gcs_proxy, bucket) as fs, opened(gcs_server, bucket) as others:
        seen = await fs.write_bytes("/file", b"before")
        for _ in range(3):
            await read_and_write(others, b"after")
        rule = gcs_proxy.add(Rule(DropRequest(), kind="delete", nth=1))
        with pytest.raises(StaleFileError):
            await fs.delete("/file", expected_version=seen.version or "")
        assert rule.fired == 1


async def streamed(body: bytes) -> AsyncIterable[bytes]:
    yield body


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("is_guarded", [True, False])
async def test_an_upload_that_the_store_forgot_is_begun_again(
    gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str, nth: int, is_guarded: bool
) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        seen = await fs.write_bytes("/file", b"before")
        rule = gcs_proxy.add(Rule(gcs_error(410), kind="resumable_chunk", nth=nth))
        body = b"n" * (CHUNK + 4)
        if is_guarded:
            stat = await fs.write_bytes("/file", body, expected_version=seen.version or "")
        else:
            stat = await fs.write_bytes("/file", body)
        assert rule.fired == 1
        assert (stat.version, await fs.read_bytes("/file")) == ((await fs.stat("/file")).version, body)
        gcs_proxy.add(Rule(gcs_error(410), kind="resumable_chunk"))
        with pytest.raises(UnavailableError):
            await fs.write_bytes("/file", body)


async def test_a_stream_that_the_store_forgot_cannot_be_begun_again(gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        seen = await fs.write_bytes("/file", b"before")
        gcs_proxy.add(Rule(gcs_error(410), kind="resumable_chunk", nth=1))
        with pytest.raises(UnavailableError):
            await fs.write_stream("/file", streamed(bytes(CHUNK + 4)), expected_version=seen.version or "")
        assert await fs.stat("/file") == seen


async def test_a_copy_that_does_not_get_on_ends(gcs_proxy: Proxy, bucket: str) -> None:
    state = json.dumps({"done": False, "rewriteToken": "t", "totalBytesRewritten": "1", "objectSize": "2"}).encode()
    async with opened(gcs_proxy, bucket) as fs:
        await fs.write_bytes("/file", b"x")
        rule = gcs_proxy.add(Rule(Answer(200, {}, state), kind="rewrite"))
        with pytest.raises(UnavailableError):
            await fs.copy("/file", "/other")
        assert rule.fired < 20
