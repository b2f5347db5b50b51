"""The background processes of a container sandbox."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from moorage_workspace.errors import NoProcessError, SandboxError
from moorage_workspace.sandbox.container_run import ContainerRun
from moorage_workspace.sandbox.detached import start_detached
from moorage_workspace.sandbox.given import checked_command
from moorage_workspace.sandbox.port import CommandResult, Processes, ProcessInfo, SpawnOptions

_log: Final = logging.getLogger("moorage.workspace")
_MOST_REMEMBERED: Final = 32
"""Processes that have ended and can still be asked about; each may hold 2 MiB of output."""

Prepare = Callable[[str, Sequence[str] | None, SpawnOptions], Awaitable[ContainerRun]]


@dataclass(slots=True, kw_only=True)
class _Record:
    pid: int
    command: str
    run: ContainerRun
    on_exit: Callable[[CommandResult], None] | None
    started_at: float = field(default_factory=time.time)
    begun: float = field(default_factory=time.monotonic)
    over: anyio.Event = field(default_factory=anyio.Event)
    result: CommandResult | None = None
    failure: SandboxError | None = None


class ContainerProcesses(Processes):
    """Each runs in a task of its own, which outlives the call that started it."""

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._records: dict[int, _Record] = {}
        self._last = 0

    async def spawn(self, command: str, args: Sequence[str] | None = None, options: SpawnOptions | None = None) -> int:
        options = checked_command(command, args, options, SpawnOptions)
        run = await self._prepare(command, args, options)
        self._last += 1
        words = " ".join([command, *args]) if args is not None else command
        record = _Record(pid=self._last, command=words, run=run, on_exit=options.on_exit)
        start_detached(lambda: self._attend(record))
        try:
            await run.launched.wait()
        except BaseException:
            run.end()
            raise
        if not run.started:
            with anyio.CancelScope(shield=True):
                await record.over.wait()
            if record.failure is not None:
                raise record.failure
        self._records[record.pid] = record
        self._forget()
        return record.pid

    async def list(self) -> tuple[ProcessInfo, ...]:
        return tuple(_info(record) for record in self._records.values())

    async def get(self, pid: int) -> ProcessInfo:
        return _info(self._record(pid))

    async def output(self, pid: int) -> CommandResult:
        record = self._record(pid)
        return record.result or record.run.so_far(time.monotonic() - record.begun)

    async def wait(self, pid: int) -> CommandResult:
        record = self._record(pid)
        await record.over.wait()
        return _result(record)

    async def kill(self, pid: int) -> CommandResult:
        record = self._record(pid)
        record.run.end()
        await record.over.wait()
        return _result(record)

    async def write_stdin(self, pid: int, data: bytes, *, close: bool = False) -> None:
        await self._record(pid).run.write(data, close=close)

    @property
    def running(self) -> int:
        return sum(not record.over.is_set() for record in self._records.values())

    async def end_all(self) -> None:
        """All at once; returns when the last is over."""
        records = tuple(self._records.values())
        for record in records:
            record.run.end()
        for record in records:
            await record.over.wait()

    def _record(self, pid: int) -> _Record:
        try:
            return self._records[pid]
        except KeyError:
            raise NoProcessError(f"no process of this sandbox has the pid {pid}") from None

    def _forget(self) -> None:
        ended = [pid for pid, record in self._records.items() if record.over.is_set()]
        for pid in ended[: max(len(ended) - _MOST_REMEMBERED, 0)]:
            del self._records[pid]

    async def _attend(self, record: _Record) -> None:
        try:
            record.result = await record.run.run()
        except SandboxError as error:
            record.failure = error
        except Exception:
            _log.exception("a background process could not be attended")
            record.failure = SandboxError("the process could not be attended")
        finally:
            record.over.set()
        if record.on_exit is not None and record.result is not None:
            try:
                record.on_exit(record.result)
            except Exception:
                _log.exception("a callback for a process's end failed")


def _info(record: _Record) -> ProcessInfo:
    return ProcessInfo(
        pid=record.pid,
        command=record.command,
        running=not record.over.is_set(),
        exit_code=record.result.exit_code if record.result is not None else None,
        started_at=record.started_at,
    )


def _result(record: _Record) -> CommandResult:
    if record.result is None:
        raise record.failure or SandboxError("the process was lost as the event loop ended")
    return record.result
