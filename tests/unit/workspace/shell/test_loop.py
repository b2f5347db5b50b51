"""The loop, with a person who follows a script."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from rich.console import Console
from tests.unit.workspace.toys import tool

from moorage import MemoryFilesystem, RequestContext
from moorage_workspace import WORKSPACE_TOOLS, Output, Workspace
from moorage_workspace.shell.drawing import Screen
from moorage_workspace.shell.loop import Shell

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


class Terminal:
    """Types ``lines``, then Ctrl-D; keeps what was shown, prompts included."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.out = io.StringIO()
        self.screen = Screen(Console(file=self.out, force_terminal=False, width=80))
        self._lines = list(lines)

    async def read_line(self, prompt: str) -> str | None:
        self.out.write(f"{prompt}\n")
        return self._lines.pop(0) if self._lines else None

    @property
    def text(self) -> str:
        return self.out.getvalue()

    @property
    def unread(self) -> list[str]:
        return self._lines


@asynccontextmanager
async def shell(
    *typed: str, files: MemoryFilesystem | None = None, **options: Any
) -> AsyncGenerator[tuple[Shell, Terminal]]:
    workspace = Workspace(filesystem=files or MemoryFilesystem(), **options)
    terminal = Terminal(typed)
    async with workspace, workspace.session(RequestContext(who="me")) as session:
        made = Shell(session, terminal.screen, terminal.read_line)
        session.approver = made.approve
        yield made, terminal


async def test_a_person_lists_calls_and_leaves() -> None:
    typed = ("tools", "write_file /a.md 'one two'", "workspace_read_file\t/a.md", "", "  ", "quit", "never")
    async with shell(*typed) as (made, terminal):
        assert await made.run()
    assert "workspace_grep pattern" in terminal.text
    assert "     1→one two" in terminal.text
    assert terminal.unread == ["never"]
    assert terminal.text.count("agent> ") == 6


async def test_help_tells_of_the_shell_and_of_each_tool() -> None:
    async with shell("help", "help grep", "help  workspace_grep ", "help nothing", "instructions") as (made, terminal):
        assert not await made.run()
    assert "Ctrl-C ends the call" in terminal.text
    assert terminal.text.count('"pattern": {') == 2
    assert "there is no 'nothing'" in terminal.text


async def test_results_are_shown_as_data_when_asked_for() -> None:
    async with shell("structured on", "file_stat /", "structured off", "file_stat /") as (made, terminal):
        await made.run()
    assert terminal.text.count('"type": "directory"') == 1


async def test_mistakes_are_told_and_the_shell_goes_on() -> None:
    typed = ("reed /a", "\x1b[2J /a", "read_file", "read_file 'open", "read_file {", "read_file /missing", "mkdir /d")
    async with shell(*typed) as (made, terminal):
        assert not await made.run()
    assert "there is no 'reed'" in terminal.text
    assert "quote it" in terminal.text
    assert "no JSON object" in terminal.text
    assert "Error (invalid_arguments)" in terminal.text
    assert "Error (not_found)" in terminal.text
    assert "/d" in terminal.text.splitlines()[-2]
    assert "\x1b" not in terminal.text


@pytest.mark.parametrize(("lines", "well"), [(["mkdir /d", "file_stat /d"], True), (["file_stat", "mkdir /d"], False)])
async def test_given_lines_are_all_taken_and_none_is_asked_for(lines: list[str], well: bool) -> None:
    files = MemoryFilesystem()
    async with shell("never", files=files) as (made, terminal):
        assert await made.run(lines) is well
        assert await files.is_dir("/d")
    assert terminal.unread == ["never"]
    assert f"agent> {lines[0]}" in terminal.text


ASKING = {FILES.WRITE_FILE: {"require_approval": True}}


@pytest.mark.parametrize(
    ("answers", "written", "asked"),
    [
        (["y"], True, 1),
        (["YES "], True, 1),
        (["n"], False, 1),
        (["no"], False, 1),
        (["what?", "", "n"], False, 2),
        (["what?", "maybe", "y"], True, 3),
        ([], False, 1),
    ],
)
async def test_a_person_approves_or_does_not(answers: list[str], written: bool, asked: int) -> None:
    files = MemoryFilesystem()
    async with shell("write_file /out/a one", *answers, files=files, tools=ASKING) as (made, terminal):
        assert await made.run() is written
        assert await files.exists("/out/a") is written
    assert terminal.text.count("[y]es, [n]o, [a]lways (workspace_write_file under /out/**)?") == asked
    assert "+one" in terminal.text
    assert ("the person at the terminal said no" in terminal.text) is not written


async def test_always_means_what_was_shown() -> None:
    typed = ("write_file /out/a 1", "a", "write_file /out/b 2", "write_file /elsewhere 3", "n")
    async with shell(*typed, tools=ASKING) as (made, terminal):
        assert not await made.run()
    assert terminal.unread == []
    assert terminal.text.count("[y]es") == 2


async def test_a_hostile_rule_draws_nothing() -> None:
    files = MemoryFilesystem()
    name = "\u202efdp.exe"
    async with shell(f"write_file /{name}/f x", "y", files=files, tools=ASKING) as (made, terminal):
        await made.run()
        assert await files.exists(f"/{name}/f")
    assert "\u202e" not in terminal.text
    assert "under /\\u{202e}fdp.exe/**" in terminal.text


@pytest.mark.usefixtures("interruptible")
async def test_ctrl_c_ends_the_call_and_not_the_shell() -> None:
    ended: list[str] = []

    async def wait(call: Any, arguments: Any, plan: Any) -> Output:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("call")
        return Output("never")

    async with shell("toy_wait", "mkdir /d", extra_tools=[tool("toy_wait", act=wait)]) as (made, terminal):
        assert not await made.run()
        assert ended == ["call"]
    assert "interrupted\nagent> " in terminal.text
    assert "/d" in terminal.text


@pytest.mark.usefixtures("interruptible")
async def test_ctrl_c_at_a_question_approves_nothing() -> None:
    files = MemoryFilesystem()
    async with shell(files=files, tools=ASKING) as (made, terminal):

        async def interrupted(prompt: str) -> str | None:
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep_forever()
            return "y"

        made.session.approver = Shell(made.session, terminal.screen, interrupted).approve
        assert not await made.obey("write_file /a x")
        assert not await files.exists("/a")
    assert "interrupted" in terminal.text
