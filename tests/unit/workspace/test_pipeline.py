"""Every call of every tool: the steps, their order, and what comes out when one refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import pytest
from tests.unit.workspace.on_memory import ASK, workspace

from moorage import Filesystem, MemoryFilesystem, MoorageError, ReadOnlyError
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    Hooks,
    Sandbox,
    Session,
)
from moorage_workspace.audit import AuditEvent
from moorage_workspace.redaction import MASK

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture
def memory() -> MemoryFilesystem:
    return MemoryFilesystem()


@pytest.fixture
async def session(memory: MemoryFilesystem) -> AsyncIterator[Session]:
    async with workspace(memory) as space, space.session() as session:
        yield session


async def yes(request: ApprovalRequest) -> Approval:
    return Approval.once()


async def test_an_unknown_tool_is_a_result_that_names_those_there_are(session: Session) -> None:
    result = await session.call_tool("workspace_red_file", {})
    assert result.error is not None
    assert result.error.code == "unknown_tool"
    assert "workspace_read_file" in result.text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": 3},
        {"path": "/a", "limt": 3},
        {"path": "/a", "offset": 0},
        {"path": "/a", "offset": "1"},
        "no",
        None,
        b"{}",
        3,
        {1: 2},
        "[]",
    ],
)
async def test_invalid_arguments_are_a_result(session: Session, arguments: Any) -> None:
    result = await session.call_tool("workspace_read_file", arguments)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_null_means_the_default(session: Session, memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "one\n")
    arguments = {"path": "/a", "offset": None, "limit": None, "show_line_numbers": None, "encoding": None}
    assert "     1→one" in (await session.call_tool("workspace_read_file", arguments)).text


async def test_a_tool_that_breaks_is_a_result(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*arguments: object, **more: object) -> None:
        raise RuntimeError("secret internals")

    monkeypatch.setattr(Filesystem, "stat", broken)
    result = await session.call_tool("workspace_file_stat", {"path": "/a"})
    assert result.error is not None
    assert result.error.code == "storage"
    assert "secret internals" not in result.text


async def test_the_mask_is_refused(session: Session, memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "key: ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789\n")
    for name, arguments in (
        ("workspace_write_file", {"path": "/a", "content": f"key: {MASK}\n"}),
        ("workspace_edit_file", {"path": "/a", "old_string": "key", "new_string": f"key: {MASK}"}),
    ):
        result = await session.call_tool(name, arguments)
        assert result.error is not None
        assert result.error.code == "masked_content"
    assert "ghp_" in await memory.read_text("/a")


async def test_hooks_run_around_the_tool_the_agents_outside(memory: MemoryFilesystem) -> None:
    said: list[str] = []

    def hooks(name: str) -> Hooks:
        async def before(event: Any) -> None:
            said.append(f"{name} before {event.workspace_tool_name} {event.input['path']}")

        def after(event: Any) -> None:
            said.append(f"{name} after {event.output is None} {type(event.error).__name__}")

        return Hooks(before, after)

    space = workspace(memory, tools={"hooks": hooks("workspace")})
    async with space, space.session(hooks=hooks("agent")) as session:
        await session.call_tool("workspace_file_stat", {"path": "/a"})
        assert said == [
            "agent before workspace_file_stat /a",
            "workspace before workspace_file_stat /a",
            "workspace after False NoneType",
            "agent after False NoneType",
        ]
        said.clear()
        await session.call_tool("workspace_read_file", {"path": "/a"})
        assert said[2:] == ["workspace after True PathNotFoundError", "agent after True PathNotFoundError"]


async def test_a_hook_may_stand_in_for_the_tool(memory: MemoryFilesystem) -> None:
    after: list[str] = []
    hooks = Hooks(lambda event: {"proceed": False, "output": "instead"}, lambda event: after.append("after"))
    await memory.write_text("/a", "one")
    async with workspace(memory, tools={"hooks": hooks}) as space:
        result = await space.call_tool("workspace_delete", {"path": "/a"})
    assert (result.text, result.ok, after) == ("instead", True, [])
    assert await memory.exists("/a")


async def test_errors_of_hooks_come_out_as_they_are(memory: MemoryFilesystem) -> None:
    def before(event: Any) -> None:
        raise ReadOnlyError("mine")

    async with workspace(memory, tools={"hooks": Hooks(before)}) as space:
        with pytest.raises(ReadOnlyError, match="mine"):
            await space.call_tool("workspace_file_stat", {"path": "/a"})


async def test_a_function_that_fails_fails_closed(memory: MemoryFilesystem) -> None:
    def broken(facts: Any) -> bool:
        raise KeyError("no")

    await memory.write_text("/a", "one\n")
    for key, code in (
        ("enabled", "disabled"),
        ("require_approval", "approval_unavailable"),
        ("require_read_before_write", "read_required"),
    ):
        async with workspace(memory, tools={FILES.WRITE_FILE: {key: broken}}) as space:
            result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "x"})
            assert result.error is not None
            assert result.error.code == code
    assert await memory.read_text("/a") == "one\n"


async def test_one_event_a_call_without_path_or_content(memory: MemoryFilesystem) -> None:
    events: list[AuditEvent] = []
    async with workspace(memory, audit=[events.append], approver=yes, tools={FILES.WRITE_FILE: ASK}) as space:
        await space.call_tool("workspace_write_file", {"path": "/name", "content": "content"})
        await space.call_tool("workspace_read_file", {"path": "/missing"})
        await space.call_tool("workspace_read_file", {"path": "/../name"})
        await space.call_tool("nonsense", {})
    assert [(event.tool, event.approved, str(event.outcome), event.error_code) for event in events] == [
        ("workspace_write_file", True, "ok", None),
        ("workspace_read_file", None, "failed", "not_found"),
        ("workspace_read_file", None, "refused", "invalid_path"),
        ("unknown", None, "refused", "unknown_tool"),
    ]
    assert "name" not in repr(events).replace("tool_name", "")
    assert "content" not in repr(events)


async def test_operation_timeout_limits_every_operation(
    memory: MemoryFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(*arguments: object, **more: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(Filesystem, "stat", slow)
    async with workspace(memory, operation_timeout=0.05) as space:
        result = await space.call_tool("workspace_file_stat", {"path": "/a"})
    assert result.error is not None
    assert (result.error.code, result.error.retryable) == ("timeout", True)


async def test_a_waiter_for_the_lock_that_times_out_never_writes(memory: MemoryFilesystem) -> None:
    entered, release = anyio.Event(), anyio.Event()

    async def before(event: Any) -> None:
        if event.input["content"] == "first":
            entered.set()
            await release.wait()

    tools = {"write_lock_timeout": 0.05, "hooks": Hooks(before)}
    async with workspace(memory, tools=tools) as space, anyio.create_task_group() as group:
        group.start_soon(space.call_tool, "workspace_write_file", {"path": "/a", "content": "first"})
        await entered.wait()
        result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "second"})
        assert result.error is not None
        assert result.error.code == "lock_timeout"
        release.set()
    assert await memory.read_text("/a") == "first"


async def test_cancellation_is_not_swallowed_and_is_audited(memory: MemoryFilesystem) -> None:
    events: list[AuditEvent] = []
    waiting = anyio.Event()

    async def approver(request: ApprovalRequest) -> Approval:
        waiting.set()
        await anyio.sleep_forever()
        raise MoorageError("never")

    tools = {FILES.WRITE_FILE: ASK}
    space = workspace(memory, tools=tools, approver=approver, audit=[events.append])
    async with space, anyio.create_task_group() as group:
        group.start_soon(space.call_tool, "workspace_write_file", {"path": "/a", "content": "x"})
        await waiting.wait()
        group.cancel_scope.cancel()
    assert [str(event.outcome) for event in events] == ["cancelled"]


async def test_a_sandbox_that_cannot_be_had_stands_in_no_files_way(memory: MemoryFilesystem) -> None:
    def broken(context: Mapping[str, object]) -> Sandbox:
        raise RuntimeError("no sandbox today")

    await memory.write_text("/a", "one\n")
    async with workspace(memory, sandbox=broken) as space:
        assert (await space.call_tool("workspace_read_file", {"path": "/a"})).ok
        assert not (await space.call_tool("workspace_execute_command", {"command": "true"})).ok
