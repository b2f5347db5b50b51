"""Counts up a shared file, each step a read and a conditional write."""

from __future__ import annotations

import asyncio
import sys

from moorage import ConflictError, StaleFileError
from moorage_s3 import S3Filesystem


async def count(fs: S3Filesystem, padding: int) -> None:
    while True:
        async with fs.open_read("/counter") as reader:
            value, version = int((await reader.read())[:10]), reader.stat.version or ""
        try:
            await fs.write_bytes("/counter", b"%010d" % (value + 1) + bytes(padding), expected_version=version)
        except StaleFileError:
            continue
        except ConflictError as error:
            if not error.retryable:  # nobody can tell whether this step counted
                raise
            continue
        return


async def main(endpoint: str, prefix: str, times: str, padding: str) -> None:
    async with S3Filesystem("bucket1", prefix, None, endpoint, "testkey", "testsecret", retries=12) as fs:
        for _ in range(int(times)):
            await count(fs, int(padding))


asyncio.run(main(*sys.argv[1:]))
