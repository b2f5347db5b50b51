"""Counts up a shared file, each step a read and a conditional write."""

from __future__ import annotations

import asyncio
import sys

from moorage import ConflictError, StaleFileError
from moorage_s3 import S3Filesystem


async def count(fs: S3Filesystem) -> None:
    while True:
        async with fs.open_read("/counter") as reader:
            value, version = int(await reader.read()), reader.stat.version or ""
        try:
            await fs.write_bytes("/counter", str(value + 1).encode(), expected_version=version)
        except StaleFileError:
            continue
        except ConflictError as error:
            if not error.retryable:  # nobody can tell whether this step counted
                print("unclear", flush=True)
                return
            continue
        return


async def main(endpoint: str, prefix: str, times: str) -> None:
    async with S3Filesystem("bucket1", prefix, None, endpoint, "testkey", "testsecret", retries=12) as fs:
        for _ in range(int(times)):
            await count(fs)


asyncio.run(main(*sys.argv[1:]))
