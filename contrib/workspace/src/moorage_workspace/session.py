"""One request's or conversation's use of a workspace: its context, its files and shell, and what it has read."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, cast
from uuid import uuid4

import anyio

from moorage import ClosedError, Filesystem, RequestContext
from moorage_workspace.approval import ApprovalRules, Approver
from moorage_workspace.checks import OPTIONS
from moorage_workspace.config import ConfiguredTool, Hooks, decide
from moorage_workspace.errors import NoProcessError, Refusal, ToolRefusedError
from moorage_workspace.offering import Offer
from moorage_workspace.once import Once
from moorage_workspace.reads import ReadTracker
from moorage_workspace.results import ToolResult
from moorage_workspace.sandbox.detached import start_detached
from moorage_workspace.sandbox.port import Sandbox
from moorage_workspace.schemas import ToolDescription
from moorage_workspace.tools.finishing import shown_tool
from moorage_workspace.tools.pipeline import call_tool

if TYPE_CHECKING:
    from moorage_workspace.workspace import Workspace

_log: Final = logging.getLogger("moorage.workspace")


class Session:
    """Made by :meth:`Workspace.session`. Calls may run concurrently; read records and kept approvals are its own.

    Attributes:
        id: unique.
        reads: what the model has seen of which file.
        rules: approvals that were kept.
        approver: who is asked; ``None`` where nobody is, and every call that needs an approval is refused.
        hooks: the agent's own, around those of the workspace.
    """

    def __init__(
        self,
        workspace: Workspace,
        context: RequestContext,
        *,
        approver: Approver | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.workspace = workspace
        self.id = uuid4().hex
        self.reads = ReadTracker()
        self.rules = ApprovalRules()
        self.approver = workspace.approver if approver is None else checked_approver(approver)
        self.hooks = hooks or Hooks()
        self._context = weakref.ref(context)
        self._same_context = RequestContext(context)
        self._filesystem = Once[Filesystem | None]()
        self._sandbox = Once[Sandbox | None]()
        self._leases = AsyncExitStack()
        self._processes: dict[tuple[int, int], tuple[Sandbox, bool]] = {}
        self._offer = workspace.offer
        self._listed: dict[str, ConfiguredTool] | None = None
        self._closed = False

    @property
    def context(self) -> RequestContext:
        """Whose session it is. It does not keep the context alive; an equal one stands for it once it is gone."""
        context = self._context()
        return self._same_context if context is None else context

    async def filesystem(self) -> Filesystem | None:
        """The session's filesystem, chosen at the first call; ``None`` where none is configured.

        Raises:
            ClosedError: the session has ended.
            Exception: what the resolver raised; the next call asks it again.
        """
        self._require_open()
        return await self._filesystem.get(partial(self.workspace.providers.files.open, self.context, self._leases))

    async def sandbox(self) -> Sandbox | None:
        """The session's sandbox, with the mounts that it can show. As :meth:`filesystem`."""
        self._require_open()
        return await self._sandbox.get(partial(self.workspace.providers.open_sandbox, self.context))

    @property
    def opened_sandbox(self) -> Sandbox | None:
        """The session's sandbox if it was chosen already, by this session or by another that shares it."""
        return self._sandbox.made or self.workspace.providers.shells.opened(self.context)

    # Tools

    async def tools(self) -> list[ToolDescription]:
        """What this session's model is to be offered, under the configuration in force now.

        Functions for ``enabled`` run here; their answers, and the configuration, hold until the next listing.
        """
        self._require_open()
        offer = self.workspace.offer
        facts = {"context": self.context, "workspace": self.workspace}
        listed: dict[str, ConfiguredTool] = {}
        for tool in offer:
            listed[tool.name] = replace(tool, enabled=await decide(tool.enabled, facts, closed=False))
        self._offer, self._listed = offer, listed
        return [offer.descriptions[name] for name, tool in listed.items() if tool.enabled]

    def configured(self, name: str) -> ConfiguredTool:
        """The tool that is exposed by this name: as it was last listed, or while nothing was, as configured now.

        Raises:
            ToolRefusedError: there is none; the message names those that there are.
        """
        tools = self._in_force()
        if not isinstance(cast("object", name), str) or name not in tools:
            names = ", ".join(one.name for one in tools.values() if one.enabled is not False)
            shown = shown_tool(name, self.workspace.gate)
            raise ToolRefusedError(f"there is no tool {shown!r}; there are: {names}", refusal=Refusal.UNKNOWN_TOOL)
        return tools[name]

    async def call_tool(self, name: str, arguments: Mapping[str, object] | str) -> ToolResult:
        """Call a tool as the model does, by its exposed name and with arguments as a mapping or as JSON text.

        Never raises, whatever the arguments are, but for what hooks raise.
        """
        self.workspace.last_accessed_at = datetime.now(UTC)
        return await call_tool(self, name, arguments)

    def hook_layers(self) -> tuple[Hooks, ...]:
        """Outermost first."""
        return (self.hooks, self._offer_in_force().config.hooks)

    @property
    def write_lock_timeout(self) -> float:
        """Seconds that a call waits for another that writes the same file."""
        return self._offer_in_force().config.write_lock_timeout

    # Processes

    def own_process(self, sandbox: Sandbox, pid: int, *, ends_with_session: bool) -> None:
        """Remember a background process that this session started, and whether to end it with the session.

        Raises:
            ClosedError: the session has ended, and with it the process is to end, which is done in the background.
        """
        self._processes[id(sandbox), pid] = (sandbox, ends_with_session)
        if self._closed and ends_with_session:
            start_detached(partial(_end_late, sandbox, pid))
            raise ClosedError("the session has ended, and the process with it")

    def owns_process(self, sandbox: Sandbox, pid: int) -> bool:
        """Whether this session started it."""
        return (id(sandbox), pid) in self._processes

    # Records

    def dump(self) -> dict[str, object]:
        """The read records, JSON-compatible, for :meth:`load` of a later session on the same storage."""
        return {"reads": self.reads.dump()}

    def load(self, dumped: Mapping[str, object]) -> None:
        """Take over the records of an earlier session; what is unreadable is left out, and must be read again."""
        reads = dumped.get("reads")
        if isinstance(reads, Mapping):
            self.reads.load(cast("Mapping[str, object]", reads))

    async def aclose(self) -> None:
        """End the session: its background processes, all at once, and what was leased for it. Idempotent.

        The processes are ended even where the event loop cancels the caller.

        Raises:
            ExceptionGroup: the errors of what failed; all was tried.
        """
        if self._closed:
            return
        self._closed = True
        errors: list[Exception] = []
        with anyio.CancelScope(shield=True):
            try:
                await self._end_processes(errors)
            finally:
                try:
                    await self._leases.aclose()
                except Exception as error:
                    errors.append(error)
        if errors:
            raise ExceptionGroup("the session ended with errors", errors)

    async def _end_processes(self, errors: list[Exception]) -> None:
        over = anyio.Event()

        async def end(sandbox: Sandbox, pid: int) -> None:
            if error := await _ended(sandbox, pid):
                errors.append(error)

        async def end_all() -> None:
            try:
                async with anyio.create_task_group() as group:
                    for (_, pid), (sandbox, ends) in self._processes.items():
                        if ends:
                            group.start_soon(end, sandbox, pid)
            finally:
                over.set()

        start_detached(end_all)
        await over.wait()

    def _in_force(self) -> Mapping[str, ConfiguredTool]:
        return self.workspace.offer.tools if self._listed is None else self._listed

    def _offer_in_force(self) -> Offer:
        return self.workspace.offer if self._listed is None else self._offer

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedError("the session has ended")


def checked_approver(approver: Approver | None) -> Approver | None:
    """Raises: ConfigError, where it cannot be called."""
    if approver is not None:
        OPTIONS.function("approver", approver, "a function that can be awaited")
    return approver


async def _end_late(sandbox: Sandbox, pid: int) -> None:
    if error := await _ended(sandbox, pid):
        _log.error("a process that was started as its session ended could not be ended", exc_info=error)


async def _ended(sandbox: Sandbox, pid: int) -> Exception | None:
    if sandbox.processes is None:
        return None
    try:
        await sandbox.processes.kill(pid)
    except NoProcessError:
        return None
    except Exception as error:
        return error
    return None
