"""execute_command: run a command in the sandbox, to its end or in the background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from moorage_workspace.results import Output, Plan
from moorage_workspace.sandbox.port import ExecuteOptions, SpawnOptions
from moorage_workspace.tools.background import BackgroundProcesses, Listener, end_when, listening
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.processes import processes_of
from moorage_workspace.tools.showing_commands import TAIL, ending, shown
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_LONGEST_SUMMARY: Final = 1_000


class ExecuteCommand(Arguments):
    command: str = Field(min_length=1, description="The command, as a shell takes it.")
    timeout: float | None = Field(
        None, gt=0, description="Seconds until it is ended, with everything that it started; by default the sandbox's."
    )
    cwd: str | None = Field(None, description="The directory to run it in, within the workspace.")
    tail: int = Field(TAIL, ge=0, description="How many of the last lines of each stream to show; 0 shows all.")
    background: bool = Field(
        False,
        description="Do not wait for it: answers with its pid at once, and it goes on when this call has ended.",
    )


def _describe(options: Mapping[str, object]) -> str:
    parts = [
        "Run a shell command in the sandbox and get its exit code, standard output and standard error. It gets no "
        "input, and whatever it started ends with it.",
        f"The last {TAIL} lines of each stream are shown unless tail says otherwise, and about "
        f"{options['max_output_tokens']:,} tokens in all; write long output to a file and read that.",
    ]
    if options.get("background", True):
        parts.append("Servers and other things that are to go on need background.")
    return " ".join(parts)


def _targets(call: ToolCall, arguments: ExecuteCommand) -> Targets:
    return Targets()


async def _plan(call: ToolCall, arguments: ExecuteCommand) -> Plan:
    where = f" in {arguments.cwd}" if arguments.cwd is not None else ""
    how = "run in the background" if arguments.background else "run"
    command = call.redact(arguments.command)
    left_out = len(command) - _LONGEST_SUMMARY
    more = f" [and {left_out:,} more characters]" if left_out > 0 else ""
    return Plan(f"{how}{where}: {command[:_LONGEST_SUMMARY]}{more}")


async def _act(call: ToolCall, arguments: ExecuteCommand, plan: Plan) -> Output:
    if arguments.background:
        return await _spawn(call, arguments)
    options = ExecuteOptions(timeout=arguments.timeout, cwd=arguments.cwd)
    result = await call.shell.execute_command(arguments.command, options=options)
    return shown(call, result, ending(result), tail=arguments.tail, more={"exit_code": result.exit_code})


async def _spawn(call: ToolCall, arguments: ExecuteCommand) -> Output:
    processes = processes_of(call)
    wanted = listening(call.options["background_processes"])
    listener = Listener(wanted, call.gate)
    options = SpawnOptions(
        timeout=arguments.timeout,
        cwd=arguments.cwd,
        on_stdout=listener.on_stdout if wanted.on_stdout is not None else None,
        on_stderr=listener.on_stderr if wanted.on_stderr is not None else None,
        on_exit=listener.on_exit,
    )
    pid = await processes.spawn(arguments.command, options=options)
    call.session.own_process(call.shell, pid, ends_with_session=wanted.ends_with_session)
    listener.begin(pid)
    if wanted.abort_event is not None:
        end_when(wanted.abort_event, listener, processes)
    text = (
        f"started in the background with pid {pid}. Get its output and whether it still runs with this pid, or end "
        f"it{'' if wanted.ends_with_session else '; it goes on when this session has ended'}."
    )
    return Output(text, {"pid": pid, "running": True})


EXECUTE_COMMAND = Tool(
    key=WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND,
    arguments=ExecuteCommand,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True),
    needs=Needs.SANDBOX,
    targets=_targets,
    plan=_plan,
    act=_act,
    options={"background_processes": BackgroundProcesses()},
)
