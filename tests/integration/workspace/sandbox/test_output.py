"""Any amount of output, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import resource, sys, anyio
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def main():
    heard = 0

    def hear(text):
        nonlocal heard
        heard += len(text)

    sandbox = LocalSandbox(sys.argv[1], isolation=sys.argv[2], timeout=0)
    await sandbox.execute_command("head -c 4000000 /dev/zero", options=ExecuteOptions(on_stdout=hear))
    before, heard = peak(), 0
    both = "head -c 1000000000 /dev/zero & head -c 1000000000 /dev/zero >&2; wait"
    result = await sandbox.execute_command(both, options=ExecuteOptions(on_stdout=hear))
    kept = len(result.stdout) + result.dropped_stdout, len(result.stderr) + result.dropped_stderr
    print(result.exit_code, *kept, len(result.stdout), heard, peak() - before)
    await sandbox.destroy()

anyio.run(main, backend=sys.argv[3])
"""


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_two_gigabytes_of_output(directory: Path, isolation: str, loop: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(directory), isolation, loop], capture_output=True, text=True, check=True
    )
    code, stdout, stderr, retained, heard, grown_mib = map(int, done.stdout.split())
    assert (code, stdout, stderr) == (0, 1_000_000_000, 1_000_000_000)
    assert (retained, heard) == (1 << 20, 1_000_000_000)
    assert grown_mib < 40
