"""Every call of every tool: the steps, their order, and what comes out when one refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from moorage import Filesystem, MemoryFilesystem, MoorageError, ReadOnlyError, StoragePath
from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    ApprovalRule,
    Hooks,
    Sandbox,
    Session,
    Workspace,
)
from moorage_workspace.audit import AuditEvent
from moorage_workspace.redaction import MASK

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
ASK: Mapping[str, Any] = {"require_approval": True}


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


def workspace(memory: MemoryFilesystem, **options: Any) -> Workspace:
    return Workspace(filesystem=Filesystem(memory.provider), **options)


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


async def test_a_touch_is_no_change(memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "one\n")
    async with workspace(memory) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        await memory.write_text("/a", "one\n")
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})).ok


async def test_what_was_deleted_since_is_not_recreated(memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "one\n")
    async with workspace(memory) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        await memory.delete("/a")
        result = await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})
        assert result.error is not None
        assert result.error.code == "stale"
        assert not await memory.exists("/a")


async def test_ones_own_writes_are_known(memory: MemoryFilesystem) -> None:
    careful = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}
    async with workspace(memory, tools=careful) as space, space.session() as session:
        for arguments in ({"content": "one\n"}, {"content": "two\n"}):
            assert (await session.call_tool("workspace_write_file", {"path": "/a", **arguments})).ok
        edit = {"path": "/a", "old_string": "two", "new_string": "three"}
        assert (await session.call_tool("workspace_edit_file", edit)).ok
        failing = await session.call_tool("workspace_edit_file", edit)
        assert not failing.ok
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "four\n"})).ok


async def test_a_partial_read_is_not_a_read_of_the_rest(memory: MemoryFilesystem) -> None:
    careful = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}
    await memory.write_text("/a", "".join(f"line {number}\n" for number in range(10)))
    async with workspace(memory, tools=careful) as space, space.session() as session:
        await session.call_tool("workspace_file_stat", {"path": "/a"})
        await session.call_tool("workspace_read_file", {"path": "/a", "limit": 3})
        for name, arguments in (
            ("workspace_write_file", {"path": "/a", "content": "x"}),
            ("workspace_edit_file", {"path": "/a", "old_string": "line 5", "new_string": "x"}),
        ):
            result = await session.call_tool(name, arguments)
            assert result.error is not None
            assert result.error.code == "read_required"
        edit = {"path": "/a", "old_string": "line 1", "new_string": "x"}
        assert (await session.call_tool("workspace_edit_file", edit)).ok
        await session.call_tool("workspace_read_file", {"path": "/a", "offset": 4})
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "x"})).ok


async def test_records_survive_a_suspension(memory: MemoryFilesystem) -> None:
    careful = {FILES.WRITE_FILE: {"require_read_before_write": True}}
    await memory.write_text("/a", "one\n")
    async with workspace(memory, tools=careful) as space, space.session() as session:
        await session.call_tool("workspace_read_file", {"path": "/a"})
        dumped = session.dump()
    async with workspace(memory, tools=careful) as space, space.session() as session:
        session.load(dumped)
        assert (await session.call_tool("workspace_write_file", {"path": "/a", "content": "two\n"})).ok


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
