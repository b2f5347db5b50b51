"""Sessions: what they keep, and what ends with them."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import anyio
import pytest
from tests.unit.workspace.toys import ToyProcesses, ToySandbox, tool

from moorage import ClosedError, MemoryFilesystem, RequestContext
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    CommandResult,
    Hooks,
    Needs,
    Output,
    Session,
    ToolRefusedError,
    Workspace,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
CAREFUL = {FILES.WRITE_FILE: {"require_read_before_write": True}}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_it_has_the_very_context_it_was_opened_with() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem())
    context = RequestContext(tenant="a")
    async with workspace.session(context) as session, workspace.session({"tenant": "a"}) as other:
        assert session.context is context
        assert other.context == context
        assert session.id != other.id
    async with workspace.session() as session:
        assert len(session.context) == 0


async def test_background_processes_end_with_it_unless_told_otherwise() -> None:
    sandbox = ToySandbox()
    processes = sandbox.processes
    assert processes is not None
    async with Workspace(sandbox=sandbox) as workspace:
        async with workspace.session() as session, workspace.session() as other:
            ends, stays = await processes.spawn("a"), await processes.spawn("b")
            session.own_process(sandbox, ends, ends_with_session=True)
            session.own_process(sandbox, stays, ends_with_session=False)
            session.own_process(sandbox, 77, ends_with_session=True)  # has ended and is forgotten
            assert session.owns_process(sandbox, ends)
            assert not other.owns_process(sandbox, ends)
            assert not session.owns_process(ToySandbox(), ends)
            await other.aclose()
            assert processes.killed == []
        assert processes.killed == [ends]
        assert list(processes.running) == [stays]


async def test_one_process_that_cannot_be_ended_does_not_keep_the_others() -> None:
    sandbox = ToySandbox()
    processes = sandbox.processes
    assert processes is not None
    workspace = Workspace(sandbox=sandbox)
    with pytest.raises(ExceptionGroup) as caught:
        async with workspace.session() as session:
            for command in ("a", "b"):
                session.own_process(sandbox, await processes.spawn(command), ends_with_session=True)
            processes.unkillable.add(1)
    assert [str(error) for error in caught.value.exceptions] == ["1 stays"]
    assert processes.killed == [2]


class Meeting(ToyProcesses):
    """A process is ended once all are to be."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[int] = set()
        self.all_asked, self.go = anyio.Event(), anyio.Event()

    async def kill(self, pid: int) -> CommandResult:
        self.asked.add(pid)
        if len(self.asked) == len(self.running):
            self.all_asked.set()
        with anyio.fail_after(30):
            await self.all_asked.wait()
        await self.go.wait()
        return await super().kill(pid)


async def test_background_processes_are_ended_all_at_once() -> None:
    sandbox = ToySandbox()
    sandbox._processes = processes = Meeting()
    processes.go.set()
    async with Workspace(sandbox=sandbox).session() as session:
        for command in ("a", "b", "c"):
            session.own_process(sandbox, await processes.spawn(command), ends_with_session=True)
    assert sorted(processes.killed) == [1, 2, 3]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_event_loops_own_cancelling_keeps_no_process_from_its_end() -> None:
    sandbox = ToySandbox()
    sandbox._processes = processes = Meeting()
    session = Workspace(sandbox=sandbox).session()
    opened = await session.__aenter__()
    for command in ("a", "b", "c"):
        opened.own_process(sandbox, await processes.spawn(command), ends_with_session=True)
    task = asyncio.create_task(opened.aclose())
    with anyio.fail_after(120):
        await processes.all_asked.wait()
        task.cancel()
        await asyncio.wait([task])
        processes.go.set()
        while processes.running:  # noqa: ASYNC110 (nobody waits for them any more)
            await anyio.sleep(0.01)
    await session.__aexit__(None, None, None)


async def test_a_process_that_starts_as_it_ends_is_ended_too() -> None:
    sandbox = ToySandbox()
    sandbox._processes = processes = Meeting()
    async with anyio.create_task_group() as group, Workspace(sandbox=sandbox).session() as session:
        session.own_process(sandbox, await processes.spawn("a"), ends_with_session=True)

        async def late() -> None:
            await processes.all_asked.wait()
            with pytest.raises(ClosedError, match="session has ended"):
                session.own_process(sandbox, await processes.spawn("late"), ends_with_session=True)
            session.own_process(sandbox, await processes.spawn("stays"), ends_with_session=False)
            processes.go.set()

        group.start_soon(late)
    with anyio.fail_after(120):
        while len(processes.running) > 1:  # noqa: ASYNC110 (nobody waits for it)
            await anyio.sleep(0.01)
    assert list(processes.running.values()) == ["stays"]


