"""The loop: read a line, call a tool, show what a model would see."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

import anyio

from moorage import MoorageError
from moorage_workspace.approval import Approval, ApprovalRequest
from moorage_workspace.errors import Refusal
from moorage_workspace.results import ToolResult
from moorage_workspace.schemas import ToolDescription
from moorage_workspace.session import Session
from moorage_workspace.shell.drawing import PROMPT, on_one_line
from moorage_workspace.shell.parsing import parse_arguments

_HELP: Final = """\
TOOL {"path": "/plan.md"}     call a tool with a JSON object
TOOL /plan.md --limit 3       … or with words; the prefix workspace_ may be left out
tools                         the tools that a model is offered
help TOOL                     everything that a model is told of one
instructions                  the text for a model's system message
structured on|off             also show each result as data
quit                          or Ctrl-D; Ctrl-C ends the call that is running"""

ReadLine = Callable[[str], Awaitable[str | None]]
"""Gives the next line for a prompt, ``None`` at the end."""


class View(Protocol):
    """Where the shell shows what it has to show: a terminal, or a stream of documents."""

    def given(self, line: str) -> None: ...

    def hint(self, text: str) -> None: ...

    def text(self, name: str, text: str) -> None: ...

    def problem(self, code: str, message: str) -> None: ...

    def tools(self, tools: Iterable[ToolDescription]) -> None: ...

    def tool(self, tool: ToolDescription) -> None: ...

    def result(self, result: ToolResult, *, structured: bool) -> None: ...

    def question(self, request: ApprovalRequest) -> None: ...


@asynccontextmanager
async def interrupting(scope: anyio.CancelScope) -> AsyncGenerator[None]:
    """Let Ctrl-C cancel ``scope`` rather than end the program, while the block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    async def watch() -> None:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            group_started.set()
            async for _ in signals:
                scope.cancel()

    group_started = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        await group_started.wait()
        yield
        group.cancel_scope.cancel()


class Shell:
    """One session with a person in the place of the model, and of who approves."""

    def __init__(self, session: Session, screen: View, read_line: ReadLine) -> None:
        self.session = session
        self.screen = screen
        self._read_line = read_line
        self._structured = False

    async def run(self, lines: Sequence[str] = ()) -> bool:
        """Take ``lines``, or else what is typed until the end; whether every call went well."""
        well = True
        for given in lines:
            self.screen.given(given)
            well &= await self.obey(given)
        if lines:
            return well
        self.screen.hint("help lists what can be typed here.")
        while (line := await self._read_line(PROMPT)) is not None:
            if line.strip() in {"quit", "exit"}:
                break
            well &= await self.obey(line)
        return well

    async def obey(self, line: str) -> bool:
        """One line; whether it went well."""
        word, rest = [*line.split(maxsplit=1), "", ""][:2]
        match word:
            case "":
                pass
            case "tools":
                self.screen.tools(await self.session.tools())
            case "help" if not rest:
                self.screen.text("help", _HELP)
            case "help":
                return await self._describe(rest.strip())
            case "instructions":
                text = await self.session.workspace.get_instructions(self.session.context)
                self.screen.text("instructions", text)
            case "structured":
                self._structured = rest.strip() != "off"
            case _:
                return await self._call(word, rest)
        return True

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Ask the person."""
        self.screen.question(request)
        always = f", [a]lways ({on_one_line(request.rule)})" if request.rule else ""
        while True:
            answer = await self._read_line(f"[y]es, [n]o{always}? ")
            match (answer or "n").strip().lower():
                case "y" | "yes":
                    return Approval.once()
                case "a" | "always" if always:
                    return Approval.for_session()
                case "n" | "no":
                    return Approval.refused("the person at the terminal said no")
                case _:
                    self.screen.hint("y, n or a" if always else "y or n")

    async def _describe(self, name: str) -> bool:
        tool = await self._find(name)
        if tool is not None:
            self.screen.tool(tool)
        return tool is not None

    async def _find(self, name: str) -> ToolDescription | None:
        offered = {tool.name: tool for tool in await self.session.tools()}
        found = offered.get(name) or offered.get(f"workspace_{name}")
        if found is None:
            message = f"there is no {name!r}; `tools` lists them, `help` the other commands"
            self.screen.problem(Refusal.UNKNOWN_TOOL, message)
        return found

    async def _call(self, name: str, text: str) -> bool:
        tool = await self._find(name)
        if tool is None:
            return False
        try:
            arguments = parse_arguments(text, tool.input_schema)
        except MoorageError as error:
            self.screen.problem(error.code, error.message)
            return False
        well = False
        with anyio.CancelScope() as scope:
            async with interrupting(scope):
                result = await self.session.call_tool(tool.name, arguments)
                self.screen.result(result, structured=self._structured)
                well = result.ok
        if scope.cancelled_caught:
            self.screen.problem("interrupted", "interrupted")
        return well
