"""Starts a server as a process, waits until it really serves, and ends it whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Final, TypeVar

ROOT: Final = Path(__file__).resolve().parents[2]
SUPERVISE: Final = Path(__file__).with_name("supervise.py")
POLL_SECONDS: Final = 0.05
T = TypeVar("T")


class ServerError(RuntimeError):
    """A server could not be started; the text ends with what it printed."""


class ServerEndedError(ServerError):
    """It ended instead of serving: perhaps another process took its port in between."""


def installed(program: str) -> Path:
    """The program's path in ``.venv-servers``.

    Raises:
        ServerError: it is not there.
    """
    path = ROOT / ".venv-servers" / "bin" / program
    if not path.exists():
        raise ServerError(f"{program} is not installed; run scripts/servers")
    return path


@contextmanager
def running(
    command: Sequence[str | Path],
    ready: Callable[[], bool],
    *,
    environment: Mapping[str, str] | None = None,
    start_seconds: float = 60,
    grace_seconds: float = 0.5,
) -> Iterator[None]:
    """The command, as a process that serves: ``ready`` said so. It is ended with the block, or with this process.

    ``ready`` may raise OSError for "not yet". Data of test servers are thrown away, hence the short time to say
    goodbye.

    Raises:
        ServerError: it ended, or was not ready in time.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISE), str(grace_seconds), *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**_inherited(), **(environment or {})},
            start_new_session=True,
        )
        try:
            _wait(process, ready, start_seconds, output)
            yield
        finally:
            _end(process, grace_seconds)


def enter_one(stack: ExitStack, attempt: Callable[[], AbstractContextManager[T]]) -> T:
    """Enter a new attempt, up to three, until one does not end at once."""
    for _ in range(2):
        with suppress(ServerEndedError):
            return stack.enter_context(attempt())
    return stack.enter_context(attempt())


def _inherited() -> dict[str, str]:
    """This environment, without what would give an S3 server other identities."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "S3_", "WEED_"))}


def _wait(process: subprocess.Popen[bytes], ready: Callable[[], bool], seconds: float, output: IO[bytes]) -> None:
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):
            if ready():
                return
        time.sleep(POLL_SECONDS)
    code = process.poll()
    output.seek(0)
    printed = output.read()[-4000:].decode(errors="replace")
    if code is None:
        raise ServerError(f"not ready after {seconds:g} s; it printed:\n{printed}")
    raise ServerEndedError(f"ended with exit code {code}; it printed:\n{printed}")


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(grace + 5)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
