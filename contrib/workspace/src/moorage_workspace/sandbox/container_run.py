"""One command in the container, from its start to the end of everything that it started."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from subprocess import DEVNULL, PIPE
from typing import Final, Protocol

import anyio
from anyio.abc import ByteReceiveStream, Process

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.container_arguments import (
    Command,
    launch_arguments,
    sweep_arguments,
    terminate_arguments,
    transported,
)
from moorage_workspace.sandbox.container_program import ContainerProgram, environment
from moorage_workspace.sandbox.container_report import Report
from moorage_workspace.sandbox.port import CommandResult, ExecuteOptions
from moorage_workspace.sandbox.retained import Retained

_GRACE: Final = 2.0
"""Seconds between asking processes to end and killing them."""
_SWEEPING: Final = 20.0
"""Seconds that killing may take before the whole container goes."""
_CHUNK: Final = 1 << 16
_SIGNALLED: Final = 128
_KILLED: Final = 137


class RunningContainer(Protocol):
    """What a run needs of the container that it is in."""

    program: ContainerProgram
    name: str
    keeper: str

    @property
    def alive(self) -> bool: ...

    async def remove(self) -> None:
        """End all that runs in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to run, and how."""

    program: tuple[str, ...]
    directory: str
    roots: tuple[str, ...]
    variables: Mapping[str, str]
    timeout: float | None
    options: ExecuteOptions
    keep_stdin: bool = False


class ContainerRun:
    """One command, run once by :meth:`run`.

    Cancelling :meth:`run` ends all its processes first. :meth:`end` does the same from another task, and then ``run``
    returns the result.
    """

    def __init__(self, container: RunningContainer, job: Job, on_over: Callable[[ContainerRun], None]) -> None:
        self._container = container
        self._on_over = on_over
        self._job = job
        self._identity, token = secrets.token_hex(16), secrets.token_hex(16)
        options = job.options
        self._stdout = Retained(options.max_retained_bytes, options.on_stdout)
        self._stderr = Retained(options.max_retained_bytes, options.on_stderr)
        self._report = Report(token, self._stderr)
        self._command = Command(
            token=token,
            identity=self._identity,
            keeper=container.keeper,
            directory=job.directory,
            roots=job.roots,
            variables=tuple(job.variables),
            program=job.program,
            stdin=job.keep_stdin or options.stdin is not None,
        )
        self._ending = anyio.Event()
        self._process: Process | None = None

    @property
    def launched(self) -> anyio.Event:
        """Set once the command runs, or is known not to."""
        return self._report.complete

    @property
    def started(self) -> bool:
        """The command was launched; it may have ended since."""
        return self._report.launcher is not None

    def end(self) -> None:
        """Ask for its end; :meth:`run` brings it about."""
        self._ending.set()

    async def write(self, data: bytes, *, close: bool) -> None:
        """Raises: SandboxError where standard input is closed."""
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None or not self._job.keep_stdin:
            raise SandboxError("standard input is closed")
        try:
            await stdin.send(data)
            if close:
                await stdin.aclose()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise SandboxError("standard input is closed") from None

    async def run(self) -> CommandResult:
        """Raises: SandboxError, where it could not be started."""
        begun = time.monotonic()
        try:
            process = self._process = await self._launch()
            try:
                timed_out = await self._attend(process)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._settle(process)
        finally:
            self._stdout.close()
            self._report.close()
            self._on_over(self)
        return self._result(process, time.monotonic() - begun, timed_out=timed_out)

    def so_far(self, duration: float) -> CommandResult:
        """What was retained of one that runs."""
        return self._outcome(-1, duration)

    async def _launch(self) -> Process:
        program = self._container.program
        try:
            return await anyio.open_process(
                [program.path, *launch_arguments(self._container.name, self._command)],
                env=environment(transported(self._job.variables.values())),
                stdin=PIPE if self._command.stdin else DEVNULL,
                start_new_session=True,  # an interrupt from the terminal is the application's, not the command's
            )
        except OSError as error:
            raise program.failure("cannot be run", str(error).encode()) from None

    async def _attend(self, process: Process) -> bool:
        """Move its streams until they close; whether time ran out."""
        timed_out = False
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        async with anyio.create_task_group() as group:
            group.start_soon(_pump, process.stdout, self._stdout.feed)
            group.start_soon(_pump, process.stderr, self._report.feed)
            group.start_soon(self._feed, process)
            with anyio.move_on_after(self._job.timeout) as limit:
                await self._over(process)
            timed_out = limit.cancelled_caught
            if process.returncode is None:
                await self._end_processes(process)
            group.cancel_scope.deadline = anyio.current_time() + _GRACE  # nobody is left who could write more
        return timed_out

    async def _over(self, process: Process) -> None:
        """Until it has ended, or :meth:`end` was called."""
        async with anyio.create_task_group() as group:

            async def asked() -> None:
                await self._ending.wait()
                group.cancel_scope.cancel()

            group.start_soon(asked)
            await process.wait()
            group.cancel_scope.cancel()

    async def _feed(self, process: Process) -> None:
        data = self._job.options.stdin
        if process.stdin is None or (data is None and self._job.keep_stdin):
            return
        try:
            await process.stdin.send(data or b"")
            if not self._job.keep_stdin:
                await process.stdin.aclose()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # it ended without reading it

    async def _end_processes(self, process: Process) -> None:
        """TERM, a while to obey, then KILL; where that fails, the container ends."""
        container = self._container
        launcher = self._report.launcher
        if launcher is not None and container.alive:
            asking = terminate_arguments(container.name, self._identity, container.keeper, launcher)
            await container.program.call(asking)
            with anyio.move_on_after(_GRACE):
                await process.wait()
        if process.returncode is None:
            await self._kill_processes()
            with anyio.move_on_after(_SWEEPING):
                await process.wait()

    async def _kill_processes(self) -> None:
        container = self._container
        if not container.alive:
            return
        with anyio.move_on_after(_SWEEPING):
            sweep = sweep_arguments(container.name, self._identity, container.keeper)
            if (await container.program.call(sweep)).code == 0:
                return
        await container.remove()

    async def _settle(self, process: Process) -> None:
        """Nothing of it is left, whatever happened."""
        if process.returncode is None:
            await self._end_processes(process)
        if process.returncode is None:
            process.kill()
        if process.returncode is None or process.returncode >= _SIGNALLED:
            await self._kill_processes()  # the launcher may have been killed before it could sweep
        await process.aclose()

    def _result(self, process: Process, duration: float, *, timed_out: bool) -> CommandResult:
        code = process.returncode if process.returncode is not None else _KILLED
        lost = not self._container.alive
        if self._report.launcher is None and not (lost or timed_out or self._ending.is_set()):
            raise self._report.failure(self._container.program, self._job.options.cwd)
        killed = lost or timed_out or self._ending.is_set()
        if killed and (code < 0 or self._report.launcher is None or lost):
            code = _KILLED
        return self._outcome(code, duration, timed_out=timed_out, killed=killed)

    def _outcome(self, code: int, duration: float, *, timed_out: bool = False, killed: bool = False) -> CommandResult:
        (stdout, dropped_stdout), (stderr, dropped_stderr) = self._stdout.text(), self._stderr.text()
        return CommandResult(
            exit_code=code,
            stdout=stdout,
            stderr=stderr,
            duration=duration,
            timed_out=timed_out,
            killed=killed,
            dropped_stdout=dropped_stdout,
            dropped_stderr=dropped_stderr,
        )


async def _pump(stream: ByteReceiveStream, take: Callable[[bytes], object]) -> None:
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            take(await stream.receive(_CHUNK))
