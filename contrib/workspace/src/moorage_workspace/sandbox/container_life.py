"""One container, from its start to its removal."""

from __future__ import annotations

import secrets
from subprocess import PIPE
from typing import Final, Self

import anyio
from anyio.abc import ByteReceiveStream, Process

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.container_arguments import ContainerSettings, remove_arguments, run_arguments
from moorage_workspace.sandbox.container_program import ContainerProgram

_STARTING: Final = 600.0
"""Seconds, since the image may have to be pulled."""
_ENDING: Final = 30.0
_LINE: Final = 4096


class Container:
    """A container that lives as long as the program that runs it, which lives as long as this process.

    Attributes:
        keeper: the pids of its own two processes.
    """

    def __init__(self, program: ContainerProgram, name: str, process: Process) -> None:
        self.program = program
        self.name = name
        self.keeper = ""
        self._process = process
        self._removed = False

    @classmethod
    async def start(cls, program: ContainerProgram, settings: ContainerSettings) -> Self:
        """Raises: SandboxError."""
        name = f"moorage-{secrets.token_hex(8)}"
        arguments = run_arguments(program.name, name, settings)
        try:
            process = await anyio.open_process([program.path, *arguments], stdin=PIPE, start_new_session=True)
        except OSError as error:
            raise program.failure("cannot be run", str(error).encode()) from None
        container = cls(program, name, process)
        try:
            await container._meet_keeper(settings.image)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await container.remove()
            raise
        return container

    @property
    def alive(self) -> bool:
        return not self._removed and self._process.returncode is None

    async def remove(self) -> None:
        """End everything in it, and it. Idempotent.

        Raises:
            SandboxError: the container program refuses, and the container is still there.
        """
        self._removed = True
        with anyio.CancelScope(shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            answer = await self.program.call(remove_arguments(self.name))
            gone = answer.code == 0 or b"no such container" in answer.stderr.lower()
            with anyio.move_on_after(_ENDING):
                await self._process.wait()
            await self._process.aclose()
            if not gone:
                raise self.program.failure("could not remove the container", answer.stderr)

    async def _meet_keeper(self, image: str) -> None:
        process = self._process
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        with anyio.move_on_after(_STARTING):
            line = await _line(process.stdout)
            pids = line.split()
            if len(pids) == 2 and all(pid.isdigit() for pid in pids):
                if pids[0] != b"1":
                    raise SandboxError(f"{self.program.name} gives the container no processes of its own")
                self.keeper = line.decode()
                return
            raise self.program.failure(
                f"could not start a container of the image {image!r}", await _all(process.stderr)
            )
        raise SandboxError(f"{self.program.name} does not start the container")


async def _line(stream: ByteReceiveStream) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < _LINE:
        try:
            data += await stream.receive(_LINE)
        except anyio.EndOfStream:
            break
    return data.partition(b"\n")[0]


async def _all(stream: ByteReceiveStream) -> bytes:
    data = b""
    try:
        while len(data) < 1 << 16:
            data += await stream.receive()
    except anyio.EndOfStream:
        pass
    return data
