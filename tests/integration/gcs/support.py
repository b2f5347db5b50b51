"""What the tests of the GCS provider share: buckets of their own, and filesystems before a proxy that breaks things."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

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
