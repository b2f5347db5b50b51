"""kill_process: end a background process with everything that it started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from moorage_workspace.errors import NoProcessError
from moorage_workspace.results import Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.processes import no_process, process_of
from moorage_workspace.tools.showing_commands import ending, shown
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_LAST_LINES: Final = 50


class KillProcess(Arguments):
    pid: int = Field(description="The pid that starting it in the background gave.")


def _describe(options: Mapping[str, object]) -> str:
    return f"End a background process and everything that it started. You get its last {_LAST_LINES} lines of output."


def _targets(call: ToolCall, arguments: KillProcess) -> Targets:
    return Targets()


async def _plan(call: ToolCall, arguments: KillProcess) -> Plan:
    try:
        info = await process_of(call, arguments.pid).get(arguments.pid)
    except NoProcessError:
        raise no_process(arguments.pid) from None
    return Plan(f"end process {info.pid}: {call.redact(info.command)}")


async def _act(call: ToolCall, arguments: KillProcess, plan: Plan) -> Output:
    pid = arguments.pid
    processes = process_of(call, pid)
    try:
        ran = (await processes.get(pid)).running
        result = await processes.kill(pid)
    except NoProcessError:
        raise no_process(pid) from None
    how = ending(result) if ran else f"had ended already; {ending(result)}"
    more = {"pid": pid, "running": False, "exit_code": result.exit_code}
    return shown(call, result, f"process {pid}: {how}", tail=_LAST_LINES, more=more)


KILL_PROCESS = Tool(
    key=WORKSPACE_TOOLS.SANDBOX.KILL_PROCESS,
    arguments=KillProcess,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    needs=Needs.PROCESSES,
    targets=_targets,
    plan=_plan,
    act=_act,
)
