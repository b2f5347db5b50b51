"""What the specification says of the checks around a call: reading before writing, locks, approvals, redaction, audit,
and how much comes out, with the exact defaults. ``# better:`` marks where the reference goes wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import pytest

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import (
    MASK,
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    AuditEvent,
    ChangedSinceReadError,
    FileReadRequiredError,
    HookEvent,
    Hooks,
    LocalSandbox,
    Refusal,
    Session,
    ToolResult,
    Workspace,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
SHELL = WORKSPACE_TOOLS.SANDBOX
READ_FIRST: Mapping[str, Any] = {
    key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)
}
ASK: Mapping[str, Any] = {"require_approval": True}


def code(result: ToolResult) -> str:
    assert result.error is not None, result.text
    return result.error.code


@pytest.fixture
async def memory() -> MemoryFilesystem:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "one\ntwo\nthree\n")
    return memory


# Read before write, locks


async def reading(session: Session, **arguments: object) -> None:
    assert (await session.call_tool(FILES.READ_FILE, {"path": "/a", **arguments})).ok


async def writing(session: Session, content: str) -> ToolResult:
    return await session.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": content})


async def test_a_file_must_have_been_read_and_be_as_it_was(memory: MemoryFilesystem) -> None:
    assert issubclass(ChangedSinceReadError, FileReadRequiredError)
    async with Workspace(filesystem=memory, tools=READ_FIRST).session() as session:
        assert code(await writing(session, "unread")) == "read_required"
        await session.call_tool(FILES.FILE_STAT, {"path": "/a"})
        assert code(await writing(session, "looked at")) == "read_required"
        await reading(session)
        await memory.write_text("/a", "theirs\n")
        assert code(await writing(session, "stale")) == "stale"
        await reading(session)
        await memory.write_text("/a", "theirs\n")
        assert (await writing(session, "the same bytes are no change\n")).ok
        assert (await writing(session, "its own write counts as read\n")).ok
        await memory.delete("/a")
        assert code(await writing(session, "gone")) == "stale"
        assert not await memory.exists("/a")
        new = await session.call_tool(FILES.WRITE_FILE, {"path": "/new", "content": "needs no read"})
        assert new.ok


async def test_a_known_version_is_passed_whether_reading_is_required_or_not(memory: MemoryFilesystem) -> None:
    async with Workspace(filesystem=memory).session() as session:
        await reading(session)
        await memory.write_text("/a", "theirs")
        assert code(await writing(session, "mine")) == "stale"
    assert await memory.read_text("/a") == "theirs"


async def test_a_failed_edit_keeps_the_record(memory: MemoryFilesystem) -> None:
    # better: the reference forgets the read, so that the next write is refused
    async with Workspace(filesystem=memory, tools=READ_FIRST).session() as session:
        await reading(session)
        edit = {"path": "/a", "old_string": "nowhere", "new_string": "x"}
        assert code(await session.call_tool(FILES.EDIT_FILE, edit)) == "no_match"
        assert (await writing(session, "still allowed")).ok


async def test_a_partial_read_or_mere_metadata_is_no_read_of_the_rest(memory: MemoryFilesystem) -> None:
    # better: in the reference one line, or none, counts as the file
    async with Workspace(filesystem=memory, tools=READ_FIRST).session() as session:
        await reading(session, limit=1)
        assert code(await writing(session, "all")) == "read_required"
        for old, expected in (("three", "read_required"), ("one", None)):
            edit = {"path": "/a", "old_string": old, "new_string": "x"}
            result = await session.call_tool(FILES.EDIT_FILE, edit)
            assert (None if result.ok else code(result)) == expected


async def test_records_are_per_session_and_survive_a_dump(memory: MemoryFilesystem) -> None:
    workspace = Workspace(filesystem=memory, tools=READ_FIRST)
    async with workspace.session() as session, workspace.session() as other:
        await reading(session)
        assert code(await writing(other, "somebody else read it")) == "read_required"
        other.load(session.dump())
        assert (await writing(other, "now it is known")).ok


async def test_a_waiter_that_times_out_never_writes_later(memory: MemoryFilesystem) -> None:
    # better: in the reference it stays in the queue, and writes when its turn comes
    entered, release = anyio.Event(), anyio.Event()

    async def before(event: HookEvent) -> None:
        if event.input["content"] == "first":
            entered.set()
            await release.wait()

    tools = {"write_lock_timeout": 0.01, "hooks": Hooks(before)}
    workspace = Workspace(filesystem=memory, tools=tools)
    async with workspace.session() as one, workspace.session() as other, anyio.create_task_group() as group:
        group.start_soon(writing, one, "first")
        await entered.wait()
        late = await writing(other, "late")
        assert (code(late), late.error.retryable if late.error else None) == ("lock_timeout", True)
        release.set()
    assert await memory.read_text("/a") == "first"


async def test_locks_are_of_the_file_and_not_of_its_path(tmp_path: Any) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    entered, release = anyio.Event(), anyio.Event()

    async def before(event: HookEvent) -> None:
        if event.input["path"] == "/a":
            entered.set()
            await release.wait()

    workspace = Workspace(
        filesystem=LocalFilesystem(tmp_path), tools={"write_lock_timeout": 0.01, "hooks": Hooks(before)}
    )
    async with workspace, anyio.create_task_group() as group:
        group.start_soon(workspace.call_tool, FILES.WRITE_FILE, {"path": "/a", "content": "first"})
        await entered.wait()
        late = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/link", "content": "late"})
        assert code(late) == "lock_timeout"
        release.set()
    assert (tmp_path / "a").read_text() == "first"


def test_the_codes_are_stable() -> None:
    assert [str(refusal) for refusal in Refusal] == [
        *("unknown_tool", "disabled", "invalid_arguments", "policy", "masked_content", "no_match", "not_unique"),
        *("binary", "too_large", "approval_refused", "approval_timeout", "approval_unavailable", "lock_timeout"),
        "pattern",
    ]
    assert (FileReadRequiredError.code, ChangedSinceReadError.code) == ("read_required", "stale")


# Approval


class ManualClock:
    def __init__(self) -> None:
        self.slept: list[float] = []
        self.passed = anyio.Event()

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.passed.wait()


async def test_nobody_is_asked_about_what_cannot_be_done(memory: MemoryFilesystem) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    workspace = Workspace(filesystem=memory, tools={"require_approval": True}, approver=approver)
    for name, arguments in (
        (FILES.EDIT_FILE, {"path": "/a", "old_string": "nowhere", "new_string": "x"}),
        (FILES.WRITE_FILE, {"path": "/a", "content": 3}),
        (FILES.DELETE, {"path": "/"}),
    ):
        assert not (await workspace.call_tool(name, arguments)).ok
    assert asked == []


async def test_what_a_request_carries(memory: MemoryFilesystem) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.once()

    workspace = Workspace(filesystem=memory, tools={FILES.EDIT_FILE: {**ASK, "name": "edit"}}, approver=approver)
    edit = {"path": "x/../a", "old_string": "two", "new_string": "2"}
    assert code(await workspace.call_tool("edit", edit)) == "invalid_path"
    assert (await workspace.call_tool("edit", {**edit, "path": ".//a"})).ok
    (request,) = asked
    assert (request.tool, request.key, request.paths) == ("edit", FILES.EDIT_FILE, ("/a",))
    assert request.arguments["new_string"] == "2"
    assert "-two\n+2\n" in request.diff
    assert (request.byte_count, bool(request.id)) == (len("one\n2\nthree\n"), True)


async def test_no_answer_within_two_minutes_is_a_refusal(memory: MemoryFilesystem) -> None:
    clock = ManualClock()

    async def approver(request: ApprovalRequest) -> Approval:
        clock.passed.set()
        await anyio.sleep_forever()
        raise AssertionError

    workspace = Workspace(filesystem=memory, tools={FILES.DELETE: ASK}, approver=approver, clock=clock)
    result = await workspace.call_tool(FILES.DELETE, {"path": "/a"})
    assert (code(result), clock.slept) == ("approval_timeout", [120.0])
    assert "do not try it again unless you are asked to" in result.text
    assert await memory.exists("/a")


async def test_an_approval_is_void_once_the_file_moved_and_the_new_diff_is_shown(memory: MemoryFilesystem) -> None:
    diffs: list[str] = []

    async def approver(request: ApprovalRequest) -> Approval:
        diffs.append(request.diff)
        if len(diffs) == 1:
            await memory.write_text("/a", "zero\none\n")
        return Approval.once()

    workspace = Workspace(filesystem=memory, tools={FILES.WRITE_FILE: ASK}, approver=approver)
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "mine\n"})).ok
    assert ["-zero" in diff for diff in diffs] == [False, True]


async def test_an_approval_is_kept_by_the_rule_that_was_shown(memory: MemoryFilesystem) -> None:
    asked: list[tuple[str, str]] = []

    async def approver(request: ApprovalRequest) -> Approval:
        asked.append((request.paths[0], request.rule))
        return Approval.for_session()

    workspace = Workspace(filesystem=memory, tools={FILES.WRITE_FILE: ASK}, approver=approver)
    async with workspace.session() as session:
        for path in ("/out/a", "/out/b/c", "/out2/a"):
            assert (await session.call_tool(FILES.WRITE_FILE, {"path": path, "content": "x"})).ok
    assert asked == [
        ("/out/a", "workspace_write_file under /out/**"),
        ("/out2/a", "workspace_write_file under /out2/**"),
    ]


# Redaction and audit


async def test_the_mask_is_refused_by_what_writes(memory: MemoryFilesystem) -> None:
    await memory.write_text("/a", "Authorization: Bearer abcdefghijklmnop\npassword = hunter22\n")
    workspace = Workspace(filesystem=memory, secrets=["a literal secret"])
    shown = (await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})).text
    assert (shown.count(MASK), "hunter22" in shown, "abcdefghijklmnop" in shown) == (2, False, False)
    for name, arguments in (
        (FILES.WRITE_FILE, {"path": "/a", "content": f"password = {MASK}"}),
        (FILES.EDIT_FILE, {"path": "/a", "old_string": "password", "new_string": MASK}),
    ):
        assert code(await workspace.call_tool(name, arguments)) == "masked_content"
    assert "hunter22" in await memory.read_text("/a")


async def test_an_audit_event_has_no_path_argument_content_or_secret(memory: MemoryFilesystem) -> None:
    assert [field.name for field in fields(AuditEvent)] == [
        *("tool", "action", "approved", "outcome", "error_code", "duration", "at"),
    ]
    events: list[AuditEvent] = []
    workspace = Workspace(filesystem=memory, audit=[events.append], tools={FILES.DELETE: ASK})
    await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})
    await workspace.call_tool(FILES.DELETE, {"path": "/a"})
    assert [(event.action, event.approved, str(event.outcome), event.error_code) for event in events] == [
        (FILES.READ_FILE, None, "ok", None),
        (FILES.DELETE, False, "refused", "approval_unavailable"),
    ]
    assert "/a" not in "".join(event.as_json() for event in events)


# How much comes out


def lines(text: str) -> int:
    """A token a line, so that caps can be read off."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


