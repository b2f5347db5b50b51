"""get_process_output: what a background process said so far, and whether it runs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from moorage_workspace.errors import NoProcessError
from moorage_workspace.results import Output, Plan
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.processes import no_process, process_of
from moorage_workspace.tools.showing_commands import TAIL, ending, shown
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool


class GetProcessOutput(Arguments):
    pid: int = Field(description="The pid that starting it in the background gave.")
    tail: int = Field(TAIL, ge=0, description="How many of the last lines of each stream to show; 0 shows all.")
    wait: bool = Field(False, description="Wait until it has ended.")


def _describe(options: Mapping[str, object]) -> str:
    return (
        "Get the output of a background process and whether it still runs, at once or, with wait, when it has ended. "
        f"The last {TAIL} lines of each stream are shown unless tail says otherwise."
    )


def _targets(call: ToolCall, arguments: GetProcessOutput) -> Targets:
    return Targets()


async def _act(call: ToolCall, arguments: GetProcessOutput, plan: Plan) -> Output:
    pid = arguments.pid
    processes = process_of(call, pid)
    try:
        result = await (processes.wait(pid) if arguments.wait else processes.output(pid))
        running = not arguments.wait and (await processes.get(pid)).running
        if not running:
            result = await processes.output(pid)
    except NoProcessError:
        raise no_process(pid) from None
    how = f"running for {result.duration:.1f} s" if running else ending(result)
    exit_code = None if running else result.exit_code
    more = {"pid": pid, "running": running, "exit_code": exit_code}
    return shown(call, result, f"process {pid}: {how}", tail=arguments.tail, more=more)


GET_PROCESS_OUTPUT = Tool(
    key=WORKSPACE_TOOLS.SANDBOX.GET_PROCESS_OUTPUT,
    arguments=GetProcessOutput,
    describe=_describe,
    annotations=Annotations(read_only=True),
    needs=Needs.PROCESSES,
    targets=_targets,
    act=_act,
)
