"""Supervisors: a process for each command, which starts it, ends all that comes of it, and outlives nobody."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.cgroups import ControlGroup
from moorage_workspace.sandbox.isolation import Wrapper

_LAUNCH: Final = Path(__file__).with_name("launch.py")
_LOADER_VARIABLES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

PIPE_BYTES: Final = 1 << 20
GRACE_SECONDS: Final = 2.0
"""Between SIGTERM and SIGKILL."""


@dataclass(slots=True)
class Ends:
    """This process's ends of everything that connects it with a command."""

    supervisor: subprocess.Popen[bytes]
    channel: socket.socket
    stdout: int
    stderr: int
    stdin: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a supervisor is to run, and within what.

    Attributes:
        directory: where it starts; ``None`` where the wrapper sees to that.
        wrapper: the program that isolates it.
        limits: by the names of :mod:`resource`.
        groups: control groups to enter.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    directory: str | None = None
    wrapper: Wrapper | None = None
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    groups: tuple[ControlGroup, ...] = ()

    def message(self) -> bytes:
        groups = [{"directory": group.directory, "settings": dict(group.settings)} for group in self.groups]
        wrapper = self.wrapper and {
            "program": self.wrapper.program,
            "arguments": self.wrapper.arguments,
            "files": dict(self.wrapper.files),
        }
        fields = {
            "program": self.argv[0],
            "argv": list(self.argv),
            "env": dict(self.env),
            "directory": self.directory,
            "wrapper": wrapper,
            "limits": dict(self.limits),
            "groups": groups,
            "grace": GRACE_SECONDS,
            "parent": os.getpid(),
        }
        order = marshal.dumps(fields)
        return len(order).to_bytes(8, "big") + order


def start_supervisor(order: Order, *, piped: bool) -> Ends:
    """Start it with an order. It ends what it started when its channel is shut or this process ends.

    Args:
        piped: standard input is a pipe rather than empty.

    Raises:
        SandboxError: it could not be started.
    """
    try:
        with ExitStack() as ours, ExitStack() as theirs:
            ends = _start(order, ours, theirs, piped=piped)
            ours.pop_all()
            return ends
    except OSError as error:
        raise SandboxError(f"the command could not be started: {os.strerror(error.errno or 0)}") from None


def succeeds(order: Order, seconds: float) -> bool:
    """Whether the command ends with exit code 0 in time. Blocks."""
    ends = start_supervisor(order, piped=False)
    try:
        ends.channel.settimeout(seconds)
        with ends.channel.makefile("rb") as answers, suppress(TimeoutError):
            return answer(answers.read()).code == 0
        return False
    finally:
        discard(ends)


def discard(ends: Ends) -> None:
    """Have the command ended, whose output nobody wants, and close everything. Blocks until it is gone."""
    ends.channel.close()
    for descriptor in (ends.stdout, ends.stderr, ends.stdin):
        if descriptor is not None:
            os.close(descriptor)
    ends.supervisor.wait()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a supervisor said until its end.

    Attributes:
        pid: of the command, while it lives.
        code: its exit code, ``None`` where the supervisor was ended from elsewhere or could not start the command.
        killed: it was ended as asked.
        failure: why it could not be started.
    """

    pid: int | None = None
    code: int | None = None
    killed: bool = False
    failure: str | None = None


def answer(heard: bytes) -> Answer:
    said = Answer()
    for line in heard.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "pid":
            said = replace(said, pid=int(rest))
        elif word == "ended":
            code, killed = rest.split()
            said = replace(said, code=int(code), killed=killed == "1")
        else:
            said = replace(said, failure=rest)
    return said


def _start(order: Order, ours: ExitStack, theirs: ExitStack, *, piped: bool) -> Ends:
    channel, far = socket.socketpair()
    ours.callback(channel.close)
    theirs.callback(far.close)
    stdout, their_stdout = _pipe(ours, theirs)
    stderr, their_stderr = _pipe(ours, theirs)
    stdin, their_stdin = None, subprocess.DEVNULL
    if piped:
        their_stdin, stdin = os.pipe()
        theirs.callback(os.close, their_stdin)
        ours.callback(os.close, stdin)
        os.set_blocking(stdin, False)
    supervisor = _launch(far.fileno(), their_stdin, their_stdout, their_stderr)
    with suppress(BrokenPipeError):  # it is gone already, and the channel's end tells so
        channel.sendall(order.message())
    channel.setblocking(False)
    return Ends(supervisor, channel, stdout, stderr, stdin)


def _pipe(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    near, far = os.pipe()
    ours.callback(os.close, near)
    theirs.callback(os.close, far)
    os.set_blocking(near, False)
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # beyond what this user may have in pipes; the usual size does, too
            fcntl.fcntl(near, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return near, far


def _launch(channel: int, stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-I", "-S", str(_LAUNCH), str(channel)],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd="/",
        env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ},
        pass_fds=(channel,),
        start_new_session=True,
    )
