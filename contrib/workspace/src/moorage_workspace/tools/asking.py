"""Asking for approval: the diff first, then the person, and nothing without an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import anyio

from moorage import StoragePath
from moorage_workspace.approval import Approval, ApprovalRequest, ApprovalRule, suggested_rule
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.results import Change, Plan
from moorage_workspace.text.diffs import unified_diff
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.tool import Arguments, Targets

_UNASKED = "do not try it again unless you are asked to"


async def approved(call: ToolCall, arguments: Arguments, targets: Targets, plan: Plan) -> None:
    """Return once this call may happen: by a rule that was kept, or by an answer.

    Raises:
        ToolRefusedError: refused, not answered in time, or nobody is there to ask.
    """
    paths = targets.writes or targets.reads
    given = arguments.model_dump()
    if await _is_covered(call, paths, given):
        return
    rule = suggested_rule(call.key, paths, given)
    answer = await _answer(call, _request(call, paths, given, plan, rule))
    if not answer.approved:
        why = f": {call.gate.redact(answer.reason)}" if answer.reason else ""
        raise ToolRefusedError(
            f"the call was not approved{why}; nothing was done, {_UNASKED}", refusal=Refusal.APPROVAL_REFUSED
        )
    if answer.keep:
        call.session.rules.keep(rule)


def _request(
    call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan, rule: ApprovalRule
) -> ApprovalRequest:
    shown = cast("dict[str, object]", call.gate.redact_data(given))
    return ApprovalRequest(
        tool=call.name,
        key=call.key,
        paths=tuple(call.gate.redact(str(path)) for path in paths),
        arguments=shown,
        summary=call.gate.redact(plan.summary),
        diff=call.gate.redact("".join(_diff(call, change) for change in plan.changes)),
        byte_count=sum(len(change.after or b"") for change in plan.changes),
        rule=call.gate.redact(str(rule)),
        session_id=call.session.id,
        context=call.session.context,
    )


def _diff(call: ToolCall, change: Change) -> str:
    if change.before is None and change.version is not None:
        return f"--- {change.path}\n+++ {change.path}\nthe old content is too large to be shown\n"
    after = None if change.after is None else bytes(change.after)
    return unified_diff(str(change.path), change.before, after, redact=call.gate.redact)


async def _is_covered(call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object]) -> bool:
    for rule in call.session.rules:
        if rule.tool != call.key:
            continue
        if rule.below is None:
            if not paths and rule.command == given.get("command"):
                return True
        elif paths and await _all_below(call, paths, rule.below):
            return True
    return False


async def _all_below(call: ToolCall, paths: tuple[StoragePath, ...], directory: StoragePath) -> bool:
    """Both as written and as stored: a link does not lead a rule elsewhere."""
    if not all(path.is_within(directory) for path in paths):
        return False
    holder = (await call.lineage(directory))[0]
    return all([holder in await call.lineage(path) for path in paths])


async def _answer(call: ToolCall, request: ApprovalRequest) -> Approval:
    approver = call.session.approver
    if approver is None:
        raise ToolRefusedError(
            f"this call needs an approval, and nobody is there to ask; {_UNASKED}",
            refusal=Refusal.APPROVAL_UNAVAILABLE,
        )
    workspace = call.session.workspace
    answers: list[Approval] = []

    async def wait() -> None:
        await workspace.clock.sleep(workspace.approval_timeout)
        group.cancel_scope.cancel()

    async def ask() -> None:
        answers.append(await approver(request))
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(ask)
    if not answers:
        raise ToolRefusedError(
            f"nobody answered within {workspace.approval_timeout:g} s; nothing was done, {_UNASKED}",
            refusal=Refusal.APPROVAL_TIMEOUT,
        )
    return answers[0]
