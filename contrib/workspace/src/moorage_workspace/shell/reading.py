"""Lines that a person types, or that a pipe or file brings."""

from __future__ import annotations

import os
import sys
from typing import Final

import anyio
import anyio.lowlevel

_CHUNK: Final = 65_536


class TypedLines:
    """Reads a descriptor line by line. No thread waits in it: a wait that is cancelled takes no line away."""

    def __init__(self, descriptor: int = 0, *, prompts: bool = True) -> None:
        self._descriptor = descriptor
        self._prompts = prompts
        self._rest = b""
        self._ended = False

    async def __call__(self, prompt: str) -> str | None:
        """Show the prompt and give the next line; ``None`` at the end."""
        self._prompt(prompt)
        while b"\n" not in self._rest and not self._ended:
            chunk = await self._read()
            self._rest += chunk
            self._ended = not chunk
        if not self._rest:
            self._prompt("\n")
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _prompt(self, text: str) -> None:
        if self._prompts:
            sys.stdout.write(text)
            sys.stdout.flush()

    async def _read(self) -> bytes:
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:  # a regular file, which never keeps anybody waiting
            await anyio.lowlevel.checkpoint()
        return os.read(self._descriptor, _CHUNK)
