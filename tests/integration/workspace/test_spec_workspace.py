"""What the specification says of the workspace itself, with its exact defaults. ``# better:`` marks where the reference
goes wrong.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import ConfigError, Filesystem, MemoryFilesystem, MemoryProvider, RequestContext
from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Dynamic,
    LocalSandbox,
    NoProvidersError,
    SandboxStatus,
    Workspace,
    WorkspaceInfo,
    Workspaces,
    WorkspaceStatus,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
SHELL = WORKSPACE_TOOLS.SANDBOX


# Options


def test_the_options_and_their_defaults() -> None:
    options = {name: option.default for name, option in inspect.signature(Workspace).parameters.items()}
    absent = ("id", "name", "filesystem", "mounts", "sandbox", "tools", "on_mount", "instructions")
    assert {name: options[name] for name in (*absent, "sandbox_cache_key", "operation_timeout")} == dict.fromkeys(
        (*absent, "sandbox_cache_key", "operation_timeout")
    )
    assert (options["path_policy"], options["approval_timeout"]) == ("virtual", 120.0)
    workspace = Workspace(filesystem=MemoryFilesystem())
    assert workspace.name == f"workspace-{workspace.id}"
    assert workspace.offer.config.write_lock_timeout == 30.0


def test_at_least_one_provider_and_no_two_that_exclude_each_other() -> None:
    with pytest.raises(NoProvidersError) as refused:
        Workspace()
    assert refused.value.code == "NO_PROVIDERS"
    with pytest.raises(ConfigError):
        Workspace(filesystem=MemoryFilesystem(), mounts={"/a": MemoryFilesystem()})
    with pytest.raises(ConfigError):
        Workspace(mounts={"/a": MemoryFilesystem()}, sandbox=lambda context: ToySandbox())


async def test_mounts_may_be_resolvers() -> None:
    # better: the reference cannot join mounts and resolvers
    mine = {"ada": MemoryFilesystem(), "bob": MemoryFilesystem()}
    workspace = Workspace(mounts={"/shared": MemoryFilesystem(), "/me": lambda context: mine[str(context["user"])]})
    ada, bob = RequestContext(user="ada"), RequestContext(user="bob")
    async with workspace:
        for path in ("/shared/a", "/me/a"):
            assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": path, "content": "ada's"}, ada)).ok
        assert (await workspace.call_tool(FILES.FILE_STAT, {"path": "/shared/a"}, bob)).structured["exists"] is True
        assert (await workspace.call_tool(FILES.FILE_STAT, {"path": "/me/a"}, bob)).structured["exists"] is False


@pytest.mark.parametrize(
    "context",
    [
        RequestContext([("agent-role", "admin"), ("user", "ada")]),
        RequestContext({"agent-role": "admin", "user": "ada"}),
        RequestContext({"agent-role": "admin"}, user="ada"),
    ],
)
async def test_a_request_context_takes_pairs_a_mapping_or_keywords(context: RequestContext) -> None:
    seen: list[tuple[object, object, object]] = []

    def choose(asked: RequestContext) -> Filesystem:
        seen.append((asked["agent-role"], asked.get("user"), asked.get("missing", "none")))
        return MemoryFilesystem()

    await Workspace(filesystem=choose).tools(context)
    await Workspace(filesystem=choose).resolve_filesystem(context)
    assert seen == [("admin", "ada", "none")]


async def test_operation_timeout_limits_a_command_too(tmp_path: Path) -> None:
    sandbox = LocalSandbox(tmp_path, timeout=600)
    async with Workspace(sandbox=sandbox, operation_timeout=0.5) as workspace:
        result = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": "sleep 600 && touch late"})
        assert result.error is not None
        assert (result.error.code, result.error.retryable) == ("timeout", True)


async def test_absolute_paths_are_the_workspaces_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text("ours")
    virtual = Workspace(filesystem=LocalFilesystem(tmp_path))
    relative = Workspace(filesystem=LocalFilesystem(tmp_path), path_policy="relative")
    assert "ours" in (await virtual.call_tool(FILES.READ_FILE, {"path": "/etc/passwd"})).text
    assert "ours" in (await relative.call_tool(FILES.READ_FILE, {"path": "etc/passwd"})).text
    refused = await relative.call_tool(FILES.READ_FILE, {"path": "/etc/passwd"})
    assert refused.error is not None
    assert refused.error.code == "policy"
    for workspace in (virtual, relative):
        assert str(tmp_path) not in (await workspace.call_tool(FILES.READ_FILE, {"path": "nowhere"})).text
        await workspace.destroy()


# Life


async def test_the_states() -> None:
    assert [state.value for state in WorkspaceStatus] == [
        *("pending", "initializing", "ready", "paused", "error", "destroying", "destroyed"),
    ]
    seen: list[str] = []

    class Looking(MemoryProvider):
        async def start(self) -> None:
            seen.append(workspace.status)

        async def aclose(self) -> None:
            seen.append(workspace.status)

    workspace = Workspace(filesystem=Looking())
    seen.append(workspace.status)
    async with workspace:
        seen.append(workspace.status)
    seen.append(workspace.status)
    assert seen == ["pending", "initializing", "ready", "destroying", "destroyed"]


async def test_init_makes_both_directories_and_destroy_leaves_them(tmp_path: Path) -> None:
    files, work = tmp_path / "files", tmp_path / "work"
    workspace = Workspace(filesystem=LocalFilesystem(files), sandbox=LocalSandbox(work))
    assert (files.exists(), work.exists()) == (False, False)
    await workspace.init()
    assert (files.is_dir(), work.is_dir()) == (True, True)
    (files / "a").write_text("kept")
    await workspace.destroy()
    assert ((files / "a").read_text(), work.is_dir()) == ("kept", True)


async def test_the_filesystem_is_there_before_the_sandbox_starts(tmp_path: Path) -> None:
    class Looking(ToySandbox):
        async def start(self) -> None:
            self.log.append(f"files there: {(tmp_path / 'files').is_dir()}")

        async def destroy(self) -> None:
            self.log.append(f"files open: {files.info().status}")

    files, sandbox = LocalFilesystem(tmp_path / "files"), Looking()
    async with Workspace(filesystem=files, sandbox=sandbox):
        pass
    assert sandbox.log == ["files there: True", "files open: ready"]


async def test_without_init_each_starts_at_its_first_use(tmp_path: Path) -> None:
    sandbox = LocalSandbox(tmp_path / "work")
    workspace = Workspace(filesystem=LocalFilesystem(tmp_path / "files"), sandbox=sandbox)
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "a", "content": "x"})).ok
    seen = [sandbox.status]
    assert (await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": "true"})).ok
    assert [*seen, sandbox.status] == [SandboxStatus.PENDING, SandboxStatus.RUNNING]
    await workspace.destroy()


async def test_a_file_tool_asks_no_sandbox_resolver() -> None:
    def choose(context: RequestContext) -> ToySandbox:
        raise AssertionError("nobody needs a shell")

    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=choose)
    result = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "x"})
    assert result.ok, result.text


# Providers


async def test_a_resolver_runs_once_a_context_object_and_a_failure_is_never_cached() -> None:
    # better: the reference remembers the failed promise
    asked: list[RequestContext] = []

    async def choose(context: RequestContext) -> Filesystem:
        asked.append(context)
        if len(asked) == 1:
            raise ConnectionError("not yet")
        return MemoryFilesystem()

    workspace = Workspace(filesystem=choose)
    assert (workspace.filesystem, workspace.has_filesystem_config) == (None, True)
    assert (workspace.sandbox, workspace.has_sandbox_config) == (None, False)
    context, other = RequestContext(a=1), RequestContext(a=1)
    assert not (await workspace.call_tool(FILES.FILE_STAT, {"path": "/"}, context)).ok
    assert (await workspace.call_tool(FILES.FILE_STAT, {"path": "/"}, context)).ok
    assert await workspace.resolve_filesystem(context) is await workspace.resolve_filesystem(context)
    assert len(asked) == 2
    assert await workspace.resolve_filesystem(other) is not await workspace.resolve_filesystem(context)
    assert len(asked) == 3
    assert await workspace.resolve_sandbox(context) is None


async def test_a_failed_sandbox_is_not_cached_by_key_either() -> None:
    # better: the reference remembers the failed promise
    failures = [ConnectionError("not yet")]

    def choose(context: RequestContext) -> ToySandbox:
        if failures:
            raise failures.pop()
        return ToySandbox()

    workspace = Workspace(sandbox=choose, sandbox_cache_key=lambda context: "key")
    with pytest.raises(ConnectionError):
        await workspace.resolve_sandbox(RequestContext())
    sandbox = await workspace.resolve_sandbox(RequestContext())
    assert isinstance(sandbox, ToySandbox)
    assert await workspace.resolve_sandbox(RequestContext()) is sandbox
    workspace.clear_sandbox_cache("other")
    assert await workspace.resolve_sandbox(RequestContext()) is sandbox
    workspace.clear_sandbox_cache()
    assert await workspace.resolve_sandbox(RequestContext()) is not sandbox
    assert sandbox.log == []


async def test_later_requests_of_one_key_reach_the_same_background_processes(tmp_path: Path) -> None:
    made: list[LocalSandbox] = []

    def choose(context: RequestContext) -> LocalSandbox:
        made.append(LocalSandbox(tmp_path / str(len(made))))
        return made[-1]

    workspace = Workspace(
        sandbox=choose,
        sandbox_cache_key=lambda context: str(context["thread"]),
        tools={SHELL.EXECUTE_COMMAND: {"background_processes": {"abort_signal": None}}},
    )
    command = {"command": "echo up; sleep 600", "background": True}
    started = await workspace.call_tool(SHELL.EXECUTE_COMMAND, command, RequestContext(thread="1"))
    gc.collect()
    asked = {"pid": started.structured["pid"]}
    for thread, found in (("1", True), ("2", False)):
        result = await workspace.call_tool(SHELL.KILL_PROCESS, asked, RequestContext(thread=thread))
        assert result.ok is found, result.text
    assert len(made) == 2
    await workspace.destroy()
    assert made[0].status is SandboxStatus.RUNNING, "what a resolver returned is the application's"
    for one in made:
        await one.destroy()


# Descriptions


async def test_what_get_info_holds() -> None:
    assert [field.name for field in fields(WorkspaceInfo)] == [
        *("id", "name", "status", "created_at", "last_accessed_at", "filesystem", "sandbox"),
    ]
    called: list[object] = []

    def choose(context: RequestContext) -> Any:
        called.append(context)

    dynamic = await Workspace(filesystem=choose, sandbox=choose).get_info(resolve_dynamic_providers=False)
    assert (dynamic.filesystem, dynamic.sandbox, called) == (Dynamic(), Dynamic(), [])
    assert Dynamic.provider == "dynamic"
    workspace = Workspace(filesystem=MemoryFilesystem())
    before = (await workspace.get_info()).last_accessed_at
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a/b", "content": "x"})).ok
    info = await workspace.get_info(include_file_count=True)
    assert info.last_accessed_at > before >= info.created_at
    assert info.filesystem is not None
    assert getattr(info.filesystem, "file_count", None) == 1
    assert info.sandbox is None


async def test_filesystem_and_sandbox_take_instructions_of_the_applications_own(tmp_path: Path) -> None:
    def appended(default: str, context: Mapping[str, object] | None) -> str:
        return f"{default} For {(context or {})['user']}."

    files = LocalFilesystem(tmp_path, instructions="Files of ours.")
    workspace = Workspace(filesystem=files, sandbox=LocalSandbox(tmp_path, instructions=appended))
    text = await workspace.get_instructions({"user": "Ada"})
    assert text.startswith("Files of ours.\n\nCommands run unsandboxed")
    assert " For Ada." in text
    assert str(tmp_path) not in text
    await workspace.destroy()


async def test_a_sandbox_that_is_chosen_has_a_placeholder_by_default() -> None:
    called: list[object] = []

    def choose(context: RequestContext) -> ToySandbox:
        called.append(context)
        return ToySandbox()

    fixed = await Workspace(sandbox=choose).get_instructions()
    assert fixed == "Commands run in a sandbox of their own, which is chosen for each request."
    assert called == []
    resolved = Workspace(sandbox=choose, instructions={"dynamic_sandbox": "resolve"})
    assert await resolved.get_instructions() == "Commands run unsandboxed in /workspace."

    def say(context: RequestContext) -> str:
        return f"Ask {context['user']}."

    said = Workspace(sandbox=choose, instructions={"dynamic_sandbox": say})
    assert await said.get_instructions({"user": "Ada"}) == "Ask Ada."
    assert len(called) == 1


# Configuration of tools, and the registry


async def test_set_tools_config_replaces_and_does_not_merge() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem())
    assert workspace.get_tools_config() is None

    async def names() -> set[str]:
        return {tool.name for tool in await workspace.tools()}

    everything = await names()
    first = {FILES.DELETE: {"enabled": False}}
    workspace.set_tools_config(first)
    assert workspace.get_tools_config() == first
    assert (await workspace.call_tool(FILES.DELETE, {"path": "/nowhere"})).text.startswith("Error (not_found)")
    assert everything - await names() == {FILES.DELETE}
    assert (await workspace.call_tool(FILES.DELETE, {"path": "/nowhere"})).text.startswith("Error (disabled)")
    workspace.set_tools_config({FILES.MOVE: {"enabled": False}})
    assert everything - await names() == {FILES.MOVE}
    workspace.set_tools_config(None)
    assert (await names(), workspace.get_tools_config()) == (everything, None)


async def test_an_agent_without_its_own_workspace_inherits_the_global_one() -> None:
    shared, own = (Workspace(id=name, filesystem=MemoryFilesystem()) for name in ("shared", "own"))
    borrowed = Workspace(id="borrowed", filesystem=MemoryFilesystem())
    registry = Workspaces()
    registry.register(shared)
    registry.register(own, agent="ada")
    registry.register(borrowed, agent="bob", owned=False)
    assert registry.list_workspaces() == (shared, own, borrowed)
    assert [registry.get_workspace(agent) for agent in (None, "ada", "bob", "eve")] == [shared, own, borrowed, shared]
    assert await registry.remove_workspace("own")
    assert (registry.get_workspace("ada"), own.status) == (shared, WorkspaceStatus.PENDING)
    registry.register(own, agent="ada")
    assert await registry.remove_workspace("own", destroy=True)
    assert own.status is WorkspaceStatus.DESTROYED
    await registry.shutdown()
    assert (shared.status, borrowed.status) == (WorkspaceStatus.DESTROYED, WorkspaceStatus.PENDING)
