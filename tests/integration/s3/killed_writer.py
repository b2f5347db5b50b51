"""A writer that is in the middle of an upload for as long as nobody kills it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from moorage_s3 import S3Filesystem


async def endless() -> AsyncIterator[bytes]:
    for _ in range(12):
        yield bytes(1 << 20)
    print("uploading", flush=True)
    await asyncio.sleep(60)


async def main(endpoint: str, prefix: str) -> None:
    async with S3Filesystem("bucket1", prefix, None, endpoint, "testkey", "testsecret", part_size=5 << 20) as fs:
        await fs.write_stream("/large", endless())


asyncio.run(main(*sys.argv[1:]))