def nearly(most: int) -> range:
    """A cap may leave one part in 32 unused."""
    return range(most - most // 32, most + 1)


async def test_files_keep_the_start_up_to_2000_tokens_and_listings_1000(memory: MemoryFilesystem) -> None:
    await memory.write_text("/long", "".join(f"line {number}\n" for number in range(1, 5_001)))
    for number in range(1_100):
        await memory.write_text(f"/many/{number:04}", "")
    tools = {FILES.LIST_FILES: {"max_entries": 5_000}}
    workspace = Workspace(filesystem=memory, count_tokens=lines, tools=tools)
    read = (await workspace.call_tool(FILES.READ_FILE, {"path": "/long"})).text.splitlines()
    shown = len(read) - 2
    assert shown in nearly(2_000)
    assert read[1:-1] == [f"{number:>6}→line {number}" for number in range(1, shown + 1)]
    assert read[-1] == f"[{5_000 - shown:,} more lines are not shown; read on with offset={shown + 1}]"
    listed = (await workspace.call_tool(FILES.LIST_FILES, {"path": "/many"})).text.splitlines()
    shown = sum(line.startswith("\t") for line in listed)
    assert shown + 1 in nearly(1_000)
    assert listed[1 : shown + 1] == [f"\t{number:04}" for number in range(shown)]
    assert f"{1_100 - shown:,} more" in listed[shown + 1]
    own = Workspace(filesystem=memory, count_tokens=lines, tools={FILES.READ_FILE: {"max_output_tokens": 7}})
    assert "offset=8]" in (await own.call_tool(FILES.READ_FILE, {"path": "/long"})).text


async def test_commands_keep_a_tenth_of_the_head_and_the_rest_of_the_tail(tmp_path: Path) -> None:
    async with Workspace(sandbox=LocalSandbox(tmp_path), count_tokens=lines) as workspace:
        result = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": "seq 5000", "tail": 0})
    _, _, body = result.text.partition("stdout:\n")
    head, _, rest = body.partition("[... ")
    left_out, _, tail = rest.partition(" lines left out ...]\n")
    first, last = [int(line) for line in head.split()], [int(line) for line in tail.split()]
    assert first == [*range(1, len(first) + 1)]
    assert last == [*range(5_001 - len(last), 5_001)]
    assert len(first) + 1 in nearly(200), "the name of the stream is the first line of the head"
    assert len(first) + 1 + len(last) in nearly(2_000)
    assert int(left_out.replace(",", "")) == 5_000 - len(first) - len(last)
    assert "to see it, write the output to a file and read parts of that" in result.text


async def test_commands_show_their_last_200_lines_without_escapes(tmp_path: Path) -> None:
    async with Workspace(sandbox=LocalSandbox(tmp_path)) as workspace:
        command = {"command": "printf '\\033[31mred\\033[0m\\n'; seq 300"}
        whole = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {**command, "tail": 0})
        assert "stdout:\nred\n1\n" in whole.text
        shown = (await workspace.call_tool(SHELL.EXECUTE_COMMAND, command)).text
        assert [int(line) for line in shown.splitlines() if line.isdigit()] == [*range(101, 301)]
        assert "101 earlier lines are not shown; tail=0 shows all that were kept" in shown
