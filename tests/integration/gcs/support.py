"""What the tests of the GCS provider share: buckets of their own, and filesystems before a proxy that breaks things."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import anyio
import anyio.to_thread
from tests.servers.faults import DropResponse, Rule, Stall, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import Filesystem
from moorage_gcs import GCSFilesystem

CHUNK: Final = 1 << 18
"""The smallest chunk of an upload in chunks: bodies above it are large ones here."""
SIZES: Final = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1, 5 * CHUNK // 2)


@asynccontextmanager
async def opened(server: LocalGCSServer | Proxy, bucket: str, **options: Any) -> AsyncIterator[GCSFilesystem]:
    """A filesystem on this bucket, open; it trusts the server unless told otherwise."""
    known: dict[str, Any] = {"chunk_size": CHUNK, "conditional_write": "atomic", "retries": 5, **options}
    async with GCSFilesystem(bucket, endpoint_url=server.endpoint_url, **known) as fs:
        yield fs


def pending(server: LocalGCSServer, bucket: str) -> list[str]:
    """Names of uploads to this bucket that were neither finished nor given up."""
    uploads = list(server.state.uploads.values())
    return [each.name for each in uploads if each.bucket == bucket and each.done is None and not each.gone]


def shift(server: LocalGCSServer, bucket: str, key: str, by: timedelta) -> None:
    """The store says that what is stored was made so much later."""
    objects = server.state.buckets[bucket].objects
    then = objects[key].created + by
    objects[key] = replace(objects[key], created=then, generation=int(then.timestamp() * 1e6))


def put_with_metadata(
    server: LocalGCSServer, bucket: str, key: str, metadata: Mapping[str, str], body: bytes = b"x"
) -> None:
    """Store an object as another program does."""
    described = json.dumps({"name": key, "metadata": metadata}).encode()
    whole = b"--B\r\n\r\n" + described + b"\r\n--B\r\n\r\n" + body + b"\r\n--B--"
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart"
    kind = {"Content-Type": "multipart/related; boundary=B"}
    assert server.request("POST", target, headers=kind, body=whole)[0] == 200


@asynccontextmanager
async def meanwhile(proxy: Proxy, write: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """The next question what is stored is held back until others have written."""
    release = threading.Event()
    proxy.reset()
    proxy.add(Rule(Stall(release=release), kind="get_metadata", times=1))

    async def others() -> None:
        await anyio.to_thread.run_sync(proxy.wait_for, "get_metadata")
        try:
            await write()
        finally:
            release.set()

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        yield


def losing(size: int) -> Rule:
    """The store makes an object of this size, and its answer does not say so."""
    if size > CHUNK:
        return Rule(gcs_error(410, after=True), kind="resumable_chunk", nth=2)
    return Rule(DropResponse(), kind="multipart_upload", nth=1)


async def read_and_write(fs: Filesystem, body: bytes) -> None:
    """As a program that never asks for the file's metadata."""
    async with fs.open_read("/file") as reader:
        version = reader.stat.version or ""
    await fs.write_bytes("/file", body, expected_version=version)


async def read_and_write_times(fs: Filesystem, times: int) -> None:
    for number in range(times):
        await read_and_write(fs, b"%02d" % number)
