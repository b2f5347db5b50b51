"""Processes that can be told from all others on the machine, to see whether any is left."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path


class Sleepers:
    """Commands that sleep for numbers of seconds that nothing else sleeps for."""

    def __init__(self) -> None:
        self._numbers: list[str] = []

    def one(self) -> str:
        """A command that sleeps for years."""
        self._numbers.append(str(random.randrange(100_000_000, 999_999_999)))
        return f"sleep {self._numbers[-1]}"

    def running(self) -> int:
        """How many of them run."""
        lines = _command_lines()
        return sum(any(number in line and line.startswith("sleep") for line in lines) for number in self._numbers)


def _command_lines() -> list[str]:
    if not Path("/proc/self/cmdline").exists():
        listed = ["/bin/ps", "-A", "-ww", "-o", "args="]
        return subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    found: list[str] = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            found.append((directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has just ended
    return found
