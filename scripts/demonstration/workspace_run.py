"""A scripted agent at work: it reads, edits, is refused as stale, is approved, tries to get out, and runs commands."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from scripts.demonstration.processes import Sleepers
from scripts.demonstration.report import Report

from moorage import Filesystem, MemoryFilesystem, RequestContext
from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    LocalSandbox,
    Session,
    ToolResult,
    Workspace,
    detect_isolation,
)

PLAN: Final = "# Plan\r\n\r\n1. read\r\n2. edit\r\n"
SECRET: Final = "glpat-AbCdEfGhIjKlMnOpQrSt"
RULES: Final = "# Rules\n\nBe kind.\n"
_FILES: Final = WORKSPACE_TOOLS.FILESYSTEM
_UNSANDBOXED: Final = "none"


class Agent:
    """Calls tools as a model would, shows what it got, and keeps what was asked for approval.

    Attributes:
        room: where its storages and its shell are on the disk.
        inside: what the path of a mount begins with in the shell.
    """

    def __init__(self, session: Session, report: Report, room: Path, isolation: str) -> None:
        self.session = session
        self.report = report
        self.room = room
        self.isolation = isolation
        self.inside = "." if isolation == _UNSANDBOXED else ""
        self.sleepers = Sleepers()
        self.asked: list[ApprovalRequest] = []

    async def call(self, name: str, **arguments: object) -> ToolResult:
        shown = ", ".join(f"{key}={str(value)[:40]!r}" for key, value in arguments.items())
        self.report.announce(f"\n> {name}({shown})")
        result = await self.session.call_tool(f"workspace_{name}", arguments)
        self.report.announce("\n".join(f"  {line}" for line in result.text.splitlines()[:14]))
        return result

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        self.report.announce(f"  approval asked: {request.summary} ({request.byte_count} bytes)")
        self.report.announce("\n".join(f"  | {line}" for line in request.diff.splitlines()[:12]))
        return Approval.refused("keep it") if "delete" in request.key else Approval.once()


def demonstrate_workspace() -> int:
    """Replay the session, print the report, and return the exit code."""
    started = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="moorage-demo-") as room:
        anyio.run(_run, Path(room), report)
    report.claim("nothing is left behind", f"removed: {Path(room).name}", not Path(room).exists())
    print()
    report.show()
    print(f"\n{report.verdict()} ({time.monotonic() - started:.1f} s)")
    return 0 if report.holds else 1


async def _run(room: Path, report: Report) -> None:
    isolation = detect_isolation()
    report.announce(f"commands are isolated by: {isolation}")
    (room / "rules").mkdir()
    (room / "rules" / "rules.md").write_text(RULES)
    workspace = Workspace(
        mounts={
            "/notes": LocalFilesystem(room / "notes"),
            "/rules": LocalFilesystem(room / "rules", read_only=True),
            "/scratch": MemoryFilesystem(),
        },
        sandbox=LocalSandbox(room / "shell", isolation=isolation),
        tools={
            _FILES.WRITE_FILE: {"require_read_before_write": True, "require_approval": True},
            _FILES.DELETE: {"require_approval": True},
        },
        secrets=["a-configured-secret"],
    )
    async with workspace, workspace.session() as session:
        agent = Agent(session, report, room, isolation)
        session.approver = agent.approve
        for number, (title, step) in enumerate(STEPS, 1):
            report.announce(f"\n{number}. {title}")
            await step(agent)
    await _see_what_is_left(agent)


async def _see_what_is_left(agent: Agent) -> None:
    running = agent.sleepers.running()
    agent.report.claim("no process is left", f"{running} found", running == 0)
    names = [name for _, directories, files in os.walk(agent.room) for name in (*directories, *files)]
    temporaries = [name for name in names if name.startswith(".moorage-")]
    agent.report.claim("no temporary file is left", f"{len(temporaries)} found", not temporaries)


async def _read_and_edit(agent: Agent) -> None:
    (agent.room / "notes" / "plan.md").write_bytes(PLAN.encode())
    await agent.call("list_files")
    seen = await agent.call("read_file", path="/notes/plan.md")
    edited = await agent.call("edit_file", path="/notes/plan.md", old_string="1. read\n2.", new_string="1. look\n2.")
    after = (agent.room / "notes" / "plan.md").read_bytes()
    agent.report.claim("it reads a file", f"{len(seen.text)} characters", seen.ok and "2. edit" in seen.text)
    agent.report.claim(
        "an edit written with LF changes a CRLF file's bytes and no others",
        repr(after.decode()),
        edited.ok and after == PLAN.replace("read", "look").encode(),
    )


async def _stale(agent: Agent) -> None:
    (agent.room / "notes" / "plan.md").write_bytes(b"somebody else's\n")
    refused = await agent.call("edit_file", path="/notes/plan.md", old_string="look", new_string="see")
    kept = (agent.room / "notes" / "plan.md").read_bytes() == b"somebody else's\n"
    code = refused.error.code if refused.error else "ok"
    agent.report.claim("what somebody changed since is not touched", code, code == "stale" and kept)


async def _approval(agent: Agent) -> None:
    await agent.call("read_file", path="/notes/plan.md")
    written = await agent.call("write_file", path="/notes/plan.md", content="agreed\n")
    deleted = await agent.call("delete", path="/notes/plan.md")
    diff = agent.asked[0].diff if agent.asked else ""
    agent.report.claim("a write is approved by its diff", f"{len(diff)} characters", written.ok and "+agreed" in diff)
    there = (agent.room / "notes" / "plan.md").exists()
    code = deleted.error.code if deleted.error else "ok"
    agent.report.claim("what is not approved is not done", code, code == "approval_refused" and there)


async def _secrets(agent: Agent) -> None:
    (agent.room / "notes" / "env").write_text(f"TOKEN={SECRET}\nNAME=a-configured-secret\nPORT=80\n")
    seen = await agent.call("read_file", path="/notes/env")
    hidden = SECRET not in seen.text and "a-configured-secret" not in seen.text and "PORT=80" in seen.text
    agent.report.claim("secrets are masked, the rest is shown", f"{len(seen.text)} characters", hidden)


async def _escape(agent: Agent) -> None:
    (agent.room / "secret").write_text("not for agents\n")
    (agent.room / "notes" / "way-out").symlink_to(agent.room / "secret")
    through_link = await agent.call("read_file", path="/notes/way-out")
    above = await agent.call("write_file", path="/notes/../../secret", content="mine\n")
    command = await agent.call("execute_command", command=f"cat {agent.inside}/notes/way-out")
    codes = [result.error.code if result.error else "ok" for result in (through_link, above)]
    kept = (agent.room / "secret").read_text() == "not for agents\n"
    agent.report.claim("no tool leads out", ", ".join(codes), codes == ["path_escape", "invalid_path"] and kept)
    shown = "not for agents" in command.text
    agent.report.claim(
        "a command does not get out either, if it is isolated",
        f"{agent.isolation}: {'shown' if shown else 'not shown'}",
        shown is (agent.isolation == _UNSANDBOXED),
    )


async def _read_only(agent: Agent) -> None:
    seen = await agent.call("read_file", path="/rules/rules.md")
    refused = await agent.call("edit_file", path="/rules/rules.md", old_string="kind", new_string="quick")
    at = f"{agent.inside}/rules/rules.md"
    command = await agent.call("execute_command", command=f"cat {at}; echo '# No rules' > {at}; rm -f {at}; true")
    kept = (agent.room / "rules" / "rules.md").read_text() == RULES
    code = refused.error.code if refused.error else "ok"
    agent.report.claim("what is read-only is read-only for tools", code, seen.ok and code == "read_only" and kept)
    shown = "Be kind." in command.text
    agent.report.claim(
        "and in the shell, which only shows it where that can be held",
        "shown" if shown else "not shown",
        kept and shown is not (agent.isolation == _UNSANDBOXED),
    )


async def _tenants(agent: Agent) -> None:
    own: dict[object, Filesystem] = {name: LocalFilesystem(agent.room / name) for name in ("acme", "globex")}
    write = {"path": "/me/plan.md", "content": "replaced\n"}
    careful = {_FILES.WRITE_FILE: {"require_read_before_write": True}}
    space = Workspace(mounts={"/me": lambda context: own[context["tenant"]]}, tools=careful)
    async with own["acme"], own["globex"], space:
        for name, files in own.items():
            await files.write_text("/plan.md", f"the plan of {name}\n")
        seen = await space.call_tool(_FILES.READ_FILE, {"path": "/me/plan.md"}, RequestContext(tenant="acme"))
        blind = await space.call_tool(_FILES.WRITE_FILE, write, RequestContext(tenant="globex"))
        agent.report.announce(f"  acme reads: {seen.text.splitlines()[-1].strip()}\n  globex writes: {blind.text}")
        plans = [(await files.read_text("/plan.md")).strip() for files in own.values()]
    code = blind.error.code if blind.error else "ok"
    agent.report.claim(
        "what one tenant has read, another has not",
        code,
        "acme" in seen.text and code == "read_required" and plans == ["the plan of acme", "the plan of globex"],
    )


async def _commands(agent: Agent) -> None:
    plan = f"{agent.inside}/notes/plan.md"
    shown = await agent.call("execute_command", command=f"cat {plan}; echo written by a command > {plan}")
    again = await agent.call("read_file", path="/notes/plan.md")
    agent.report.claim(
        "commands and tools see the same files",
        again.text.splitlines()[-1].strip(),
        shown.ok and "agreed" in shown.text and "written by a command" in again.text,
    )
    tree = f"{agent.sleepers.one()} & {agent.sleepers.one()}"
    slow = await agent.call("execute_command", command=tree, timeout=1)
    running = agent.sleepers.running()
    agent.report.claim(
        "a time limit ends the whole process tree",
        f"timed out: {slow.structured.get('timed_out')}, {running} run",
        slow.structured.get("timed_out") is True and running == 0,
    )


async def _background(agent: Agent) -> None:
    started = await agent.call("execute_command", command="echo ready; cat /dev/zero > /dev/null", background=True)
    pid = started.structured.get("pid")
    with anyio.move_on_after(30):
        while "ready" not in (await agent.call("get_process_output", pid=pid)).text:  # noqa: ASYNC110 (a process)
            await anyio.sleep(0.1)
    ended = await agent.call("kill_process", pid=pid)
    agent.report.claim(
        "a background process is read and ended by its pid", f"pid {pid}", ended.ok and "ready" in ended.text
    )
    await agent.call("execute_command", command=agent.sleepers.one(), background=True)  # the session's end ends it


STEPS: Final[tuple[tuple[str, Callable[[Agent], Awaitable[None]]], ...]] = (
    ("read and edit", _read_and_edit),
    ("edit what somebody else changed", _stale),
    ("ask before writing", _approval),
    ("read secrets", _secrets),
    ("try to get out", _escape),
    ("change what is read-only", _read_only),
    ("two tenants, one path", _tenants),
    ("run commands", _commands),
    ("run one in the background", _background),
)
