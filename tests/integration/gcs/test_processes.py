"""Eight processes count in one file: the number is exact, with faults too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.gcs.support import CHUNK
from tests.servers.faults import Action, DropRequest, DropResponse, Rule, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

PROGRAM = Path(__file__).parent / "counting.py"
ROUNDS = 20


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("faults", [False, True])
@pytest.mark.parametrize("size", [0, 1000, CHUNK])
def test_the_counter_is_exact(gcs_server: LocalGCSServer, gcs_proxy: Proxy, size: int, faults: bool) -> None:
    bucket = gcs_server.make_bucket()
    gcs_server.put("counter", b"%010d" % 0 + bytes(size), bucket=bucket)
    actions: tuple[Action, ...] = (
        DropResponse(),
        DropRequest(),
        gcs_error(503),
        gcs_error(503, after=True),
        gcs_error(429),
    )
    for seed, action in enumerate(actions if faults else ()):
        gcs_proxy.add(Rule(action, kind=("multipart_upload", "resumable_chunk"), probability=0.05, seed=seed))
    command = [sys.executable, str(PROGRAM), gcs_proxy.endpoint_url, bucket, str(ROUNDS), str(size)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    try:
        told = [int(each.communicate()[0]) for each in started]
    finally:
        for each in started:
            each.kill()
    assert [each.returncode for each in started] == [0] * 8
    held = int((gcs_server.get("counter", bucket=bucket) or b"")[:10])
    assert held == sum(told) == 8 * ROUNDS
