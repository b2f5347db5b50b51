"""Background processes by the tools: a pid, its output, its end, and whose it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from moorage import ConfigError, RequestContext
from moorage_workspace import MASK, WORKSPACE_TOOLS, LocalSandbox, Sandbox, Session, ToolResult, Workspace

pytestmark = pytest.mark.anyio

SHELL = WORKSPACE_TOOLS.SANDBOX
TOKEN = "glpat-" + "aB3dE5gH7jK9mN1pQ3sT"


class Heard:
    """An application that listens."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, int]] = []
        self.ended: list[Any] = []
        self.first, self.over = anyio.Event(), anyio.Event()

    def options(self, **more: Any) -> dict[str, Any]:
        return {
            SHELL.EXECUTE_COMMAND: {
                "background_processes": {
                    "on_stdout": lambda data, meta: self._note("out", data, meta.pid),
                    "on_stderr": lambda data, meta: self._note("err", data, meta.pid),
                    "on_exit": self._end,
                    **more,
                }
            }
        }

    def text(self, stream: str) -> str:
        return "".join(data for name, data, _ in self.said if name == stream)

    def _note(self, stream: str, data: str, pid: int) -> None:
        self.said.append((stream, data, pid))
        self.first.set()

    def _end(self, meta: Any) -> None:
        self.ended.append(meta)
        self.over.set()


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[LocalSandbox]:
    sandbox = LocalSandbox(tmp_path / "work")
    yield sandbox
    await sandbox.destroy()


@pytest.fixture
async def session(sandbox: LocalSandbox) -> AsyncIterator[Session]:
    async with Workspace(sandbox=sandbox) as workspace, workspace.session() as session:
        yield session


async def spawn(session: Session, command: str) -> int:
    result = await session.call_tool(SHELL.EXECUTE_COMMAND, {"command": command, "background": True})
    assert result.ok, result.text
    pid = result.structured["pid"]
    assert isinstance(pid, int)
    assert f"pid {pid}" in result.text
    return pid


async def output(session: Session, pid: int, **arguments: Any) -> ToolResult:
    return await session.call_tool(SHELL.GET_PROCESS_OUTPUT, {"pid": pid, **arguments})


async def kill(session: Session, pid: int) -> ToolResult:
    return await session.call_tool(SHELL.KILL_PROCESS, {"pid": pid})


async def said(session: Session, pid: int, text: str) -> ToolResult:
    """The first output that has this text."""
    with anyio.fail_after(60):
        while True:
            result = await output(session, pid)
            if text in result.text:
                return result
            await anyio.sleep(0.02)


async def is_running(sandbox: Sandbox, pid: int) -> bool:
    assert sandbox.processes is not None
    return (await sandbox.processes.get(pid)).running


async def test_output_while_it_runs_and_when_it_has_ended(session: Session, sandbox: LocalSandbox) -> None:
    pid = await spawn(session, "echo early; until [ -e go ]; do sleep 0.05; done; echo late >&2; exit 4")
    result = await said(session, pid, "early")
    assert result.text.startswith(f"process {pid}: running for ")
    assert (result.structured["running"], result.structured["exit_code"]) == (True, None)
    await sandbox.write_files({"go": b""})
    result = await output(session, pid, wait=True)
    assert result.text.startswith(f"process {pid}: exit code 4 after ")
    assert (result.structured["stdout"], result.structured["stderr"]) == ("early", "late")
    assert (result.structured["running"], result.structured["exit_code"]) == (False, 4)


async def test_tail_holds_for_background_output_too(session: Session) -> None:
    pid = await spawn(session, "seq 300")
    assert (await output(session, pid, wait=True)).structured["stdout"] == "\n".join(map(str, range(101, 301)))
    assert (await output(session, pid, tail=2)).structured["stdout"] == "299\n300"


async def test_killing_gives_the_last_50_lines(session: Session, sandbox: LocalSandbox) -> None:
    pid = await spawn(session, "seq 80; sleep 600")
    await said(session, pid, "\n80")
    result = await kill(session, pid)
    assert result.ok
    assert result.structured["stdout"] == "\n".join(map(str, range(31, 81)))
    assert result.structured["killed"] is True
    assert "was ended after" in result.text
    again = await kill(session, pid)
    assert "had ended already" in again.text
    assert not await is_running(sandbox, pid)


async def test_a_pid_that_is_nobodys_is_a_result(session: Session) -> None:
    for result in (await output(session, 4_711), await kill(session, 1), await output(session, 4_711, wait=True)):
        assert result.error is not None
        assert result.error.code == "no_process"


