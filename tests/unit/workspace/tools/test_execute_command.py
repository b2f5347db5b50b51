"""execute_command: what a model is told of a command, in a real shell."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moorage_workspace import MASK, WORKSPACE_TOOLS, ApprovalRequest, LocalSandbox, Session, ToolResult, Workspace
from moorage_workspace.approval import Approval

pytestmark = pytest.mark.anyio

EXECUTE = WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND
TOKEN = "glpat-" + "aB3dE5gH7jK9mN1pQ3sT"


@pytest.fixture
def sandbox(tmp_path: Path) -> LocalSandbox:
    return LocalSandbox(tmp_path / "work", env={"SHOWN": "yes"})


@pytest.fixture
async def session(sandbox: LocalSandbox) -> AsyncIterator[Session]:
    async with Workspace(sandbox=sandbox) as workspace, workspace.session() as session:
        yield session


async def run(session: Session, command: str, **arguments: Any) -> ToolResult:
    return await session.call_tool(EXECUTE, {"command": command, **arguments})


def lines(result: ToolResult) -> list[str]:
    return result.text.splitlines()


async def test_a_command_that_fails_is_a_result(session: Session) -> None:
    result = await run(session, "echo out; echo err >&2; exit 3")
    assert result.ok
    assert lines(result)[0].startswith("exit code 3 after ")
    assert lines(result)[1:] == ["stdout:", "out", "stderr:", "err"]
    assert {key: result.structured[key] for key in ("exit_code", "stdout", "stderr", "timed_out", "killed")} == {
        "exit_code": 3,
        "stdout": "out",
        "stderr": "err",
        "timed_out": False,
        "killed": False,
    }


async def test_silence_is_said(session: Session) -> None:
    assert lines(await run(session, "true"))[1:] == ["(no output)"]


async def test_a_time_limit_is_said_with_what_came_before(session: Session) -> None:
    result = await run(session, "echo early; sleep 600", timeout=1)
    assert lines(result)[0].startswith("timed out after 1.")
    assert lines(result)[1:] == ["stdout:", "early"]
    assert result.structured["timed_out"] is True


@pytest.mark.parametrize("limit", [0, -1, math.nan, "5"])
async def test_a_time_limit_that_is_none_is_refused(session: Session, limit: object) -> None:
    result = await run(session, "true", timeout=limit)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_the_last_200_lines_of_each_stream_are_shown(session: Session) -> None:
    result = await run(session, "seq 1 250; seq 1001 1300 >&2")
    assert result.structured["stdout"] == "\n".join(map(str, range(51, 251)))
    assert result.structured["stderr"] == "\n".join(map(str, range(1101, 1301)))
    assert lines(result)[1:3] == [
        "[stdout: 50 earlier lines are not shown; tail=0 shows all that were kept]",
        "[stderr: 100 earlier lines are not shown; tail=0 shows all that were kept]",
    ]


async def test_tail_chooses_and_0_shows_all(session: Session) -> None:
    assert lines(await run(session, "seq 5", tail=2))[2:] == ["stdout:", "4", "5"]
    assert lines(await run(session, "seq 500", tail=0))[1:] == ["stdout:", *map(str, range(1, 501))]


async def test_what_is_too_long_keeps_its_ends_mostly_the_end(session: Session) -> None:
    result = await run(session, "seq 100001 110000", tail=0)
    seen = [int(line) for line in lines(result) if line.isdigit()]
    assert (seen[0], seen[-1]) == (100_001, 110_000)
    gap = next(index for index in range(1, len(seen)) if seen[index] != seen[index - 1] + 1)
    assert gap * 4 < len(seen) < 2_000
    assert any("left out" in line and "file" in line for line in lines(result))


async def test_bytes_that_were_not_kept_are_said(session: Session) -> None:
    result = await run(session, "yes 0123456 | head -c 3000000", tail=1)
    dropped = result.structured["dropped_stdout_bytes"]
    assert isinstance(dropped, int)
    assert dropped > 1_900_000
    assert f"[stdout: the first {dropped:,} bytes were not kept" in result.text


async def test_colours_and_cursors_are_taken_out(session: Session) -> None:
    result = await run(session, r"printf '\033[1;31mred\033[0m \033]0;title\007done\n10%%\r100%%\n'")
    assert result.structured["stdout"] == "red done\n100%"


async def test_secrets_are_hidden_even_where_colours_or_the_tail_cut_them(session: Session) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{'QUJD' * 16}\n{'REVG' * 16}\n-----END PRIVATE KEY-----\n"
    Path(session_directory(session), "key").write_text(key)
    result = await run(session, f"printf '{TOKEN[:9]}\\033[0m{TOKEN[9:]}\\n'; cat key", tail=2)
    assert TOKEN not in result.text
    assert "REVG" not in f"{result.text} {result.structured}"
    assert MASK in (await run(session, f"echo {TOKEN}")).text


def session_directory(session: Session) -> str:
    sandbox = session.workspace.sandbox
    assert sandbox is not None
    return sandbox.get_info().working_directory


async def test_host_paths_are_hidden(session: Session, tmp_path: Path) -> None:
    for command in ("pwd; pwd >&2", "ls no-such-file", f"cat {tmp_path}/work/none"):
        result = await run(session, command)
        assert str(tmp_path / "work") not in f"{result.text} {result.structured}"


async def test_a_place_that_leads_out_is_refused(session: Session, tmp_path: Path) -> None:
    result = await run(session, "touch made", cwd="..")
    assert result.error is not None
    assert result.error.code == "sandbox"
    assert not (tmp_path / "made").exists()


async def test_it_runs_where_it_was_told(session: Session) -> None:
    assert (await run(session, "mkdir -p a/b; basename $PWD", cwd=".")).structured["exit_code"] == 0
    assert (await run(session, "basename $PWD", cwd="a/b")).structured["stdout"] == "b"


async def test_somebody_asked_sees_the_command_without_secrets(sandbox: LocalSandbox) -> None:
    asked: list[ApprovalRequest] = []

    async def refuse(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval.refused()

    tools = {"require_approval": True}
    async with Workspace(sandbox=sandbox, tools=tools, approver=refuse) as workspace, workspace.session() as session:
        result = await run(session, f"touch made; echo {TOKEN}", background=True)
    assert result.error is not None
    assert result.error.code == "approval_refused"
    assert "run in the background: touch made" in asked[0].summary
    assert TOKEN not in repr(asked[0])
    assert not Path(sandbox.get_info().working_directory, "made").exists()
