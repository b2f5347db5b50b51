"""Runs the blocks of a page, in order, in one directory and one namespace.

* ``python``: executed; with a bare ``await`` in an event loop of its own. A ``text`` block right after it is what it
  prints. One whose first line names a file (``# harbour.py``) is written there instead, for later blocks to use.
* ``toml``: written to the file that its first line names.
* ``console``: a line with ``$`` is run by a shell and must succeed; the lines after it, up to the next one, are what it
  prints. ``...`` stands for anything, alone for any lines. ``export`` holds for the rest of the page.
* ``sh``: what needs the network or takes minutes, and is not run: see ``NOT_RUN``.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import anyio
from tests.docs.blocks import Block

LANGUAGES: Final = frozenset({"python", "text", "toml", "console", "sh"})
NOT_RUN: Final = ("scripts/", "pip install ", "python -m pip install ")
_EXPORT: Final = re.compile(r"export (\w+)=(\S+)")
_TIME_LIMIT: Final = 120


class Page:
    """The namespace and directory of one page's run, and what its commands find in their environment."""

    def __init__(self, directory: Path, environment: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.namespace: dict[str, Any] = {"__name__": "__page__"}
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(directory),
            **(environment or {}),
        }

    def run(self, blocks: list[Block], *, shell: bool) -> None:
        """Run every block; without ``shell`` all but the ``console`` ones."""
        following = [block for _, block in pairwise([*blocks, None])]
        for block, after in zip(blocks, following, strict=True):
            if block.file is not None:
                target = self.directory / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                printed = self._execute(block)
                expected = after.text if after is not None and after.language == "text" else ""
                check_output(after or block, expected, printed)
            elif block.language == "console" and shell:
                for command, expected in commands_of(block):
                    check_output(block, expected, self._shell(block, command))

    def _execute(self, block: Block) -> str:
        padded = "\n" * (block.line - 1) + block.text
        code = compile(padded, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if code.co_flags & inspect.CO_COROUTINE:
                anyio.run(self._await, code)
            else:
                eval(code, self.namespace)
        return printed.getvalue()

    async def _await(self, code: Any) -> None:
        await eval(code, self.namespace)

    def _shell(self, block: Block, command: str) -> str:
        if exported := _EXPORT.fullmatch(command):
            self.environment[exported[1]] = exported[2]
            return ""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIME_LIMIT,
            check=False,
        )
        assert done.returncode == 0, f"{block.where}: $ {command}\nended with {done.returncode}:\n{done.stdout}"
        return done.stdout


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what it is said to print."""
    command, expected = "", ""
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:], ""
        elif not command:
            raise AssertionError(f"{block.where}: output before the first command")
        else:
            expected += f"{line}\n"
    yield command, expected


def check_output(block: Block, expected: str, printed: str) -> None:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "...\n" else ".*".join(re.escape(part) for part in line.split("..."))
        for line in expected.splitlines(keepends=True)
    )
    assert re.fullmatch(pattern, printed), f"{block.where}: expected\n{expected}\nbut it printed\n{printed}"
