"""One command with its supervisor: started, listened to, ended, and reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import anyio

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.detached import closed, current_loop, start_detached
from moorage_workspace.sandbox.port import CommandResult, ExecuteOptions
from moorage_workspace.sandbox.retained import Retained
from moorage_workspace.sandbox.starting import start_in_thread
from moorage_workspace.sandbox.supervisors import (
    GRACE_SECONDS,
    PIPE_BYTES,
    Answer,
    Ends,
    Order,
    answer,
    discard,
)

_DRAIN_SECONDS: Final = 10.0
"""For the rest of the output once nothing is left that could write more."""
_GIVE_UP_SECONDS: Final = 60.0
"""For a supervisor to end what it was told to; only processes stuck in the kernel take longer."""
_WAKING_SECONDS: Final = 0.05
"""Between two attempts to wake a supervisor, which a command that is not isolated can stop."""
_KILLED: Final = 128 + signal.SIGKILL
_NO_COMMAND: Final = 126
_NOT_STARTED: Final = "the command could not be started: {}"


class SupervisedCommand:
    """A running or ended command.

    Made by :meth:`start`; from then on a task of its own reads what it prints and notices its end, so that nobody needs
    to wait for it. It is ended with the event loop, and with this process.
    """

    def __init__(self, ends: Ends, options: ExecuteOptions, time_limit: float | None, *, keep_stdin: bool) -> None:
        self.over = anyio.Event()
        self._ends = ends
        self._stdout = Retained(options.max_retained_bytes, options.on_stdout)
        self._stderr = Retained(options.max_retained_bytes, options.on_stderr)
        self._time_limit = time_limit
        self._given = options.stdin
        self._keep_stdin = keep_stdin
        self._writing = anyio.Lock()
        self._attended = anyio.Event()
        self._ending = anyio.Event()
        self._heard = anyio.Event()
        self._loop = current_loop()
        self._timed_out = False
        self._answer: Answer | None = None
        self._started = time.monotonic()
        self._duration = 0.0
        self._on_over: Callable[[SupervisedCommand], None] | None = None

    @classmethod
    async def start(
        cls,
        order: Callable[[], Order],
        options: ExecuteOptions,
        time_limit: float | None,
        *,
        keep_stdin: bool = False,
        on_over: Callable[[SupervisedCommand], None] | None = None,
    ) -> SupervisedCommand:
        """Start the supervisor with an order, which is made in a worker thread.

        Raises:
            SandboxError: it could not be started.
        """
        piped = keep_stdin or options.stdin is not None
        ends = await start_in_thread(order, piped=piped)
        command = cls(ends, options, time_limit, keep_stdin=keep_stdin)
        command._on_over = on_over
        start_detached(command._attend)
        try:
            with anyio.CancelScope(shield=True):
                await command._attended.wait()
        except BaseException:  # an event loop's own cancelling knows no shield
            command.end()
            raise
        return command

    def end(self) -> None:
        """Have it and all that came of it ended. Returns at once; ``over`` says when it is done. Idempotent."""
        if not self._ending.is_set() and not self.over.is_set():
            with suppress(OSError):
                self._ends.channel.shutdown(socket.SHUT_WR)
            if not closed(self._loop):
                self._ending.set()

    async def finish(self) -> CommandResult:
        """Wait for its end; a caller that is cancelled takes it along.

        Raises:
            SandboxError: it never came to run.
        """
        try:
            await self.over.wait()
        finally:
            if not self.over.is_set():
                await self.ended()
        if self._answer is not None and self._answer.failure is not None:
            raise SandboxError(_NOT_STARTED.format(self._answer.failure))
        return self.result()

    async def ended(self) -> CommandResult:
        """End it, and wait until it is, cancelled or not."""
        self.end()
        with anyio.CancelScope(shield=True):
            if closed(self._loop) and not self.over.is_set():
                await anyio.to_thread.run_sync(self._settle_without_loop)
            await self.over.wait()
        return self.result()

    def result(self) -> CommandResult:
        """As far as it has come; the exit code is -1 while it runs."""
        stdout, dropped_stdout = self._stdout.text()
        stderr, dropped_stderr = self._stderr.text()
        answer = self._answer or Answer(code=-1)
        if answer.failure is not None:
            stderr = _NOT_STARTED.format(answer.failure) + "\n"
        return CommandResult(
            exit_code=_NO_COMMAND if answer.code is None else answer.code,
            stdout=stdout,
            stderr=stderr,
            duration=self._duration if self.over.is_set() else time.monotonic() - self._started,
            timed_out=answer.killed and self._timed_out,
            killed=answer.killed,
            dropped_stdout=dropped_stdout,
            dropped_stderr=dropped_stderr,
        )

    async def write_stdin(self, data: bytes, *, close: bool) -> None:
        """Raises: SandboxError where standard input is closed."""
        async with self._writing:
            descriptor = self._ends.stdin
            if descriptor is None or not self._keep_stdin:
                raise SandboxError("standard input of this process is closed")
            try:
                await _write(descriptor, data)
            except BrokenPipeError:
                self._close_stdin()
                raise SandboxError("the process no longer reads its standard input") from None
            if close:
                self._close_stdin()

    async def _attend(self) -> None:
        """Until it is over, in a task of its own. The event loop's end cancels it, which ends the command."""
        try:
            await self._until_over()
        finally:
            if self._answer is None:
                self.end()
                with anyio.CancelScope(shield=True):
                    await self._until_over()
            await self._settle()

    async def _until_over(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._insist)
            tasks.start_soon(self._keep_time)
            tasks.start_soon(self._give_stdin)
            async with anyio.create_task_group() as drains:
                drains.start_soon(self._drain, self._ends.stdout, self._stdout)
                drains.start_soon(self._drain, self._ends.stderr, self._stderr)
                await self._hear()
                self._heard.set()
                # Only a process that got away, where such a thing is possible, still holds the pipes after that.
                drains.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS
            tasks.cancel_scope.cancel()

    async def _drain(self, descriptor: int, stream: Retained) -> None:
        while True:
            await anyio.wait_readable(descriptor)
            data = os.read(descriptor, PIPE_BYTES)
            if not data:
                return
            if (room := stream.feed(data)) is not None:
                await self._make_it_wait(room)

    async def _make_it_wait(self, room: Awaitable[object]) -> None:
        """Until there is room for more of its output; what it said until its end is taken at once, for it is little."""
        async with anyio.create_task_group() as tasks:

            async def until_its_end() -> None:
                await self._heard.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(until_its_end)
            await room
            tasks.cancel_scope.cancel()

    async def _hear(self) -> None:
        """The supervisor's answer; without one it was itself killed, and its command is to follow it."""
        heard = bytearray()
        while True:
            await anyio.wait_readable(self._ends.channel)
            data = self._ends.channel.recv(1 << 16)
            if not data:
                break
            heard += data
        said = answer(bytes(heard))
        if said.code is None and said.failure is None:
            if said.pid is not None:
                with suppress(OSError):
                    os.killpg(said.pid, signal.SIGKILL)
            said = Answer(code=_KILLED, killed=True)
        self._answer = said

    async def _keep_time(self) -> None:
        if self._time_limit is not None:
            await anyio.sleep(self._time_limit)
            self._timed_out = not self._ending.is_set()
            self.end()

    async def _insist(self) -> None:
        await self._ending.wait()
        with anyio.move_on_after(GRACE_SECONDS + _GIVE_UP_SECONDS):
            while True:
                self._ends.supervisor.send_signal(signal.SIGCONT)
                await anyio.sleep(_WAKING_SECONDS)
        self._ends.supervisor.kill()

    async def _give_stdin(self) -> None:
        async with self._writing:
            self._attended.set()
            if self._given is not None and self._ends.stdin is not None:
                with suppress(OSError):
                    await _write(self._ends.stdin, self._given)
            if not self._keep_stdin:
                self._close_stdin()

    async def _settle(self) -> None:
        # The channel's end came with the supervisor's own, so that this does not wait.
        self._ends.supervisor.wait()
        self._ends.channel.close()
        os.close(self._ends.stdout)
        os.close(self._ends.stderr)
        with anyio.move_on_after(_DRAIN_SECONDS, shield=True):
            async with self._writing:
                self._close_stdin()
        self._stdout.close()
        self._stderr.close()
        self._duration = time.monotonic() - self._started
        self.over.set()
        if self._on_over is not None:
            self._on_over(self)

    def _settle_without_loop(self) -> None:
        """Its event loop was closed with its task unfinished: nobody else will. Blocks."""
        self._ends.supervisor.send_signal(signal.SIGCONT)
        try:
            self._ends.supervisor.wait(GRACE_SECONDS + _GIVE_UP_SECONDS)
        except subprocess.TimeoutExpired:
            self._ends.supervisor.kill()
        discard(self._ends)
        self._ends.stdin = None
        self._answer = Answer(code=_KILLED, killed=True)
        self._duration = time.monotonic() - self._started
        with suppress(RuntimeError):  # who waits for it in that loop is not woken any more
            self.over.set()

    def _close_stdin(self) -> None:
        descriptor, self._ends.stdin = self._ends.stdin, None
        if descriptor is not None:
            os.close(descriptor)


async def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        await anyio.wait_writable(descriptor)
        with suppress(BlockingIOError):
            rest = rest[os.write(descriptor, rest) :]
