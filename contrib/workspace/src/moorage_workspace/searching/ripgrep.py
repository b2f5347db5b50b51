"""ripgrep as a sieve: which files of a directory of this machine have to be looked at.

It only narrows down. What it names is read again through the workspace's filesystem and matched by the one engine that
there is, so its results are the same with and without it, and nothing that it saw can get out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import Process

from moorage_workspace.ignoring import GITIGNORE, LARGEST, MOST_RULES, REPOSITORY, pattern_lines
from moorage_workspace.searching.expressions import NUL, Expression, for_ripgrep
from moorage_workspace.shown_names import ShownNames

_FOUND: Final = 0
_NOTHING_FOUND: Final = 1
_ALWAYS: Final = ("--no-config", "--no-follow", "--no-mmap", "--no-messages", "--color=never", "--null")
_OWN_RULES: Final = ("--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global", "--no-ignore-parent")
_SAME_TO_BOTH: Final = re.compile(
    rb"!?/?(?:\*\*/)?(?:(?:[A-Za-z0-9_.@+=,-]|\*(?!\*))+/)*(?:[A-Za-z0-9_.@+=,-]|\*(?!\*))*"
)
_EXTENSION: Final = re.compile(r"\*\.[A-Za-z0-9_]+")


class Ripgrep:
    """A program of this machine.

    Args:
        program: its absolute path.
    """

    def __init__(self, program: str) -> None:
        self.program = program

    async def sieve(
        self, expression: Expression, directory: str, *, hidden: bool, glob: str | None, names: ShownNames
    ) -> list[str] | None:
        """The files below ``directory``, as relative paths in no order, that have to be looked at, and maybe others;
        ``None`` where ripgrep cannot be relied on for this.
        """
        patterns = for_ripgrep(expression)
        if patterns is None:
            return None
        arguments = [f"--regexp={pattern}" for pattern in patterns]
        if not await self._may_follow_the_rules(directory, names):
            arguments += ["--no-ignore"]
        else:
            arguments += ["--no-require-git", *_OWN_RULES]
        if glob is not None and _EXTENSION.fullmatch(glob):
            arguments += [f"--glob={glob}"]
        hide = ["--hidden"] if hidden else []
        return await self._run(
            directory, "--files-with-matches", "--text", "--encoding=none", *hide, *arguments, "--", "./"
        )

    async def passes(self, expression: Expression, text: str) -> bool:
        """Whether :meth:`sieve` would let a file with this text through. A NUL in it means nothing."""
        patterns = [f"--regexp={pattern}" for pattern in for_ripgrep(expression) or () if pattern != NUL]
        arguments = ["--count", "--text", "--encoding=none", *patterns, "--", "-"]
        try:
            done = await anyio.run_process(
                [argument.encode() for argument in (self.program, *_ALWAYS, *arguments)],
                input=text.encode(),
                stderr=subprocess.DEVNULL,
                check=False,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except (OSError, anyio.BrokenResourceError):
            return True
        return done.returncode != _NOTHING_FOUND

    async def _may_follow_the_rules(self, directory: str, names: ShownNames) -> bool:
        """Whether every ``.gitignore`` below means the same to ripgrep as it means to git, and no name holds a secret:
        ripgrep holds rules against the name itself.
        """
        everything = ("--files", "--hidden", "--no-ignore", f"--glob=!{REPOSITORY}", "--", "./")
        output = await self._output(directory, *everything)
        if output is None:
            return False
        if f"/{GITIGNORE}\0".encode() not in output:
            return True
        return await to_thread.run_sync(_may_follow_the_rules, directory, output, names)

    async def _run(self, directory: str, *arguments: str) -> list[str] | None:
        output = await self._output(directory, *arguments)
        return None if output is None else [name.removeprefix("./") for name in _names(output)]

    async def _output(self, directory: str, *arguments: str) -> bytes | None:
        try:
            process = await anyio.open_process(
                [argument.encode() for argument in (self.program, *_ALWAYS, *arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
                cwd=directory,
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            assert process.stdout is not None  # noqa: S101 (it is a pipe)
            output = b"".join([chunk async for chunk in process.stdout])
            code = await process.wait()
        finally:
            await _end(process)
        return output if code in (_FOUND, _NOTHING_FOUND) else None


def _names(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _may_follow_the_rules(directory: str, output: bytes, names: ShownNames) -> bool:
    present = _names(output)
    rules = [Path(directory, name) for name in present if name.endswith(f"/{GITIGNORE}")]
    return all(map(_same_to_both, rules)) and names.show("\n".join(present))


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.wait()
        await process.aclose()


def _same_to_both(path: Path) -> bool:
    """Whether git and ripgrep read this file alike: plain names and stars, no sets, escapes or braces."""
    try:
        content = path.read_bytes() if path.stat().st_size < LARGEST else b"\\"
    except OSError:
        return False
    if content.count(b"\n") >= MOST_RULES:
        return False
    return content.isascii() and all(
        _SAME_TO_BOTH.fullmatch(line.removesuffix(b"/**")) is not None for line in pattern_lines(content)
    )


@lru_cache(maxsize=1)
def find_ripgrep() -> Ripgrep | None:
    """The ``rg`` on the search path, or the one that was installed beside this interpreter."""
    beside = os.path.dirname(sys.executable)
    directories = [*os.environ.get("PATH", os.defpath).split(os.pathsep), beside]
    program = shutil.which("rg", path=os.pathsep.join(part for part in directories if os.path.isabs(part)))
    return None if program is None else Ripgrep(program)
