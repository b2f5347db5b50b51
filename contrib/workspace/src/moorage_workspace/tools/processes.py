"""The background processes that a session may ask about."""

from __future__ import annotations

from moorage_workspace.errors import NoProcessError, SandboxUnsupportedError
from moorage_workspace.sandbox.port import Processes
from moorage_workspace.tools.call import ToolCall


def processes_of(call: ToolCall) -> Processes:
    """Raises: SandboxUnsupportedError, where the sandbox has none."""
    processes = call.shell.processes
    if processes is None:
        raise SandboxUnsupportedError("this sandbox has no background processes; run the command without background")
    return processes


def process_of(call: ToolCall, pid: int) -> Processes:
    """The processes, once it is sure that this one is the session's to see.

    A sandbox that serves every request holds everybody's processes, so there a session sees its own alone. One that a
    resolver chose for the request is the requester's.

    Raises:
        NoProcessError: it is another's; said in the same words as when there is none.
    """
    processes = processes_of(call)
    shared = call.session.workspace.sandbox is not None
    if shared and not call.session.owns_process(call.shell, pid):
        raise no_process(pid)
    return processes


def no_process(pid: int) -> NoProcessError:
    return NoProcessError(f"there is no background process {pid} of yours; it ended long ago, or never was")
