"""The workspace: files, a shell and tools over them, for agents of one tenant or of many."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal, Self, cast
from uuid import uuid4

from pydantic import SecretStr

from moorage import ConfigError, Filesystem, Mountable
from moorage_workspace.approval import Approver
from moorage_workspace.audit import AuditSink, checked_sinks
from moorage_workspace.checks import OPTIONS
from moorage_workspace.clock import Clock, SystemClock
from moorage_workspace.config import Hooks, as_hooks, configure
from moorage_workspace.errors import NoProvidersError
from moorage_workspace.info import WorkspaceInfo, WorkspaceStatus, of_filesystem, of_sandbox
from moorage_workspace.instructions import InstructionOptions, instruction_options, instructions_of
from moorage_workspace.lifecycle import Lifecycle
from moorage_workspace.locks import FileLocks
from moorage_workspace.mounting import OnMount, ShellMounts
from moorage_workspace.offering import Ground, Offer, catalogue
from moorage_workspace.redaction import Gate
from moorage_workspace.results import ToolResult
from moorage_workspace.sandbox.port import Sandbox, SandboxMount
from moorage_workspace.schemas import ToolDescription
from moorage_workspace.session import Session, checked_approver
from moorage_workspace.sessions import Context, Sessions
from moorage_workspace.sources import CacheKey, FilesystemSource, SandboxResolver, SandboxSource
from moorage_workspace.tokens import TokenCounter, checked_counter, default_counter
from moorage_workspace.tools.tool import Arguments, Tool

_ID: Final = re.compile(r"[A-Za-z0-9._-]+")


class Workspace:
    """What an agent gets.

    Args:
        id, name: generated, else letters, digits and ``.``, ``_``, ``-``; ``workspace-{id}``.
        filesystem: a filesystem, or a resolver of one: a function of the request's context, or a
            :class:`moorage.TenantCache`.
        mounts: in place of ``filesystem``: paths with filesystems or resolvers, as one tree.
        sandbox: a sandbox, or a function of the context that returns one (not together with ``mounts``).
        tools: their configuration; see :func:`moorage_workspace.config.configure`.
        extra_tools: offered beside the built-in ones and those of plug-ins.
        on_mount: is asked about each mount before the shell gets it; see :data:`moorage_workspace.OnMount`.
        instructions: how :meth:`get_instructions` speaks of a sandbox that a resolver chooses.
        sandbox_cache_key: context to a key; requests of one key share the sandbox that the resolver returned first.
        operation_timeout: seconds that an operation of a tool may take.
        path_policy: ``virtual``: absolute paths are the workspace's; ``relative``: they are refused.
        approver: who is asked where a call needs an approval; a session may have its own.
        approval_timeout: seconds until an unanswered question counts as refused.
        secrets: values that no output shows.
        audit: sinks of one event a call.
        count_tokens: what outputs are capped by; tiktoken's where it is installed, else an estimate.
        nested_mounts: allow a mount inside another.

    What was given as an instance belongs to the workspace, which starts it at its first use and closes it in
    :meth:`destroy`. What a resolver returns belongs to the application, and is neither started nor closed here (only
    what is chosen for a mount is closed at the session's end, unless it was open before).

    Raises:
        NoProvidersError: neither filesystem, mounts nor sandbox.
        ConfigError: options that exclude each other, or a value that cannot be.
    """

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 (its name everywhere else)
        name: str | None = None,
        filesystem: Mountable | None = None,
        mounts: Mapping[Any, Mountable] | None = None,
        sandbox: Sandbox | SandboxResolver | None = None,
        tools: Mapping[str, Any] | None = None,
        extra_tools: Sequence[Tool[Any]] = (),
        on_mount: OnMount | None = None,
        instructions: InstructionOptions | Mapping[str, object] | None = None,
        sandbox_cache_key: CacheKey | None = None,
        operation_timeout: float | None = None,
        path_policy: Literal["virtual", "relative"] = "virtual",
        approver: Approver | None = None,
        approval_timeout: float = 120.0,
        secrets: Iterable[str | SecretStr] = (),
        audit: Iterable[AuditSink] = (),
        count_tokens: TokenCounter | None = None,
        nested_mounts: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.id = uuid4().hex if id is None else _checked_id(id)
        self.name = f"workspace-{self.id}" if name is None else OPTIONS.text("name", name)
        self.path_policy = _checked_policy(path_policy)
        self.operation_timeout = None
        if operation_timeout is not None:
            self.operation_timeout = OPTIONS.seconds("operation_timeout", operation_timeout, zero=False)
        self.approver = checked_approver(approver)
        self.approval_timeout = OPTIONS.seconds("approval_timeout", approval_timeout, zero=False)
        self.audit = checked_sinks(audit)
        self.count_tokens = default_counter() if count_tokens is None else checked_counter(count_tokens)
        self.clock: Clock = SystemClock() if clock is None else _checked_clock(clock)
        self.locks = FileLocks()
        self.gate = Gate(_checked_secrets(secrets))
        self.created_at = self.last_accessed_at = datetime.now(UTC)
        self._instructions = instruction_options(instructions)
        files = FilesystemSource(filesystem, mounts, nested=nested_mounts)
        self.providers = self._living(files, SandboxSource(sandbox, sandbox_cache_key), on_mount)
        """Where sessions get their filesystem and sandbox from."""
        self._catalogue = catalogue(_checked_tools(extra_tools))
        self.set_tools_config(tools)
        self._sessions = Sessions(self)

    def _living(self, files: FilesystemSource, shells: SandboxSource, on_mount: OnMount | None) -> Lifecycle:
        if not (files.configured or shells.configured):
            raise NoProvidersError("a workspace needs a filesystem, mounts or a sandbox")
        if files.mounted and shells.dynamic:
            raise ConfigError("mounts are shown in one shell, so they need a sandbox rather than a resolver of one")
        if on_mount is not None:
            OPTIONS.function("on_mount", on_mount)
            if not files.mounted or not shells.configured:
                raise ConfigError("on_mount is asked about mounts that a shell is to get: give mounts and a sandbox")
        mounts = None
        if files.mounted and shells.static is not None:
            mounts = ShellMounts(files.mounted, shells.static, on_mount, self)
        return Lifecycle(files, shells, mounts)

    # Providers

    @property
    def filesystem(self) -> Filesystem | None:
        """The one for all requests; ``None`` with a resolver or without any."""
        return self.providers.files.static

    @property
    def sandbox(self) -> Sandbox | None:
        """The one for all requests; ``None`` with a resolver or without any."""
        return self.providers.shells.static

    @property
    def has_filesystem_config(self) -> bool:
        return self.providers.files.configured

    @property
    def has_sandbox_config(self) -> bool:
        return self.providers.shells.configured

    @property
    def shell_mounts(self) -> tuple[SandboxMount, ...]:
        """What became of each mount in the shell; empty without mounts or without a sandbox."""
        return () if self.providers.mounts is None else self.providers.mounts.states

    async def resolve_filesystem(self, context: Context | None = None) -> Filesystem | None:
        """The filesystem of a request; a resolver runs once a context object, and again only after it failed."""
        async with self._sessions.of(context) as session:
            return await session.filesystem()

    async def resolve_sandbox(self, context: Context | None = None) -> Sandbox | None:
        """The sandbox of a request: by ``sandbox_cache_key``, else once a context object."""
        async with self._sessions.of(context) as session:
            return await self.providers.open_sandbox(session.context)

    def clear_sandbox_cache(self, key: str | None = None) -> None:
        """Forget the sandboxes that are kept by key, one or all. None of them is stopped; sessions keep theirs."""
        self.providers.shells.forget(key)

    # Life

    @property
    def status(self) -> WorkspaceStatus:
        return self.providers.status

    async def init(self) -> None:
        """Start what belongs to the workspace: filesystem, sandbox, mounts. Optional; idempotent; concurrent calls
        share one start. After :meth:`destroy` it starts again what can (a local sandbox cannot).

        Raises:
            Exception: why one did not start.
        """
        await self.providers.start()

    async def destroy(self) -> None:
        """End all sessions, then destroy sandbox and filesystem, and forget what was resolved. Deletes no file.

        Raises:
            ExceptionGroup: the errors of what failed; all was tried.
        """
        await self.providers.destroy(self._sessions.end_all)

    async def __aenter__(self) -> Self:
        await self.init()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.destroy()

    # Tools

    @asynccontextmanager
    async def session(
        self,
        context: Context | None = None,
        *,
        approver: Approver | None = None,
        hooks: Hooks | Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Session]:
        """One request or conversation; at its end its background processes end.

        Args:
            approver: in place of the workspace's.
            hooks: the agent's own, outside those of the configuration.
        """
        async with self._sessions.opened(context, approver, as_hooks(hooks)) as session:
            yield session

    async def tools(self, context: Context | None = None) -> list[ToolDescription]:
        """What a model is to be offered for this context: :meth:`Session.tools` of the context's own session."""
        async with self._sessions.of(context) as session:
            return await session.tools()

    async def call_tool(
        self, name: str, arguments: Mapping[str, object] | str, context: Context | None = None
    ) -> ToolResult:
        """Call a tool by its exposed name in the context's own session: one a context object, ended some time after
        the object is gone; without a context, one for all.

        Never raises, whatever the arguments are, but for what hooks raise.
        """
        async with self._sessions.of(context) as session:
            return await session.call_tool(name, arguments)

    def get_tools_config(self) -> Mapping[str, Any] | None:
        """As it was given; ``None`` where all is default."""
        return self._tools_config

    def set_tools_config(self, config: Mapping[str, Any] | None) -> None:
        """Replace the whole configuration; ``None`` restores the defaults.

        A session takes it over at its next listing of tools; one that never listed has it at once.

        Raises:
            ConfigError: it is wrong; the one before stays.
        """
        files, shells = self.providers.files, self.providers.shells
        ground = Ground(files.static, files.configured, shells.static, shells.configured)
        self.offer = Offer(configure(config, self._catalogue), ground)
        """The tools as configured now."""
        self._tools_config = None if config is None else dict(config)

    # Descriptions

    async def get_info(
        self,
        include_file_count: bool = False,
        context: Context | None = None,
        resolve_dynamic_providers: bool = True,
    ) -> WorkspaceInfo:
        """What it is and how it fares, without host paths.

        Args:
            include_file_count: walks the whole tree.
            resolve_dynamic_providers: ``False`` calls no resolver; what one would choose is reported as ``dynamic``.
        """
        async with self._sessions.of(context) as session:
            return WorkspaceInfo(
                id=self.id,
                name=self.name,
                status=self.status,
                created_at=self.created_at,
                last_accessed_at=self.last_accessed_at,
                filesystem=await of_filesystem(session, include_file_count, resolve_dynamic_providers),
                sandbox=await of_sandbox(session, resolve_dynamic_providers),
            )

    async def get_instructions(self, context: Context | None = None) -> str:
        """A text for a model's system message: where its files are, what the shell is, and what both have in common.

        A filesystem that a resolver chooses is resolved.
        """
        async with self._sessions.of(context) as session:
            return await instructions_of(session, self._instructions)


def _checked_id(value: object) -> str:
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise ConfigError("id must be letters, digits, '.', '_' or '-', and at least one of them")


def _checked_policy(value: str) -> Literal["virtual", "relative"]:
    if value not in ("virtual", "relative"):
        raise OPTIONS.wrong("path_policy", "'virtual' or 'relative'", value)
    return "virtual" if value == "virtual" else "relative"


def _checked_secrets(values: object) -> tuple[str | SecretStr, ...]:
    secrets = OPTIONS.listed("secrets", values)
    if all(isinstance(secret, str | SecretStr) for secret in secrets):
        return secrets
    raise ConfigError("secrets must be a list of texts")


def _checked_clock(clock: Clock) -> Clock:
    if not isinstance(clock, type) and all(callable(getattr(clock, name, None)) for name in ("now", "sleep")):
        return clock
    raise OPTIONS.wrong("clock", "a Clock with now() and sleep()", clock)


def _checked_tools(values: object) -> tuple[Tool[Any], ...]:
    tools: tuple[Tool[Any], ...] = OPTIONS.listed("extra_tools", values)
    for number, tool in enumerate(tools):
        if not isinstance(cast("object", tool), Tool):
            raise OPTIONS.wrong(f"extra_tools[{number}]", "a Tool, which says what a function takes and needs", tool)
        if not _is_input(tool.arguments):
            raise OPTIONS.wrong(f"extra_tools[{number}].arguments", "a subclass of Arguments", tool.arguments)
    return tools


def _is_input(model: object) -> bool:
    return isinstance(model, type) and issubclass(model, Arguments)
