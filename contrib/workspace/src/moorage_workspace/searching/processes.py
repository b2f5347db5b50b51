"""The workers from their parent's side: made when first needed, a few at most, killed when a pattern takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Final, Protocol, Self

import anyio
from anyio import to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.searching.expressions import Expression, no_expression
from moorage_workspace.searching.frames import LENGTHS, Frame, pack, unpack
from moorage_workspace.searching.matching import Hit
from moorage_workspace.shown_names import ShownNames

_MOST: Final = 4
_PATIENCE: Final = 120.0
"""Seconds without an answer after which a worker counts as hung; a walk says that it goes on."""
_KEPT_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "HOME", "SYSTEMROOT")
_BROKEN: Final = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Matcher(Protocol):
    """Finds the lines of a text that an expression matches."""

    async def hits_in(self, text: str, limit: int) -> list[Hit]:
        """The first ``limit`` lines that match.

        Raises:
            ToolRefusedError: the pattern takes too long.
        """
        ...


class InProcess:
    """For an expression that cannot blow up: where the text is, without a process."""

    def __init__(self, expression: Expression) -> None:
        self._compiled = expression.compiled()

    async def hits_in(self, text: str, limit: int) -> list[Hit]:
        return self._compiled.hits_in(text, limit)


class Workers:
    """Processes for one expression, for the time of one search.

    Args:
        most_time: seconds of processor time that matching may take in all.
    """

    def __init__(self, expression: Expression, *, most_time: float) -> None:
        self._expression = expression
        self._required = expression.required
        self._most_time = most_time
        self._left = most_time
        self._free: list[_Worker] = []
        self._all: list[_Worker] = []
        self._most = min(_MOST, os.cpu_count() or 1)
        self._turns = anyio.Semaphore(self._most)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Kill what is still there; it holds nothing that could be lost."""
        with anyio.CancelScope(shield=True):
            for worker in self._all:
                await worker.end()

    async def check(self) -> None:
        """Compile the expression, where this can take no more than its time.

        Raises:
            ToolRefusedError: it is none, or takes too long.
        """
        async with self._worker():
            pass

    async def hits_in(self, text: str, limit: int) -> list[Hit]:
        async with self._worker() as worker:
            await worker.send(pack({"limit": limit, "left": self._left}, text.encode()))
            answer = await self._answer(worker)
        self._spend(answer.fields["spent"])
        return [(number, column) for number, column in answer.fields["hits"]]

    async def passes(self, text: str) -> bool:
        """Whether :meth:`sieve` would let a file with this text through, if the expression is not cheap."""
        return self._required.all_in(text)

    async def sieve(self, directory: str, *, hidden: bool, names: ShownNames) -> list[str] | None:
        """The files below a directory of this machine, as relative paths in no order, that have to be looked at;
        ``None`` where something there could not be read, or where that would take too much time, or where a name that
        is ignored holds a secret, which may be why. Each worker takes a share of the files.

        Only an expression that is cheap is matched; of any other it is asked what it requires, which takes the same
        time whatever a file holds.
        """
        cheap = self._expression.is_cheap
        if not (cheap or self._required.texts):
            return None
        found: list[str] = []
        ignored: list[str] = []
        request = {"directory": directory, "hidden": hidden, "left": self._left, "shares": self._most, "cheap": cheap}
        async with AsyncExitStack() as held:
            workers = [await held.enter_async_context(self._worker()) for _ in range(self._most)]
            for share, worker in enumerate(workers):
                await worker.send(pack({**request, "share": share}))
            whole = [await self._sieved(worker, found, ignored) for worker in workers]
        if not all(whole):
            return None
        masked = await to_thread.run_sync(names.masked, ignored)
        return None if masked else found

    async def _sieved(self, worker: _Worker, found: list[str], ignored: list[str]) -> bool:
        """Add what a worker finds; whether it could look everywhere. The others' answers wait in their pipes."""
        while True:
            fields = (await self._answer(worker)).fields
            if "troubled" in fields:
                return False
            found += fields["found"]
            ignored += fields["ignored"]
            if "done" in fields:
                self._spend(fields["spent"])
                return True

    @asynccontextmanager
    async def _worker(self) -> AsyncGenerator[_Worker]:
        async with self._turns:
            worker = self._free.pop() if self._free else None
            if worker is None:
                worker = await _Worker.start(self._expression, self._left)
                self._all.append(worker)
                ready = await self._answer(worker)
                if "invalid" in ready.fields:
                    raise no_expression(ready.fields["invalid"])
            yield worker
            self._free.append(worker)

    async def _answer(self, worker: _Worker) -> Frame:
        try:
            with anyio.fail_after(_PATIENCE):
                frame = await worker.receive()
        except TimeoutError:
            raise _ended_unexpectedly() from None
        if frame is None:
            raise self._too_costly()
        return frame

    def _spend(self, spent: float) -> None:
        self._left -= spent
        if self._left < 0:
            raise self._too_costly()

    def _too_costly(self) -> ToolRefusedError:
        return ToolRefusedError(
            f"matching the pattern took more than {self._most_time:g} s and was stopped. Avoid a repetition inside a "
            "repetition, such as (a+)+, or search fewer files with path and glob",
            refusal=Refusal.PATTERN,
        )


class _Worker:
    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdin is not None  # noqa: S101 (it is a pipe, as is the other)
        assert process.stdout is not None  # noqa: S101
        self._to = process.stdin
        self._from = BufferedByteReceiveStream(process.stdout)

    @classmethod
    async def start(cls, expression: Expression, left: float) -> Self:
        environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "moorage_workspace.searching.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONUTF8": "1"},
            cwd="/",
            start_new_session=True,
        )
        worker = cls(process)
        try:
            await worker.send(pack({**_told(expression), "left": left}))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await worker.end()
            raise
        return worker

    async def send(self, data: bytes) -> None:
        try:
            await self._to.send(data)
        except _BROKEN as error:
            raise _ended_unexpectedly() from error

    async def receive(self) -> Frame | None:
        """The next answer; ``None`` where the processor time was used up."""
        try:
            head, payload = LENGTHS.unpack(await self._from.receive_exactly(LENGTHS.size))
            return unpack(await self._from.receive_exactly(head), await self._from.receive_exactly(payload))
        except _BROKEN as error:
            if await self._process.wait() == -signal.SIGPROF:
                return None
            raise _ended_unexpectedly() from error

    async def end(self) -> None:
        """Kill and reap it."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._process.aclose()


def _told(expression: Expression) -> dict[str, object]:
    return {
        "pattern": expression.pattern,
        "of_text": expression.of_text,
        "ignore_case": expression.ignore_case,
        "required": expression.required.texts,
    }


def _ended_unexpectedly() -> ToolRefusedError:
    return ToolRefusedError(
        "the process that matches the pattern ended unexpectedly; try a simpler pattern",
        refusal=Refusal.PATTERN,
        retryable=True,
    )
