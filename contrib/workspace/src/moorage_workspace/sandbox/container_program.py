"""The command line of podman or docker: finding it, and calling it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import anyio

from moorage_workspace.errors import IsolationUnavailableError, SandboxError

ProgramName = Literal["podman", "docker"]

_log: Final = logging.getLogger("moorage.workspace")
_PROGRAMS: Final[tuple[ProgramName, ...]] = ("podman", "docker")
_PATIENCE: Final = 120.0
"""Seconds that one call of the program may take; a busy machine is slow to start containers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of the program came to."""

    code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class ContainerProgram:
    """One container program that works on this machine."""

    name: ProgramName
    path: str

    async def call(self, arguments: Sequence[str], *, stdin: bytes = b"") -> Answer:
        """Run it to its end.

        Raises:
            SandboxError: it took more than two minutes.
        """
        with anyio.move_on_after(_PATIENCE):
            done = await anyio.run_process([self.path, *arguments], input=stdin, check=False)
            return Answer(done.returncode, done.stdout, done.stderr)
        raise SandboxError(f"{self.name} does not answer")

    def failure(self, what: str, output: bytes) -> SandboxError:
        """An error that says what failed; the program's own words may name host paths, so they go to the log alone."""
        words = output.decode(errors="replace").strip()
        _log.warning("%s: %s: %s", self.name, what, words)
        return SandboxError(f"{self.name} {what}")


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program: its own, and the values that it is to pass on by name."""
    return {**os.environ, **values}


def find_program(wanted: ProgramName | None) -> ContainerProgram:
    """The program that was asked for, or else the first that works.

    Raises:
        IsolationUnavailableError: there is none, or it does not work here.
    """
    names = _PROGRAMS if wanted is None else (wanted,)
    for name in names:
        path = shutil.which(name)
        if path is not None and _works(name, path):
            return ContainerProgram(name, path)
    raise IsolationUnavailableError(
        f"no container program works here; install {' or '.join(names)}, and see that '{names[0]} version' succeeds"
    )


@lru_cache
def _works(name: ProgramName, path: str) -> bool:
    """docker's client alone is not enough: its version tells the server's too, and fails without one."""
    try:
        done = subprocess.run([path, "version"], capture_output=True, timeout=_PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
