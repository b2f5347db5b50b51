"""A launcher's first line, told apart from what the container program itself says and from the command's output."""

from __future__ import annotations

from typing import Final

import anyio

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.container_program import ContainerProgram
from moorage_workspace.sandbox.retained import Retained

_MOST_BEFORE: Final = 1 << 16


class Report:
    """Takes the container program's standard error, and passes on what the command wrote there.

    Attributes:
        launcher: the pid of the launcher; ``None`` while the command does not run.
        complete: set once that is known, either way.
    """

    def __init__(self, token: str, rest: Retained) -> None:
        self.launcher: int | None = None
        self.complete = anyio.Event()
        self._token = token.encode() + b" "
        self._rest = rest
        self._before = bytearray()
        self._refusal = b""

    def feed(self, data: bytes) -> None:
        if self.launcher is not None:
            self._rest.feed(data)
            return
        self._before += data
        start = self._before.find(self._token)
        end = self._before.find(b"\n", start)
        if start >= 0 and end >= 0:
            word = bytes(self._before[start + len(self._token) : end])
            self._read(word, bytes(self._before[end + 1 :]))
        else:
            del self._before[:-_MOST_BEFORE]

    def close(self) -> None:
        """Nothing more comes."""
        self._rest.close()
        self.complete.set()

    def failure(self, program: ContainerProgram, directory: str | None) -> SandboxError:
        """Why nothing ran."""
        if self._refusal == b"missing":
            return SandboxError("there is no such directory to run the command in", path=directory)
        if self._refusal == b"outside":
            return SandboxError("the directory to run the command in leads out of the workspace", path=directory)
        return program.failure("could not run the command in the container", bytes(self._before))

    def _read(self, word: bytes, rest: bytes) -> None:
        if not word.isdigit():
            self._refusal = word
            return
        self.launcher = int(word)
        self._before.clear()
        self.complete.set()
        if rest:
            self._rest.feed(rest)
