"""What happens to every call of every tool, in this order and in this place.

validate → policy → read/stale check → preview → approval → lock → before hook → re-check → act → after hook → audit →
redact → cap → return
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from moorage import MoorageError, OperationTimeoutError, StorageError
from moorage_workspace.config import ConfiguredTool, decide
from moorage_workspace.errors import ChangedSinceReadError, Refusal, ToolRefusedError
from moorage_workspace.results import Output, Plan, ToolResult
from moorage_workspace.tools.asking import Agreed, approved, still_holds
from moorage_workspace.tools.auditing import Trail, audited
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.finishing import failed, finished
from moorage_workspace.tools.freshness import check_basis, check_reads
from moorage_workspace.tools.hooking import HookFailure, HookRun
from moorage_workspace.tools.parents import check_parents
from moorage_workspace.tools.tool import Arguments, Needs, Targets
from moorage_workspace.tools.validating import permitted, validated

if TYPE_CHECKING:
    from moorage_workspace.redaction import Gate
    from moorage_workspace.sandbox.port import Sandbox
    from moorage_workspace.session import Session

_VOID_APPROVALS: Final = 3
"""Times that somebody is asked again because the file moved while they thought."""


async def call_tool(session: Session, name: str, arguments: Mapping[str, object] | str) -> ToolResult:
    """Call the tool that is exposed as ``name``; whatever goes wrong is a result for the model.

    Only what a hook raises, and cancellation, comes out as an exception.
    """
    workspace = session.workspace
    gate = workspace.gate
    try:
        async with audited(session) as trail:
            tool = session.configured(name)
            trail.tool, trail.action = tool.name, tool.tool.key
            call = await _opened(session, tool)
            gate = call.gate
            output = await _run(call, tool, arguments, trail)
        return await finished(call, output)
    except HookFailure as failure:
        raise failure.error from None
    except MoorageError as error:
        return failed(name, gate, workspace.count_tokens, error)
    except Exception as error:
        logging.getLogger(__name__).error("a tool failed with %s", type(error).__name__)  # noqa: TRY400 (no content)
        unexpected = StorageError(f"the tool failed unexpectedly ({type(error).__name__})")
        return failed(name, gate, workspace.count_tokens, unexpected)


async def _run(call: ToolCall, tool: ConfiguredTool, arguments: Mapping[str, object] | str, trail: Trail) -> Output:
    valid = validated(tool, arguments)
    targets = await permitted(call, tool, valid)
    facts = {"context": call.session.context, "workspace": call.session.workspace, "args": valid.model_dump()}
    call = replace(call, read_required=await decide(tool.require_read_before_write, facts, closed=True))
    with _limited(call):
        await check_reads(call, targets, replaces=tool.tool.replaces)
    ask = await decide(tool.require_approval, facts, closed=True)
    hooks = HookRun(call, valid.model_dump(), call.session.hook_layers())
    try:
        return await _asked_and_done(call, tool, valid, targets, hooks, trail, ask=ask)
    except HookFailure:
        raise
    except Exception as error:
        await hooks.after(None, error)
        raise


async def _asked_and_done(
    call: ToolCall,
    tool: ConfiguredTool,
    arguments: Arguments,
    targets: Targets,
    hooks: HookRun,
    trail: Trail,
    *,
    ask: bool,
) -> Output:
    for _ in range(_VOID_APPROVALS):
        agreed: Agreed | None = None
        if ask:
            trail.approved = False
            agreed = await approved(call, arguments, targets, await _proposed(call, tool, arguments, targets))
            trail.approved = True
        async with _locked(call, targets) as held:
            instead = await hooks.before()
            if instead is not None:
                return instead
            plan = await _planned(held, tool, arguments)
            if agreed is not None and not await still_holds(held, arguments, targets, plan, agreed):
                continue
            trail.acting = True
            with _limited(call):
                output = await tool.tool.act(held, arguments, plan)
            await hooks.after(output)
            return output
    raise ChangedSinceReadError("the file kept changing while the approval was asked for; nothing was done")


async def _proposed(call: ToolCall, tool: ConfiguredTool, arguments: Arguments, targets: Targets) -> Plan:
    """What somebody is to be asked about."""
    plan = await _planned(replace(call, asks=True), tool, arguments)
    with _limited(call):
        await check_parents(call, targets, plan)
    return plan


async def _planned(call: ToolCall, tool: ConfiguredTool, arguments: Arguments) -> Plan:
    with _limited(call):
        plan = await tool.tool.plan(call, arguments)
        await check_basis(call, plan)
    return plan


async def _opened(session: Session, tool: ConfiguredTool) -> ToolCall:
    facts = {"context": session.context, "workspace": session.workspace}
    if not await decide(tool.enabled, facts, closed=False):
        raise ToolRefusedError("this tool is not available here", refusal=Refusal.DISABLED)
    wants_files = tool.tool.needs is Needs.FILESYSTEM
    filesystem = await session.filesystem() if wants_files else None
    sandbox = session.opened_sandbox if wants_files else await session.sandbox()
    return ToolCall(
        session=session,
        name=tool.name,
        key=tool.tool.key,
        options=tool.options,
        max_output_tokens=tool.max_output_tokens,
        read_required=False,
        gate=_gate(session.workspace.gate, sandbox, rewrites_paths=not wants_files),
        filesystem=filesystem,
        sandbox=sandbox,
    )


def _gate(gate: Gate, sandbox: Sandbox | None, *, rewrites_paths: bool) -> Gate:
    """With the sandbox's secrets, and its host paths for the output of commands only.

    A file's content must come back as it is, or the model writes it back changed; files know no host path otherwise.
    """
    if sandbox is None:
        return gate
    gate = gate.knowing(secrets=sandbox.secrets)
    return gate.knowing(host_paths=sandbox.host_paths) if rewrites_paths else gate


@asynccontextmanager
async def _locked(call: ToolCall, targets: Targets) -> AsyncGenerator[ToolCall]:
    """The call, as the holder of the locks of what it writes."""
    if not targets.writes:
        yield call
        return
    held = {path: await call.identity(path) for path in targets.writes}
    async with call.session.workspace.locks.holding(held.values(), call.session.write_lock_timeout):
        yield replace(call, held=held)


@contextmanager
def _limited(call: ToolCall) -> Generator[None]:
    limit = call.session.workspace.operation_timeout
    if limit is None:
        yield
        return
    with anyio.move_on_after(limit) as scope:
        yield
    if scope.cancelled_caught:
        raise OperationTimeoutError(f"the operation took longer than {limit:g} s")
