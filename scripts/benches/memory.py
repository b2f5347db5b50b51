"""Peak memory of one piece of work, measured in a process of its own."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Final

import anyio

_ROOT: Final = Path(__file__).parents[2]
_STATUS: Final = Path("/proc/self/status")
_UNIT: Final = 1 if sys.platform == "darwin" else 1024


async def peak(work: str, directory: Path, size: int) -> float:
    """MiB that ``work`` takes at its peak over the same process before it."""
    command = [sys.executable, "-m", "scripts.benches.probe", work, str(directory), str(size)]
    done = await anyio.run_process(command, cwd=_ROOT, stderr=None)
    return int(done.stdout) / (1 << 20)


def resident() -> int:
    """Bytes resident now; where the system does not tell, the most there ever were."""
    return _status("VmRSS:")


def most_resident() -> int:
    """The most bytes there ever were. Not ``ru_maxrss`` on Linux: a child inherits its parent's."""
    return _status("VmHWM:")


def _status(wanted: str) -> int:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
    return next(int(line.split()[1]) for line in lines if line.startswith(wanted)) * 1024
