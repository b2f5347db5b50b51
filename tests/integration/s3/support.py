"""Opening S3 filesystems over the test servers and the proxies before them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from moorage import ReadOnly
from moorage_s3 import S3Filesystem, S3Provider, probing

PART = 5 << 20
"""The smallest part that S3 takes."""


class Endpoint(Protocol):
    """A server, or a proxy before one."""

    @property
    def endpoint_url(self) -> str: ...


def filesystem(at: Endpoint, prefix: str | None = None, bucket: str = "bucket1", **options: Any) -> S3Filesystem:
    """A filesystem below a prefix of its own, retrying at once."""
    who = {"key": "testkey", "secret": "testsecret"}
    if any(name in options for name in ("key", "anonymous", "credentials")):
        who = {}
    prefix = f"t-{secrets.token_hex(6)}" if prefix is None else prefix
    return S3Filesystem(bucket, prefix, **{"endpoint_url": at.endpoint_url, "part_size": PART, **who, **options})


@asynccontextmanager
async def opened(
    at: Endpoint, prefix: str | None = None, bucket: str = "bucket1", **options: Any
) -> AsyncIterator[S3Filesystem]:
    """As :func:`filesystem`, open, and as if nothing were known of the store."""
    probing._found.clear()
    async with filesystem(at, prefix, bucket, **options) as fs:
        yield fs


def provider_of(fs: S3Filesystem) -> S3Provider:
    """The provider beneath the wrapper."""
    found = fs.provider.inner if isinstance(fs.provider, ReadOnly) else fs.provider
    assert isinstance(found, S3Provider)
    return found


async def probed(fs: S3Filesystem) -> S3Filesystem:
    """Has asked the store what it enforces, create-only puts included."""
    await fs.write_bytes("/.probed", b"", overwrite=False)
    return fs
