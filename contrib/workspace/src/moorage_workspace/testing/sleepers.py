"""Processes that can be told from all others on the machine, to see whether any is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio

_PATIENCE = 60.0
_PAUSE = 0.02


class Sleepers:
    """Gives commands ``sleep`` with numbers that nothing else on the machine sleeps for.

    Args:
        list_processes: the command lines of all processes that may be the sandbox's, by pid.
    """

    def __init__(self, list_processes: Callable[[], Mapping[int, str]]) -> None:
        self._list_processes = list_processes
        self._numbers: list[str] = []

    def one(self) -> str:
        """A command that sleeps for years."""
        number = str(random.randrange(100_000_000, 999_999_999))
        self._numbers.append(number)
        return f"sleep {number}"

    def alive(self) -> list[str]:
        """Those that run."""
        running = "\n".join(self._list_processes().values())
        return [number for number in self._numbers if number in running]

    def end(self) -> None:
        """Kill those that a sandbox which does not conform has left on this machine."""
        for pid, command in self._list_processes().items():
            if any(number in command for number in self._numbers):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def all_awake(self) -> None:
        """Until each of them runs, and there are any."""
        await self._until(
            lambda: bool(self._numbers) and len(self.alive()) == len(self._numbers), "are not all started"
        )

    async def all_gone(self) -> None:
        """Until none of them is left; fails where some stay."""
        await self._until(lambda: not self.alive(), "are still there")

    async def _until(self, holds: Callable[[], bool], complaint: str) -> None:
        with anyio.move_on_after(_PATIENCE):
            while not holds():  # noqa: ASYNC110 (nobody tells when a process has come or gone)
                await anyio.sleep(_PAUSE)
            return
        raise AssertionError(f"of {self._numbers}, {self.alive()} run: they {complaint}")


def processes_of_this_machine() -> dict[int, str]:
    """Every process that may sleep, by pid; those in a container of this machine are among them."""
    if Path("/proc/self/cmdline").exists():
        return dict(_sleeping(Path("/proc").glob("[0-9]*")))
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True)  # noqa: S607
    return {int(line.split()[0]): line for line in listed.stdout.splitlines()}


def _sleeping(directories: Iterable[Path]) -> Iterable[tuple[int, str]]:
    for directory in directories:
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if words[0].endswith((b"sleep", b"busybox")):
            yield int(directory.name), b" ".join(words).decode(errors="replace")