async def test_two_tenants_on_one_sandbox_never_see_each_others(sandbox: LocalSandbox) -> None:
    async with (
        Workspace(sandbox=sandbox) as workspace,
        workspace.session(RequestContext(tenant="a")) as ours,
        workspace.session(RequestContext(tenant="b")) as theirs,
    ):
        pid = await spawn(ours, f"echo private; sleep 600 # {TOKEN}")
        refused = [await output(theirs, pid), await output(theirs, pid, wait=True), await kill(theirs, pid)]
        nobody = [await output(theirs, pid + 1), await output(theirs, pid + 1, wait=True), await kill(theirs, pid + 1)]
        assert [result.text.replace(str(pid), "N") for result in refused] == [
            result.text.replace(str(pid + 1), "N") for result in nobody
        ]
        assert await is_running(sandbox, pid)
        assert (await output(ours, pid)).ok


async def test_a_sandbox_that_was_resolved_for_a_requester_is_reached_again(sandbox: LocalSandbox) -> None:
    options = Heard().options(abort_signal=None)
    async with Workspace(sandbox=lambda context: sandbox, tools=options) as workspace:
        async with workspace.session(RequestContext(user="x")) as first:
            pid = await spawn(first, "echo here; sleep 600")
        async with workspace.session(RequestContext(user="x")) as second:
            assert (await output(second, pid)).structured["running"] is True
            assert (await kill(second, pid)).ok


@pytest.mark.parametrize(
    ("signal", "survives"), [({}, False), ({"abort_signal": None}, True), ({"abort_signal": False}, True)]
)
async def test_processes_end_with_their_session_unless_told_otherwise(
    sandbox: LocalSandbox, signal: dict[str, Any], survives: bool
) -> None:
    async with Workspace(sandbox=sandbox, tools=Heard().options(**signal)) as workspace:
        async with workspace.session() as session:
            pid = await spawn(session, "sleep 600")
        assert await is_running(sandbox, pid) is survives


async def test_an_event_ends_a_process(sandbox: LocalSandbox) -> None:
    heard, stop = Heard(), anyio.Event()
    async with Workspace(sandbox=sandbox, tools=heard.options(abort_signal=stop)) as workspace:
        async with workspace.session() as session:
            pid = await spawn(session, "sleep 600")
        assert await is_running(sandbox, pid)
        stop.set()
        with anyio.fail_after(60):
            await heard.over.wait()
        assert not await is_running(sandbox, pid)


async def test_the_application_hears_output_and_end(sandbox: LocalSandbox) -> None:
    heard = Heard()
    async with Workspace(sandbox=sandbox, tools=heard.options()) as workspace, workspace.session() as session:
        pid = await spawn(session, "echo out; echo err >&2; exit 5")
        with anyio.fail_after(60):
            await heard.over.wait()
    assert (heard.text("out"), heard.text("err")) == ("out\n", "err\n")
    assert {spoken[2] for spoken in heard.said} == {pid}
    assert [(end.pid, end.exit_code, end.stdout, end.stderr) for end in heard.ended] == [(pid, 5, "out\n", "err\n")]


async def test_what_the_application_hears_holds_no_secret(sandbox: LocalSandbox) -> None:
    heard = Heard()
    async with Workspace(sandbox=sandbox, tools=heard.options()) as workspace, workspace.session() as session:
        head, tail = TOKEN[:12], TOKEN[12:]
        await spawn(session, f"printf 'begin\\na {head}'; until [ -e go ]; do sleep 0.05; done; printf '{tail} b\\n'")
        with anyio.fail_after(60):
            await heard.first.wait()
            await sandbox.write_files({"go": b""})
            await heard.over.wait()
    assert heard.text("out") == heard.ended[0].stdout == f"begin\na {MASK} b\n"


async def test_a_listener_that_fails_harms_nobody(sandbox: LocalSandbox, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()

    def fail(data: str, meta: Any) -> None:
        raise RuntimeError("broken")

    tools = heard.options(on_stdout=fail)
    async with Workspace(sandbox=sandbox, tools=tools) as workspace, workspace.session() as session:
        pid = await spawn(session, "echo out; exit 5")
        assert (await output(session, pid, wait=True)).structured["exit_code"] == 5
        with anyio.fail_after(60):
            await heard.over.wait()
    assert "a function of background_processes failed" in caplog.text


async def test_options_that_are_none_are_told(sandbox: LocalSandbox) -> None:
    with pytest.raises(ConfigError, match="on_stdout"):
        Workspace(sandbox=sandbox, tools=Heard().options(on_stdot=print))
