"""Uploads that are cancelled, fail or are killed leave no part of an object and no pending upload."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.integration.s3.support import PART, filesystem, opened, probed, provider_of
from tests.servers.faults import DropRequest, DropResponse, Rule, Stall, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import LimitExceededError, MoorageError, PermissionDeniedError
from moorage.testing import cancel_everywhere
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fs(seaweedfs: S3Server) -> AsyncIterator[S3Filesystem]:
    async with opened(seaweedfs) as fs:
        yield await probed(fs)


async def chunks(size: int = 2 * PART + 1) -> AsyncIterator[bytes]:
    for start in range(0, size, 1 << 20):
        yield bytes(min(1 << 20, size - start))


def pending(server: S3Server, fs: S3Filesystem) -> list[str]:
    prefix = provider_of(fs)._keys.prefix
    return [key for key in server.pending_uploads() if key.startswith(prefix)]


@pytest.mark.parametrize("native", [True, False], ids=["task", "scope"])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "bytes"])
async def test_cancelled_at_any_await_an_upload_leaves_nothing(
    fs: S3Filesystem, seaweedfs: S3Server, streams: bool, native: bool, request: pytest.FixtureRequest
) -> None:
    async def upload() -> None:
        if streams:
            await fs.write_stream("/large", chunks())
        else:
            await fs.write_bytes("/large", bytes(2 * PART + 1))

    async def prepare() -> None:
        await fs.write_bytes("/large", b"old")

    async def check(_: object) -> None:
        assert pending(seaweedfs, fs) == []
        assert (await fs.stat("/large")).size in (3, 2 * PART + 1)

    limit = None if request.config.getoption("--slow") else 10
    await cancel_everywhere(prepare, upload, check, limit=limit, native=native)


@pytest.mark.parametrize("kind", ["create_multipart_upload", "upload_part", "complete_multipart_upload"])
async def test_cancelled_while_the_store_does_not_answer(s3_proxy: Proxy, seaweedfs: S3Server, kind: str) -> None:
    async with opened(s3_proxy) as fs:
        await probed(fs)
        s3_proxy.add(Rule(Stall(0.3, after=True), kind=kind))
        task = asyncio.create_task(fs.write_bytes("/large", bytes(2 * PART)))
        await asyncio.to_thread(s3_proxy.wait_for, kind)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        s3_proxy.clear()
        await asyncio.sleep(0.4)
        assert pending(seaweedfs, fs) == []


@pytest.mark.parametrize("kind", ["create_multipart_upload", "upload_part", "complete_multipart_upload"])
async def test_a_refused_upload_is_aborted(s3_proxy: Proxy, seaweedfs: S3Server, kind: str) -> None:
    async with opened(s3_proxy) as fs:
        await probed(fs)
        s3_proxy.add(Rule(s3_error(403, "AccessDenied"), kind=kind))
        with pytest.raises(PermissionDeniedError):
            await fs.write_bytes("/large", bytes(2 * PART))
        assert pending(seaweedfs, fs) == []
        assert not await fs.exists("/large")


@pytest.mark.parametrize("is_completed", [True, False])
async def test_an_upload_that_was_begun_twice_leaves_none(
    s3_proxy: Proxy, seaweedfs: S3Server, is_completed: bool
) -> None:
    async with opened(s3_proxy) as fs:
        await probed(fs)
        key = f"{provider_of(fs)._keys.prefix}large"
        theirs = seaweedfs.request("POST", f"/bucket1/{key}x?uploads=")
        rule = s3_proxy.add(Rule(DropResponse(), kind="create_multipart_upload", nth=1))
        if is_completed:
            await fs.write_bytes("/large", bytes(2 * PART))
        else:
            s3_proxy.add(Rule(s3_error(403, "AccessDenied"), kind="complete_multipart_upload"))
            with pytest.raises(PermissionDeniedError):
                await fs.write_bytes("/large", bytes(2 * PART))
        assert rule.fired == 1
        assert theirs.status == 200
        assert pending(seaweedfs, fs) == [f"{key}x"]


async def test_a_beginner_of_long_ago_or_with_parts_is_left_alone(s3_proxy: Proxy, seaweedfs: S3Server) -> None:
    async with opened(s3_proxy) as fs:
        await probed(fs)
        key = f"{provider_of(fs)._keys.prefix}large"
        seaweedfs.request("POST", f"/bucket1/{key}?uploads=")
        await asyncio.sleep(2.1)
        busy = seaweedfs.request("POST", f"/bucket1/{key}?uploads=").body.decode()
        upload_id = busy.partition("<UploadId>")[2].partition("</UploadId>")[0]
        seaweedfs.request("PUT", f"/bucket1/{key}?partNumber=1&uploadId={upload_id}", body=b"x")
        s3_proxy.add(Rule(DropResponse(), kind="create_multipart_upload", nth=1))
        await fs.write_bytes("/large", bytes(2 * PART))
        assert pending(seaweedfs, fs) == [key, key]


async def test_a_source_that_fails_half_way_is_aborted(fs: S3Filesystem, seaweedfs: S3Server) -> None:
    async def failing() -> AsyncIterator[bytes]:
        async for chunk in chunks():
            yield chunk
        raise LimitExceededError("enough")

    with pytest.raises(LimitExceededError):
        await fs.write_stream("/large", failing())
    assert pending(seaweedfs, fs) == []
    assert not await fs.exists("/large")


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 1])
async def test_every_size_around_a_part_round_trips(fs: S3Filesystem, size: int) -> None:
    body = os.urandom(size)
    await fs.write_bytes("/bytes", body)
    assert await fs.read_bytes("/bytes") == body

    async def odd_chunks() -> AsyncIterator[bytes]:
        for start in range(0, size, 777_777):
            yield body[start : start + 777_777]

    await fs.write_stream("/stream", odd_chunks())
    assert await fs.read_bytes("/stream") == body


@pytest.mark.parametrize("body", [b"a\r\n--==0==--\r\nb", b"\x1f\x8b\x08\x00gzip", b"\x00" * 10, bytes(range(256))])
async def test_payloads_that_look_like_something_else(fs: S3Filesystem, seaweedfs: S3Server, body: bytes) -> None:
    await fs.write_bytes("/file", body)
    assert await fs.read_bytes("/file") == body
    key = f"{provider_of(fs)._keys.prefix}zipped"
    seaweedfs.put(key, body, headers={"content-encoding": "gzip"})
    assert await fs.read_bytes("/zipped") == body


async def test_parts_of_a_killed_writer_are_swept_when_asked(seaweedfs: S3Server) -> None:
    fs = filesystem(seaweedfs)
    script = Path(__file__).with_name("killed_writer.py")
    prefix = provider_of(fs)._keys.prefix
    writer = await asyncio.create_subprocess_exec(
        sys.executable, str(script), seaweedfs.endpoint_url, prefix, stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    assert (await writer.stdout.readline()).strip() == b"uploading"
    while not pending(seaweedfs, fs):  # noqa: ASYNC110 - another process's doing
        await asyncio.sleep(0.05)
    writer.send_signal(signal.SIGKILL)
    await writer.wait()
    async with fs:
        assert await provider_of(fs).sweep_leftovers(3600) == 0
        assert len(pending(seaweedfs, fs)) == 1
        await asyncio.sleep(1.1)
        assert await provider_of(fs).sweep_leftovers(0) == 1
        assert pending(seaweedfs, fs) == []
        assert await fs.list_dir("/") == []


async def test_an_upload_of_another_prefix_is_not_swept(fs: S3Filesystem, seaweedfs: S3Server) -> None:
    seaweedfs.request("POST", "/bucket1/elsewhere/x?uploads=")
    await asyncio.sleep(1.1)
    assert await provider_of(fs).sweep_leftovers(0) == 0
    assert "elsewhere/x" in seaweedfs.pending_uploads()


async def test_a_part_is_sent_again_alone(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy) as fs:
        await probed(fs)
        s3_proxy.reset()
        s3_proxy.add(Rule(DropRequest(), kind="upload_part", nth=2))
        await fs.write_bytes("/large", bytes(2 * PART + 1))
        assert s3_proxy.count("upload_part") == 4
        assert s3_proxy.count("complete_multipart_upload") == 1


async def test_a_bad_media_type_is_refused(fs: S3Filesystem) -> None:
    with pytest.raises(MoorageError):
        await fs.write_bytes("/file", b"", media_type="a/b\r\nx-evil: 1")
    assert not await fs.exists("/file")