async def test_what_fails_at_the_end_of_a_forgotten_one_is_no_business_of_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sandbox = ToySandbox()
    processes = sandbox.processes
    assert processes is not None

    async def serve(call: Any, arguments: Any, plan: Any) -> Output:
        pid = await call.shell.processes.spawn("serve")
        call.session.own_process(call.shell, pid, ends_with_session=True)
        return Output(str(pid))

    workspace = Workspace(sandbox=sandbox, extra_tools=[tool("toy_serve", needs=Needs.SANDBOX, act=serve)])
    contexts = [RequestContext(request=number) for number in (1, 2)]
    for context in contexts:
        assert (await workspace.call_tool("toy_serve", {}, context)).ok
    assert list(processes.running) == [1, 2]
    processes.unkillable.add(1)
    del contexts, context
    gc.collect()
    await workspace.tools()
    assert list(processes.running) == [1]
    assert "context is gone" in caplog.text


async def test_after_its_end_it_refuses() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=ToySandbox())
    async with workspace.session() as session:
        pass
    for ask in (session.filesystem, session.sandbox, session.tools):
        with pytest.raises(ClosedError):
            await ask()
    result = await session.call_tool(FILES.FILE_STAT, {"path": "/"})
    assert result.error is not None
    assert result.error.code == "closed"
    await session.aclose()


async def test_destroying_the_workspace_ends_it() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem())
    async with workspace.session() as session:
        await workspace.destroy()
        with pytest.raises(ClosedError):
            await session.filesystem()


async def test_read_records_outlive_it_by_dump_and_load() -> None:
    memory = MemoryFilesystem()
    workspace = Workspace(filesystem=memory, tools=CAREFUL)
    await memory.write_text("/a", "one\n")
    await memory.write_text("/b", "one\n")
    async with workspace.session() as session:
        for path in ("/a", "/b"):
            assert (await session.call_tool(FILES.READ_FILE, {"path": path})).ok
        dumped = json.loads(json.dumps(session.dump()))
    await memory.write_text("/b", "two\n")

    async with workspace.session() as later:
        assert await code(later, "/a") == "read_required"
        later.load(dumped)
        assert await code(later, "/a") is None
        assert await code(later, "/b") == "stale"


@pytest.mark.parametrize("dumped", [{}, {"reads": None}, {"reads": {"x": [1]}}, {"reads": {"x": ["/a", "v"]}}])
async def test_what_cannot_be_loaded_must_be_read_again(dumped: dict[str, Any]) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "one\n")
    async with Workspace(filesystem=memory, tools=CAREFUL) as workspace, workspace.session() as session:
        session.load(dumped)
        assert await code(session, "/a") == "read_required"


async def code(session: Session, path: str) -> str | None:
    """The error code of a write."""
    result = await session.call_tool(FILES.WRITE_FILE, {"path": path, "content": "mine\n"})
    return None if result.error is None else result.error.code


async def test_an_unknown_name_is_answered_with_those_that_are_on_offer() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.GREP: {"enabled": lambda facts: False}})
    async with workspace.session() as session:
        await session.tools()
        with pytest.raises(ToolRefusedError, match="workspace_read_file") as caught:
            session.configured("read")
        assert caught.value.refusal == "unknown_tool"
        assert "workspace_grep" not in caught.value.message
        assert session.configured(FILES.GREP).enabled is False


async def test_its_own_approver_and_hooks_come_before_those_of_the_workspace() -> None:
    heard: list[str] = []

    async def never(request: ApprovalRequest) -> Approval:
        return Approval.refused()

    async def always(request: ApprovalRequest) -> Approval:
        return Approval.once()

    workspace = Workspace(
        filesystem=MemoryFilesystem(),
        approver=never,
        tools={"require_approval": True, "hooks": {"before_tool_call": lambda event: heard.append("workspace")}},
    )
    async with workspace.session(
        approver=always, hooks={"before_tool_call": lambda event: heard.append("agent")}
    ) as session:
        assert isinstance(session.hooks, Hooks)
        assert (await session.call_tool(FILES.FILE_STAT, {"path": "/"})).ok
    assert heard == ["agent", "workspace"]
    refused = await workspace.call_tool(FILES.FILE_STAT, {"path": "/"})
    assert refused.error is not None
    assert refused.error.code == "approval_refused"


async def test_the_time_of_the_last_use_is_kept() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem())
    before = workspace.last_accessed_at
    await workspace.call_tool(FILES.FILE_STAT, {"path": "/"})
    assert workspace.last_accessed_at > before
    assert workspace.created_at == before
