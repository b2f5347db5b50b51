"""Agents in every kind of workspace, each with somebody else at the same storage."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moorage import Filesystem, MemoryFilesystem, RequestContext
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approver, Session, ToolResult, Workspace

FILES: Final = WORKSPACE_TOOLS.FILESYSTEM
READ_FIRST: Final = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}
TENANT: Final = RequestContext(tenant="acme")

ON_DISK: Final = ("local", "mounted", "resolved", "tenant")
"""Kinds over a local directory: as it is, in a tree, chosen for each request, and chosen for one mount of a tree."""

EVERY: Final = (*ON_DISK, "memory")


@dataclass
class Agent:
    """An agent's session, and X: another client, who shares nothing with it but the storage.

    Attributes:
        at: where the tools see the storage's root.
        host: the directory of the storage, where there is one.
    """

    session: Session
    x: Filesystem
    at: str
    host: Path

    async def call(self, name: str, /, **arguments: object) -> ToolResult:
        result = await self.session.call_tool(f"workspace_{name}", arguments)
        assert str(self.host.parent) not in f"{result.text}{result.structured}", "a host path is shown"
        return result

    async def done(self, name: str, /, **arguments: object) -> ToolResult:
        result = await self.call(name, **arguments)
        assert result.ok, result.text
        return result

    async def refused(self, code: str, name: str, /, **arguments: object) -> ToolResult:
        result = await self.call(name, **arguments)
        assert result.error is not None, result.text
        assert result.error.code == code, result.text
        return result

    async def read(self, path: str) -> str:
        return (await self.done("read_file", path=f"{self.at}{path}")).text

    async def edit(self, path: str, old: str, new: str) -> ToolResult:
        return await self.done("edit_file", path=f"{self.at}{path}", old_string=old, new_string=new)


@asynccontextmanager
async def opened(
    kind: str, room: Path, tools: Mapping[str, Any] | None = None, approver: Approver | None = None
) -> AsyncGenerator[Agent]:
    """An agent over the directory ``ws`` of ``room``, or over memory."""
    host = room / "ws"
    host.mkdir(exist_ok=True)
    memory = MemoryFilesystem()

    def client() -> Filesystem:
        return Filesystem(memory.provider) if kind == "memory" else LocalFilesystem(host)

    async with AsyncExitStack() as stack:
        x = await stack.enter_async_context(client())
        files = await stack.enter_async_context(client()) if kind in ("resolved", "tenant") else client()

        def choose(context: RequestContext) -> Filesystem:
            assert context["tenant"] == "acme"
            return files

        at, ground = {
            "mounted": ("/m", {"mounts": {"/m": files, "/other": MemoryFilesystem()}}),
            "resolved": ("", {"filesystem": choose}),
            "tenant": ("/me", {"mounts": {"/me": choose, "/other": MemoryFilesystem()}}),
        }.get(kind, ("", {"filesystem": files}))
        workspace = await stack.enter_async_context(Workspace(tools=tools, **ground))  # type: ignore[arg-type]
        session = await stack.enter_async_context(workspace.session(TENANT, approver=approver))
        yield Agent(session, x, at, host)
