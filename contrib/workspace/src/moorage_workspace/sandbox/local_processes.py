"""Background processes of the local sandbox, by numbers of its own."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from moorage_workspace.errors import NoProcessError
from moorage_workspace.sandbox.given import checked_command
from moorage_workspace.sandbox.port import CommandResult, OnExit, Processes, ProcessInfo, SpawnOptions
from moorage_workspace.sandbox.supervised import SupervisedCommand

_log: Final = logging.getLogger("moorage.workspace")

FINISHED_KEPT: Final = 32
"""Of processes that have ended, how many are remembered: each may hold 2 MiB of output."""


class Launch(Protocol):
    """Starts a command in the sandbox."""

    def __call__(
        self,
        command: str,
        args: Sequence[str] | None,
        options: SpawnOptions,
        on_over: Callable[[SupervisedCommand], None],
    ) -> Awaitable[SupervisedCommand]: ...


@dataclass(frozen=True, slots=True)
class _Spawned:
    command: str
    started_at: float
    supervised: SupervisedCommand


class LocalProcesses(Processes):
    """See :class:`Processes`. The last processes that ended are remembered, :data:`FINISHED_KEPT` of them."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._numbers = itertools.count(1)
        self._spawned: dict[int, _Spawned] = {}

    @property
    def running(self) -> int:
        return sum(not spawned.supervised.over.is_set() for spawned in self._spawned.values())

    async def spawn(self, command: str, args: Sequence[str] | None = None, options: SpawnOptions | None = None) -> int:
        options = checked_command(command, args, options, SpawnOptions)
        started_at = time.time()

        def over(supervised: SupervisedCommand) -> None:
            if options.on_exit is not None:
                _tell(options.on_exit, supervised.result())
            self._forget()

        supervised = await self._launch(command, args, options, over)
        pid = next(self._numbers)
        self._spawned[pid] = _Spawned(" ".join([command, *(args or ())]), started_at, supervised)
        self._forget()
        return pid

    async def list(self) -> tuple[ProcessInfo, ...]:
        return tuple(self._info(pid) for pid in self._spawned)

    async def get(self, pid: int) -> ProcessInfo:
        self._find(pid)
        return self._info(pid)

    async def output(self, pid: int) -> CommandResult:
        return self._find(pid).result()

    async def wait(self, pid: int) -> CommandResult:
        supervised = self._find(pid)
        await supervised.over.wait()
        return supervised.result()

    async def kill(self, pid: int) -> CommandResult:
        return await self._find(pid).ended()

    async def write_stdin(self, pid: int, data: bytes, *, close: bool = False) -> None:
        await self._find(pid).write_stdin(data, close=close)

    def _find(self, pid: int) -> SupervisedCommand:
        spawned = self._spawned.get(pid)
        if spawned is None:
            raise NoProcessError(f"there is no process {pid}; list the processes, or start it again")
        return spawned.supervised

    def _info(self, pid: int) -> ProcessInfo:
        spawned = self._spawned[pid]
        over = spawned.supervised.over.is_set()
        return ProcessInfo(
            pid=pid,
            command=spawned.command,
            running=not over,
            exit_code=spawned.supervised.result().exit_code if over else None,
            started_at=spawned.started_at,
        )

    def _forget(self) -> None:
        finished = [pid for pid, spawned in self._spawned.items() if spawned.supervised.over.is_set()]
        for pid in finished[:-FINISHED_KEPT]:
            del self._spawned[pid]


def _tell(on_exit: OnExit, result: CommandResult) -> None:
    try:
        on_exit(result)
    except Exception:
        _log.exception("a callback for a process's end failed")
