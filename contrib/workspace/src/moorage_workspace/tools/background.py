"""What an application hears of the background processes that an agent starts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Final, Literal, Protocol, cast

import anyio

from moorage_workspace.checks import OPTIONS
from moorage_workspace.errors import SandboxError
from moorage_workspace.redaction import Gate, StreamGate
from moorage_workspace.sandbox.detached import start_detached
from moorage_workspace.sandbox.port import CommandResult, Processes
from moorage_workspace.tools.steps import Steps

_log: Final = logging.getLogger("moorage.workspace")
_SLICE: Final = 1 << 16
"""Characters that are redacted at once."""
_BACKLOG: Final = 1 << 20
"""Characters that may wait for their redaction before the process has to."""


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """Whose output or end it is.

    Attributes:
        exit_code, stdout, stderr: of one that has ended; the streams as far as they were kept.
    """

    pid: int
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""


class AbortEvent(Protocol):
    """An event that ends a process once it is set, such as :class:`anyio.Event`."""

    async def wait(self) -> object: ...


OnData = Callable[[str, ProcessEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundProcesses:
    """The option ``background_processes`` of execute_command; a mapping with these keys will do.

    Functions are called in the event loop and must not block; what they get is redacted.

    Attributes:
        on_stdout, on_stderr: called with text and whose it is, as it comes.
        on_exit: called once with the exit code and both streams.
        abort_signal: ``"session"`` ends a process with the session that started it; ``None`` or ``False`` lets it
            outlive that, until the sandbox stops; an event ends it when the event is set.

    Raises:
        ConfigError: a value is of another kind.
    """

    on_stdout: OnData | None = None
    on_stderr: OnData | None = None
    on_exit: Callable[[ProcessEvent], None] | None = None
    abort_signal: AbortEvent | Literal["session", False] | None = "session"

    def __post_init__(self) -> None:
        for name in ("on_stdout", "on_stderr", "on_exit"):
            if getattr(self, name) is not None:
                OPTIONS.plain_function(f"background_processes.{name}", getattr(self, name))
        signal = self.abort_signal
        known = signal is None or signal is False or signal == "session"
        if not known and not callable(getattr(signal, "wait", None)):
            wanted = "'session', None, False, or an event with wait()"
            raise OPTIONS.wrong("background_processes.abort_signal", wanted, signal)

    @property
    def ends_with_session(self) -> bool:
        return self.abort_signal == "session"

    @property
    def abort_event(self) -> AbortEvent | None:
        if self.abort_signal is None or isinstance(self.abort_signal, str | bool):
            return None
        return self.abort_signal


def listening(option: object) -> BackgroundProcesses:
    """Raises: ConfigError, where the option is none of the sort."""
    if isinstance(option, BackgroundProcesses):
        return option
    known = [field.name for field in fields(BackgroundProcesses)]
    given = OPTIONS.mapping("background_processes", option, f"a mapping with {', '.join(known)}")
    for name in given:
        OPTIONS.known(name, known, "background_processes")
    return BackgroundProcesses(**given)


class Listener:
    """Passes what one process says to the application, in order, once its pid is known.

    Redaction is done in a worker thread, slice by slice, because it takes time in proportion to what a process says.
    One that says more than is redacted meanwhile is to wait: see what :meth:`on_stdout` returns.
    """

    def __init__(self, wanted: BackgroundProcesses, gate: Gate) -> None:
        self.over = anyio.Event()
        self._wanted = wanted
        self._gate = gate
        self._out, self._err = gate.stream(), gate.stream()
        self._pid: int | None = None
        self._steps = Steps(_BACKLOG)

    @property
    def pid(self) -> int | None:
        return self._pid

    def begin(self, pid: int) -> None:
        self._pid = pid
        start_detached(self._steps.run)

    def on_stdout(self, text: str) -> Awaitable[object] | None:
        """What it returns is done once there is room for more; nothing is lost where nobody awaits it."""
        return self._feed(self._wanted.on_stdout, self._out, text)

    def on_stderr(self, text: str) -> Awaitable[object] | None:
        return self._feed(self._wanted.on_stderr, self._err, text)

    def on_exit(self, result: CommandResult) -> None:
        self._steps.add(lambda: self._data(self._wanted.on_stdout, self._out.finish()))
        self._steps.add(lambda: self._data(self._wanted.on_stderr, self._err.finish()))
        self._steps.add(lambda: self._exit(result))
        self._steps.close()
        self.over.set()

    def _feed(self, callback: OnData | None, stream: StreamGate, text: str) -> Awaitable[object] | None:
        def show(piece: str) -> Callable[[], object] | None:
            return self._data(callback, stream.feed(piece))

        for piece in _slices(text):
            self._steps.add(partial(show, piece), len(piece))
        return self._steps.room

    def _data(self, callback: OnData | None, text: str) -> Callable[[], object] | None:
        if callback is None or not text:
            return None
        return lambda: callback(text, ProcessEvent(cast("int", self._pid)))

    def _exit(self, result: CommandResult) -> Callable[[], object] | None:
        on_exit = self._wanted.on_exit
        if on_exit is None:
            return None
        stdout, stderr = self._redacted(result.stdout), self._redacted(result.stderr)
        return lambda: on_exit(ProcessEvent(cast("int", self._pid), result.exit_code, stdout, stderr))

    def _redacted(self, text: str) -> str:
        stream = self._gate.stream()
        return "".join([*map(stream.feed, _slices(text)), stream.finish()])


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))


def end_when(event: AbortEvent, listener: Listener, processes: Processes) -> None:
    """End the process once the event is set; stop watching once it has ended."""

    async def watch() -> None:
        async with anyio.create_task_group() as group:

            async def aborted() -> None:
                await event.wait()
                try:
                    await processes.kill(cast("int", listener.pid))
                except SandboxError:
                    _log.exception("a background process could not be ended")

            group.start_soon(aborted)
            await listener.over.wait()
            group.cancel_scope.cancel()

    start_detached(watch)
