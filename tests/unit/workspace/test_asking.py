"""When somebody is asked, about what, and what their answer is good for."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.unit.workspace.on_memory import ASK, workspace

from moorage import MemoryFilesystem, StoragePath
from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    ApprovalRule,
    Workspace,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


class ManualClock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self.passed = anyio.Event()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.passed.wait()


@pytest.fixture
def memory() -> MemoryFilesystem:
    return MemoryFilesystem()


async def test_nothing_is_asked_about_what_cannot_be_done(memory: MemoryFilesystem) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    await memory.write_text("/a", "one\none\n")
    tools = {FILES.EDIT_FILE: ASK, FILES.WRITE_FILE: {**ASK, "max_write_bytes": 3}}
    async with workspace(memory, tools=tools, approver=approver) as space:
        for name, arguments in (
            ("workspace_edit_file", {"path": "/a", "old_string": "", "new_string": "x"}),
            ("workspace_edit_file", {"path": "/a", "old_string": "one", "new_string": "x"}),
            ("workspace_edit_file", {"path": "/a", "old_string": "two", "new_string": "x"}),
            ("workspace_edit_file", {"path": "/missing", "old_string": "two", "new_string": "x"}),
            ("workspace_write_file", {"path": "/../a", "content": "x"}),
            ("workspace_write_file", {"path": "/a", "content": "four"}),
            ("workspace_write_file", {"path": "/a"}),
        ):
            assert not (await space.call_tool(name, arguments)).ok
    assert asked == []


async def test_the_request_has_the_diff_the_target_and_the_rule(memory: MemoryFilesystem) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    await memory.write_text("/out/a", "one\ntwo\n")
    async with workspace(memory, tools={FILES.EDIT_FILE: ASK}, approver=approver) as space:
        result = await space.call_tool(
            "workspace_edit_file", {"path": "out//a", "old_string": "two", "new_string": "2"}
        )
        assert result.ok
    (request,) = asked
    assert request.paths == ("/out/a",)
    assert "-two\n+2\n" in request.diff
    assert request.byte_count == 6
    assert request.rule == "workspace_edit_file under /out/**"


async def test_a_refusal_is_told_and_nothing_is_done(memory: MemoryFilesystem) -> None:
    async def approver(request: ApprovalRequest) -> Approval:
        return Approval.refused("not on Mondays")

    async with workspace(memory, tools={FILES.WRITE_FILE: ASK}, approver=approver) as space:
        result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "x"})
    assert result.error is not None
    assert result.error.code == "approval_refused"
    assert "not on Mondays" in result.text
    assert not await memory.exists("/a")


async def test_without_anybody_to_ask_nothing_is_done(memory: MemoryFilesystem) -> None:
    async with workspace(memory, tools={FILES.WRITE_FILE: ASK}) as space:
        result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "x"})
    assert result.error is not None
    assert result.error.code == "approval_unavailable"
    assert not await memory.exists("/a")


async def test_silence_is_a_refusal_after_two_minutes(memory: MemoryFilesystem) -> None:
    clock, cancelled = ManualClock(), list[bool]()

    async def approver(request: ApprovalRequest) -> Approval:
        clock.passed.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(True)
            raise
        return Approval.once()

    async with workspace(memory, tools={FILES.WRITE_FILE: ASK}, approver=approver, clock=clock) as space:
        result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "x"})
    assert result.error is not None
    assert result.error.code == "approval_timeout"
    assert (clock.slept, cancelled) == ([120.0], [True])
    assert not await memory.exists("/a")


async def test_an_approval_is_void_when_the_file_moved_meanwhile(memory: MemoryFilesystem) -> None:
    diffs: list[str] = []

    async def approver(request: ApprovalRequest) -> Approval:
        diffs.append(request.diff)
        if len(diffs) == 1:
            await memory.write_text("/a", "theirs\none\n")
        return Approval.once()

    await memory.write_text("/a", "one\n")
    async with workspace(memory, tools={FILES.EDIT_FILE: ASK}, approver=approver) as space:
        result = await space.call_tool("workspace_edit_file", {"path": "/a", "old_string": "one", "new_string": "1"})
    assert result.ok
    assert len(diffs) == 2
    assert "theirs" in diffs[1]
    assert await memory.read_text("/a") == "theirs\n1\n"


async def test_one_who_had_read_it_is_stale_after_the_approval(memory: MemoryFilesystem) -> None:
    async def approver(request: ApprovalRequest) -> Approval:
        await memory.write_text("/a", "theirs\n")
        return Approval.once()

    await memory.write_text("/a", "one\n")
    async with workspace(memory, tools={FILES.WRITE_FILE: ASK}, approver=approver) as space:
        await space.call_tool("workspace_read_file", {"path": "/a"})
        result = await space.call_tool("workspace_write_file", {"path": "/a", "content": "mine\n"})
    assert result.error is not None
    assert result.error.code == "stale"
    assert await memory.read_text("/a") == "theirs\n"


async def test_a_file_that_never_rests_is_given_up(memory: MemoryFilesystem) -> None:
    asked: list[str] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request.id)
        await memory.write_text("/a", f"one {len(asked)}\n")
        return Approval.once()

    await memory.write_text("/a", "one\n")
    async with workspace(memory, tools={FILES.EDIT_FILE: ASK}, approver=approver) as space:
        result = await space.call_tool("workspace_edit_file", {"path": "/a", "old_string": "one", "new_string": "1"})
    assert result.error is not None
    assert result.error.code == "stale"
    assert len(asked) == len(set(asked)) == 3


async def test_a_rule_that_was_kept_answers_for_what_it_says_and_no_more(memory: MemoryFilesystem) -> None:
    asked: list[str] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(str(request.paths[0]))
        return Approval.for_session()

    async with workspace(memory, tools={FILES.WRITE_FILE: ASK, FILES.MKDIR: ASK}, approver=approver) as space:
        async with space.session() as session:
            for path in ("/out/a", "/out/a", "/out/b/c", "/output", "/top", "/other"):
                assert (await session.call_tool("workspace_write_file", {"path": path, "content": "x"})).ok
            await session.call_tool("workspace_mkdir", {"path": "/out/d"})
        async with space.session() as other:
            await other.call_tool("workspace_write_file", {"path": "/out/z", "content": "x"})
    assert asked == ["/out/a", "/output", "/top", "/other", "/out/d", "/out/z"]


async def test_a_rule_of_the_applications_own_is_followed_but_not_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "out" / "link").symlink_to("../elsewhere")
    space = Workspace(filesystem=LocalFilesystem(tmp_path), tools={FILES.WRITE_FILE: ASK})
    async with space, space.session() as session:
        session.rules.keep(ApprovalRule(FILES.WRITE_FILE, below=StoragePath("/out")))
        assert (await session.call_tool("workspace_write_file", {"path": "/out/new", "content": "x"})).ok
        result = await session.call_tool("workspace_write_file", {"path": "/out/link", "content": "x"})
    assert result.error is not None
    assert result.error.code == "approval_unavailable"
    assert (tmp_path / "elsewhere").read_text() == "kept"


async def test_approvals_of_two_tenants_never_cross(memory: MemoryFilesystem) -> None:
    waiting: dict[str, anyio.Event] = {"a": anyio.Event(), "b": anyio.Event()}
    asked: dict[str, ApprovalRequest] = {}

    async def approver(request: ApprovalRequest) -> Approval:
        tenant = str(request.context["tenant"])
        asked[tenant] = request
        await waiting[tenant].wait()
        return Approval.once() if tenant == "a" else Approval.refused()

    results: dict[str, bool] = {}
    async with workspace(memory, tools={FILES.WRITE_FILE: ASK}, approver=approver) as space:

        async def write(tenant: str) -> None:
            async with space.session({"tenant": tenant}) as session:
                arguments = {"path": f"/{tenant}", "content": tenant}
                results[tenant] = (await session.call_tool("workspace_write_file", arguments)).ok

        async with anyio.create_task_group() as group:
            group.start_soon(write, "a")
            group.start_soon(write, "b")
            await anyio.wait_all_tasks_blocked()
            waiting["b"].set()
            await anyio.wait_all_tasks_blocked()
            assert results == {"b": False}
            waiting["a"].set()
    assert results == {"a": True, "b": False}
    assert asked["a"].id != asked["b"].id
    assert (await memory.exists("/a"), await memory.exists("/b")) == (True, False)
