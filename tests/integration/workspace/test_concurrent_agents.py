"""Twenty agents in two processes edit shared files: every success that was reported is in the file, once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.servers.s3_server import S3Server

from moorage import Filesystem
from moorage_local import LocalFilesystem
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("editing_process.py")
FILES = [f"/shared-{number}.txt" for number in range(3)]


async def every_success_is_there(fs: Filesystem, rounds: int, *place: str) -> None:
    for path in FILES:
        await fs.write_text(path, "begin\nend\n")
    processes = [
        subprocess.Popen([sys.executable, PROGRAM, name, str(rounds), *place], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    outputs = [process.communicate(timeout=280)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    reported = Counter((path, mark) for output in outputs for path, mark in json.loads(output))
    found: Counter[tuple[str, str]] = Counter()
    for path in FILES:
        first, *marks, last = (await fs.read_text(path)).splitlines()
        assert (first, last) == ("begin", "end")
        found.update((path, mark) for mark in marks)
    assert found == reported
    assert len(reported) == 20 * rounds


async def test_on_local_disk(tmp_path: Path) -> None:
    async with LocalFilesystem(tmp_path) as fs:
        await every_success_is_there(fs, 5, "local", str(tmp_path))


async def test_on_s3(seaweedfs: S3Server) -> None:
    bucket = seaweedfs.make_bucket()
    fs = S3Filesystem(
        bucket, endpoint_url=seaweedfs.endpoint_url, access_key_id="testkey", secret_access_key="testsecret"
    )
    async with fs:
        await every_success_is_there(fs, 2, "s3", seaweedfs.endpoint_url, bucket)
