"""One of several processes that count in one file: ``python counting.py ENDPOINT BUCKET ROUNDS SIZE``."""

from __future__ import annotations

import asyncio
import sys

from moorage import StaleFileError
from moorage_gcs import GCSFilesystem


async def count(endpoint: str, bucket: str, rounds: int, size: int) -> int:
    """How many increments were acknowledged; of each it is known."""
    wins = 0
    async with GCSFilesystem(bucket, "", endpoint, chunk_size=1 << 18, retries=12, name_checks=False) as fs:
        while wins < rounds:
            async with fs.open_read("/counter") as reader:
                value, version = int((await reader.read())[:10]), reader.stat.version or ""
            try:
                await fs.write_bytes("/counter", b"%010d" % (value + 1) + bytes(size), expected_version=version)
                wins += 1
            except StaleFileError:
                pass
    return wins


if __name__ == "__main__":
    print(asyncio.run(count(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
