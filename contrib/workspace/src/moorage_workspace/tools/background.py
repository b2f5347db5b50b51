"""What an application hears of the background processes that an agent starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, Protocol, cast

import anyio

from moorage import ConfigError
from moorage_workspace.errors import SandboxError
from moorage_workspace.redaction import Gate
from moorage_workspace.sandbox.detached import start_detached
from moorage_workspace.sandbox.port import CommandResult, Processes

_log: Final = logging.getLogger("moorage.workspace")


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
    """

    on_stdout: OnData | None = None
    on_stderr: OnData | None = None
    on_exit: Callable[[ProcessEvent], None] | None = None
    abort_signal: AbortEvent | Literal["session", False] | None = "session"

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
    given = cast("Mapping[str, object]", option) if isinstance(option, Mapping) else None
    known = {field.name for field in fields(BackgroundProcesses)}
    if given is None or not set(given) <= known:
        raise ConfigError(f"background_processes takes a mapping with {', '.join(sorted(known))}")
    return BackgroundProcesses(**given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Listener:
    """Passes what one process says to the application; what comes before its pid is known waits for that."""

    def __init__(self, wanted: BackgroundProcesses, gate: Gate) -> None:
        self.over = anyio.Event()
        self._wanted = wanted
        self._gate = gate
        self._out, self._err = gate.stream(), gate.stream()
        self._pid: int | None = None
        self._waiting: list[Callable[[int], None]] = []

    @property
    def pid(self) -> int | None:
        return self._pid

    def begin(self, pid: int) -> None:
        self._pid = pid
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(pid)

    def on_stdout(self, text: str) -> None:
        self._data(self._wanted.on_stdout, self._out.feed(text))

    def on_stderr(self, text: str) -> None:
        self._data(self._wanted.on_stderr, self._err.feed(text))

    def on_exit(self, result: CommandResult) -> None:
        self._data(self._wanted.on_stdout, self._out.finish())
        self._data(self._wanted.on_stderr, self._err.finish())
        self.over.set()
        on_exit = self._wanted.on_exit
        if on_exit is not None:
            stdout, stderr = self._gate.redact(result.stdout), self._gate.redact(result.stderr)
            self._tell(lambda pid: on_exit(ProcessEvent(pid, result.exit_code, stdout, stderr)))

    def _data(self, callback: OnData | None, text: str) -> None:
        if callback is not None and text:
            self._tell(lambda pid: callback(text, ProcessEvent(pid)))

    def _tell(self, tell: Callable[[int], None]) -> None:
        def safely(pid: int) -> None:
            try:
                tell(pid)
            except Exception:
                _log.exception("a function of background_processes failed")

        if self._pid is None:
            self._waiting.append(safely)
        else:
            safely(self._pid)


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
