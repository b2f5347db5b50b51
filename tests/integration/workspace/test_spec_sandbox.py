"""What the specification says of the sandbox, with its exact defaults. ``# better:`` marks where the reference goes
wrong. What holds for every sandbox is in its conformance suite.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    CommandResult,
    ExecuteOptions,
    IsolationUnavailableError,
    LocalSandbox,
    MountRequest,
    MountState,
    Processes,
    Sandbox,
    SandboxError,
    SandboxStatus,
    SpawnOptions,
    Workspace,
    detect_isolation,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
SHELL = WORKSPACE_TOOLS.SANDBOX
MIB = 1024 * 1024

Isolation = Literal["none", "bwrap"]
KINDS: tuple[Isolation, ...] = ("none", "bwrap")


@pytest.fixture
def room() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="host-side-") as path:
        yield Path(path).resolve()


@pytest.fixture(params=KINDS)
async def sandbox(request: pytest.FixtureRequest, room: Path) -> AsyncIterator[LocalSandbox]:
    sandbox = LocalSandbox(room / "work", isolation=request.param)
    yield sandbox
    await sandbox.destroy()


# Port and constructor


def test_the_port_and_its_options() -> None:
    port = "start stop destroy execute_command processes mount unmount mounts write_files set_env get_info"
    assert {*port.split(), "get_instructions"} == Sandbox.__abstractmethods__
    assert Processes.__abstractmethods__ == {"spawn", "list", "get", "output", "wait", "kill", "write_stdin"}
    options = {field.name: field.default for field in fields(ExecuteOptions) if field.default is not MISSING}
    assert options == {
        **dict.fromkeys(("timeout", "cwd", "stdin", "on_stdout", "on_stderr")),
        "max_retained_bytes": 1 * MIB,
    }
    result = "exit_code stdout stderr duration timed_out killed dropped_stdout dropped_stderr"
    assert [field.name for field in fields(CommandResult)] == result.split()
    assert not CommandResult(exit_code=0, stdout="", stderr="", duration=0).truncated
    assert CommandResult(exit_code=0, stdout="", stderr="", duration=0, dropped_stderr=1).truncated
    assert [state.value for state in MountState] == [
        *("pending", "mounting", "mounted", "error", "unsupported", "unavailable"),
    ]


def test_the_defaults_of_a_local_sandbox(room: Path) -> None:
    options = {name: option.default for name, option in inspect.signature(LocalSandbox).parameters.items()}
    assert options == {
        "working_directory": inspect.Parameter.empty,
        "timeout": 30,
        "isolation": "none",
        **dict.fromkeys(("network", "read_only"), False),
        **dict.fromkeys(("read_only_paths", "read_write_paths"), ()),
        **dict.fromkeys(("env", "limits", "instructions", "id")),
    }
    assert LocalSandbox(room).status is SandboxStatus.PENDING


def test_what_is_not_isolated_is_named_so(room: Path) -> None:
    plain = LocalSandbox(room)
    assert plain.get_info().isolation == "none"
    assert "unsandboxed" in plain.get_instructions()
    walled = LocalSandbox(room, isolation="bwrap")
    assert walled.get_info().isolation == "bwrap"
    assert "unsandboxed" not in walled.get_instructions()


def test_an_isolation_that_is_not_there_fails_at_construction(room: Path) -> None:
    there = detect_isolation()
    assert LocalSandbox(room, isolation=there).get_info().isolation == there
    with pytest.raises(IsolationUnavailableError):
        LocalSandbox(room, isolation="bwrap" if there == "seatbelt" else "seatbelt")
    assert list(room.iterdir()) == []


# Commands


async def test_the_default_timeout_is_applied(room: Path) -> None:
    # better: the reference runs a command without a timeout of its own for ever
    sandbox = LocalSandbox(room, timeout=0.2)
    async with Workspace(sandbox=sandbox) as workspace:
        result = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": "echo begun; sleep 600"})
        assert result.ok
        assert (result.structured["timed_out"], result.structured["killed"]) == (True, True)
        assert "timed out after" in result.text
        longer = await sandbox.execute_command("sleep 1; echo done", options=ExecuteOptions(timeout=600))
        assert (longer.timed_out, longer.stdout) == (False, "done\n")


async def test_a_timeout_ends_the_whole_tree_even_where_it_ignores_the_request(sandbox: LocalSandbox) -> None:
    command = "trap '' TERM; (trap '' TERM; sleep 600) & sleep 600; wait"
    result = await sandbox.execute_command(command, options=ExecuteOptions(timeout=0.3))
    assert (result.timed_out, result.killed) == (True, True)
    assert sandbox.get_info().processes == 0


async def test_standard_input_is_closed_unless_asked_for(sandbox: LocalSandbox) -> None:
    assert (await sandbox.execute_command("cat; echo $?")).stdout == "0\n"
    given = await sandbox.execute_command("cat", options=ExecuteOptions(stdin=b"asked for"))
    assert given.stdout == "asked for"


async def test_the_working_directory_is_confined(sandbox: LocalSandbox, room: Path) -> None:
    # better: the reference starts a command wherever the model says
    (room / "work" / "sub").mkdir(parents=True)
    (room / "work" / "out").symlink_to("/")
    (room / "work-evil").mkdir()
    assert (await sandbox.execute_command("pwd", options=ExecuteOptions(cwd="sub"))).stdout.endswith("/sub\n")
    for cwd in ("/", "/etc", "..", "sub/../..", "out", "../work-evil", str(room)):
        with pytest.raises(SandboxError) as refused:
            await sandbox.execute_command("pwd", options=ExecuteOptions(cwd=cwd))
        assert str(room.parent) not in str(refused.value).replace(cwd, "")
    async with Workspace(sandbox=sandbox) as workspace:
        result = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": "pwd", "cwd": "/etc"})
        assert result.error is not None
        assert result.error.code == "sandbox"


async def test_only_path_home_lang_and_given_variables_are_inherited(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOORAGE_SECRET", "from this process")
    of_the_shell = {"PWD", "SHLVL", "OLDPWD", "_"}
    for isolation in KINDS:
        sandbox = LocalSandbox(room / isolation, isolation=isolation, env={"GIVEN": "yes"})
        lines = (await sandbox.execute_command("env")).stdout.splitlines()
        await sandbox.destroy()
        names = {line.partition("=")[0] for line in lines}
        assert names - of_the_shell == {"PATH", "HOME", "LANG", "GIVEN"}, isolation


async def test_of_each_stream_the_last_mebibyte_is_kept_and_the_rest_counted(sandbox: LocalSandbox) -> None:
    command = "head -c 3145728 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' y >&2"
    result = await sandbox.execute_command(command)
    assert (len(result.stdout), result.dropped_stdout, result.truncated) == (MIB, 2 * MIB, True)
    assert (len(result.stderr), result.dropped_stderr) == (MIB, 0)


async def test_bwrap_drops_all_capabilities(room: Path) -> None:
    sandbox = LocalSandbox(room, isolation="bwrap")
    status = (await sandbox.execute_command("cat /proc/self/status")).stdout
    await sandbox.destroy()
    held = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith("Cap"))
    assert {int(held[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {0}


async def test_bwrap_has_namespaces_of_its_own_and_no_network(room: Path) -> None:
    sandbox = LocalSandbox(room, isolation="bwrap")
    for kind in ("pid", "ipc", "uts", "net"):
        inside = (await sandbox.execute_command(f"readlink /proc/self/ns/{kind}")).stdout.strip()
        assert inside.startswith(f"{kind}:[")
        assert inside != os.readlink(f"/proc/self/ns/{kind}")
    await sandbox.destroy()


# Background processes


async def test_background_processes_by_pid_with_callbacks(room: Path) -> None:
    heard: list[tuple[str, str]] = []
    ended: list[Any] = []
    said, over = anyio.Event(), anyio.Event()

    def on_data(stream: str) -> Callable[[str, Any], None]:
        def hear(data: str, meta: Any) -> None:
            heard.append((f"{stream} {meta.pid}", data))
            if sum(data.count("\n") for _, data in heard) == 61:
                said.set()

        return hear

    def on_exit(meta: Any) -> None:
        ended.append(meta)
        over.set()

    listening = {"on_stdout": on_data("out"), "on_stderr": on_data("err"), "on_exit": on_exit}
    tools = {SHELL.EXECUTE_COMMAND: {"background_processes": listening}}
    async with Workspace(sandbox=LocalSandbox(room), tools=tools) as workspace, workspace.session() as session:
        command = {"command": "seq 60; echo bad >&2; exec sleep 600", "background": True}
        pid = (await session.call_tool(SHELL.EXECUTE_COMMAND, command)).structured["pid"]
        with anyio.fail_after(300):
            await said.wait()
        running = await session.call_tool(SHELL.GET_PROCESS_OUTPUT, {"pid": pid, "tail": 2})
        assert (running.structured["running"], running.structured["exit_code"]) == (True, None)
        assert (running.structured["stdout"], running.structured["stderr"]) == ("59\n60", "bad")
        killed = await session.call_tool(SHELL.KILL_PROCESS, {"pid": pid})
        assert [int(line) for line in killed.text.splitlines() if line.isdigit()] == [*range(11, 61)]
        with anyio.fail_after(300):
            await over.wait()
    (meta,) = ended
    assert (meta.pid, meta.exit_code != 0, meta.stderr) == (pid, True, "bad\n")
    assert meta.stdout.endswith("59\n60\n")
    assert {name for name, _ in heard} == {f"out {pid}", f"err {pid}"}


@pytest.mark.parametrize(("signal", "outlives"), [("unset", False), (None, True), (False, True)])
async def test_a_process_ends_with_the_session_unless_told_otherwise(room: Path, signal: Any, outlives: bool) -> None:
    option = {} if signal == "unset" else {"background_processes": {"abort_signal": signal}}
    sandbox = LocalSandbox(room)
    async with Workspace(sandbox=sandbox, tools={SHELL.EXECUTE_COMMAND: option}) as workspace:
        async with workspace.session() as session:
            started = {"command": "sleep 600", "background": True}
            assert (await session.call_tool(SHELL.EXECUTE_COMMAND, started)).ok
        assert [process.running for process in await sandbox.processes.list()] == [outlives]
    assert sandbox.get_info().processes == 0


async def test_standard_input_of_a_process_can_be_kept_open(sandbox: LocalSandbox) -> None:
    pid = await sandbox.processes.spawn("cat", options=SpawnOptions(keep_stdin=True))
    await sandbox.processes.write_stdin(pid, b"said later", close=True)
    assert (await sandbox.processes.wait(pid)).stdout == "said later"


# Mounts


async def test_paths_in_the_shell_are_the_paths_in_the_tools_and_read_only_stays_so(room: Path) -> None:
    # better: the reference binds a read-only mount writable
    (room / "manual").mkdir()
    (room / "manual" / "page").write_text("kept\n")
    mounts: dict[str, Any] = {
        "/notes": LocalFilesystem(room / "notes"),
        "/manual": LocalFilesystem(room / "manual", read_only=True),
        "/data": MemoryFilesystem(),
    }
    sandbox = LocalSandbox(room / "work", isolation="bwrap")
    async with Workspace(mounts=mounts, sandbox=sandbox) as workspace:

        async def run(command: str) -> Mapping[str, object]:
            result = await workspace.call_tool(SHELL.EXECUTE_COMMAND, {"command": command})
            assert str(room) not in result.text
            return result.structured

        states = [(mount.path, mount.state, mount.read_only) for mount in workspace.shell_mounts]
        assert states == [
            ("/data", MountState.UNAVAILABLE, False),
            ("/manual", MountState.MOUNTED, True),
            ("/notes", MountState.MOUNTED, False),
        ]
        assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/notes/a", "content": "from the tools"})).ok
        assert (await run("cat /notes/a"))["stdout"] == "from the tools"
        assert (await run("echo from the shell > /notes/b"))["exit_code"] == 0
        assert "from the shell" in (await workspace.call_tool(FILES.READ_FILE, {"path": "/notes/b"})).text
        for attempt in ("echo x > /manual/page", "touch /manual/new", "rm /manual/page", "mount -o remount,rw /manual"):
            assert (await run(attempt))["exit_code"] != 0, attempt
        refused = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/manual/page", "content": "x"})
        assert refused.error is not None
        assert refused.error.code == "read_only"
    assert [(path.name, path.read_text()) for path in (room / "manual").iterdir()] == [("page", "kept\n")]


@pytest.mark.parametrize(
    ("answer", "state", "bound"),
    [
        (False, MountState.UNAVAILABLE, False),
        ({"success": True}, MountState.MOUNTED, False),
        ({"success": False, "error": "no room"}, MountState.ERROR, False),
        (None, MountState.MOUNTED, True),
    ],
)
async def test_on_mount_may_veto_take_over_or_let_go(room: Path, answer: Any, state: MountState, bound: bool) -> None:
    asked: list[MountRequest] = []

    async def on_mount(request: MountRequest) -> object:
        asked.append(request)
        return answer

    sandbox = LocalSandbox(room / "work", isolation="bwrap")
    mounts: dict[str, Any] = {"/notes": LocalFilesystem(room / "notes")}
    async with Workspace(mounts=mounts, sandbox=sandbox, on_mount=on_mount) as workspace:
        assert [mount.state for mount in workspace.shell_mounts] == [state]
        assert [mount.path for mount in sandbox.mounts] == (["/notes"] if bound else [])
    assert [(request.path, request.read_only) for request in asked] == [("/notes", False)]
