"""Asking for approval: the diff first, then the person, and nothing without an answer."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

import anyio

from moorage import StoragePath
from moorage_workspace.approval import Approval, ApprovalRequest, ApprovalRule, Approver, suggested_rule
from moorage_workspace.checks import OPTIONS
from moorage_workspace.clock import Clock
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.results import Change, Plan
from moorage_workspace.text.diffs import unified_diff
from moorage_workspace.text.unseen import spelled_out
from moorage_workspace.threads import worked
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.contents import Unread
from moorage_workspace.tools.covering import covers, is_covered
from moorage_workspace.tools.leading import link_on, told
from moorage_workspace.tools.paths import is_tree
from moorage_workspace.tools.tool import Arguments, Targets

_log: Final = logging.getLogger("moorage.workspace")
_UNASKED: Final = "do not try it again unless you are asked to"
_AT_ONCE: Final = 64 * 1024
"""Bytes to draw without a thread, beyond which the other calls would notice."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What an approval rests on.

    Attributes:
        plan: that was shown.
        places: where each target led.
        by_rule: a kept rule answered.
    """

    plan: Plan
    places: tuple[tuple[str, ...], ...]
    by_rule: bool


async def approved(call: ToolCall, arguments: Arguments, targets: Targets, plan: Plan) -> Agreed:
    """Return once this call may happen: by a rule that was kept, or by an answer.

    Raises:
        ToolRefusedError: refused, not answered in time, or nobody is there to ask.
    """
    paths, given = _paths(targets), arguments.model_dump()
    places = await _places(call, paths)
    if await is_covered(call, paths, given, plan):
        return Agreed(plan, places, by_rule=True)
    rule = await _offered(call, paths, given, plan)
    answer = await _answer(call, await _request(call, paths, given, plan, rule))
    if not answer.approved:
        why = f": {call.redact(answer.reason)}" if answer.reason else ""
        raise ToolRefusedError(
            f"the call was not approved{why}; nothing was done, {_UNASKED}", refusal=Refusal.APPROVAL_REFUSED
        )
    if answer.keep and rule is not None:
        call.session.rules.keep(rule)
    return Agreed(plan, places, by_rule=False)


async def still_holds(call: ToolCall, arguments: Arguments, targets: Targets, plan: Plan, agreed: Agreed) -> bool:
    """Whether the plan made under the lock is the one that was agreed to, and leads to the same places."""
    paths = _paths(targets)
    if plan.basis != agreed.plan.basis or await _places(call, paths) != agreed.places:
        return False
    return not agreed.by_rule or await is_covered(call, paths, arguments.model_dump(), plan)


async def _offered(
    call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan
) -> ApprovalRule | None:
    """The rule that could be kept; ``None`` where it would not even cover this call, as where a link leads away."""
    rule = suggested_rule(call.key, paths, given, whole_directories=is_tree(plan))
    return rule if await covers(call, rule, paths, given, plan) else None


def _paths(targets: Targets) -> tuple[StoragePath, ...]:
    return (*targets.reads, *targets.writes)


async def _places(call: ToolCall, paths: tuple[StoragePath, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple([await call.place(path) for path in paths])


async def _request(
    call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan, rule: ApprovalRule | None
) -> ApprovalRequest:
    links = dict.fromkeys([await link_on(call, path) for path in paths])
    summary = "; ".join([plan.summary, *[await told(call, link) for link in links if link is not None]])
    draw = partial(_drawn, call, paths, given, replace(plan, summary=summary), rule)
    texts = sum(len(value) for value in given.values() if isinstance(value, str))
    size = texts + sum(len(part) for change in plan.changes for part in (change.before, change.after) if part)
    return await worked(draw, at_once=size <= _AT_ONCE)


def _drawn(
    call: ToolCall, paths: tuple[StoragePath, ...], given: Mapping[str, object], plan: Plan, rule: ApprovalRule | None
) -> ApprovalRequest:
    redact = call.redact
    return ApprovalRequest(
        tool=call.name,
        key=call.key,
        paths=tuple(spelled_out(redact(str(path))) for path in paths),
        arguments=cast("dict[str, object]", _legible(call.gate.redact_data(given))),
        summary=spelled_out(redact(plan.summary)),
        diff=spelled_out(redact("".join(_diff(call, change) for change in plan.changes)), keep="\n\t"),
        byte_count=sum(len(change.after or b"") for change in plan.changes),
        rule="" if rule is None else spelled_out(redact(str(rule))),
        session_id=call.session.id,
        context=call.session.context,
    )


def _legible(value: object) -> object:
    """JSON-compatible data with the characters spelled out that a reader would not see."""
    match value:
        case str():
            return spelled_out(value, keep="\n\t")
        case list():
            return [_legible(one) for one in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value)
            return {spelled_out(name): _legible(one) for name, one in fields.items()}
        case _:
            return value


def _diff(call: ToolCall, change: Change) -> str:
    unread = change.before is None and change.version is not None
    if unread or isinstance(change.after, Unread):
        left = "/dev/null" if change.after is None else change.path
        which = "old" if unread else "new"
        return f"--- {change.path}\n+++ {left}\nthe {which} content is too large to be shown\n"
    after = None if change.after is None else bytes(change.after)
    return unified_diff(str(change.path), change.before, after, redact=call.redact)


async def _answer(call: ToolCall, request: ApprovalRequest) -> Approval:
    approver, workspace = call.session.approver, call.session.workspace
    if approver is None:
        raise ToolRefusedError(
            f"this call needs an approval, and nobody is there to ask; {_UNASKED}",
            refusal=Refusal.APPROVAL_UNAVAILABLE,
        )
    answers = await _answers(workspace.clock, workspace.approval_timeout, partial(_asked, approver, request))
    if not answers:
        raise ToolRefusedError(
            f"nobody answered within {workspace.approval_timeout:g} s; nothing was done, {_UNASKED}",
            refusal=Refusal.APPROVAL_TIMEOUT,
        )
    if answers[0] is None:
        raise ToolRefusedError(
            f"this call needs an approval, and asking for it failed; nothing was done, {_UNASKED}",
            refusal=Refusal.APPROVAL_UNAVAILABLE,
        )
    return answers[0]


async def _answers(
    clock: Clock, limit: float, asked: Callable[[], Awaitable[Approval | None]]
) -> list[Approval | None]:
    """The one that came in time, else none."""
    answers: list[Approval | None] = []

    async def wait() -> None:
        await clock.sleep(limit)
        group.cancel_scope.cancel()

    async def ask() -> None:
        answers.append(await asked())
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(ask)
    return answers


async def _asked(approver: Approver, request: ApprovalRequest) -> Approval | None:
    """The answer; ``None`` where there is none that counts, which the log explains: the model is not to see why."""
    try:
        asked = approver(request)
        if not inspect.isawaitable(asked):
            raise OPTIONS.wrong("what the approver returns", "awaitable, as of a coroutine function", asked)
        answer = await asked
        if not isinstance(cast("object", answer), Approval):
            raise OPTIONS.wrong("the approver's answer", "an Approval, such as Approval.once()", answer)
    except Exception:
        _log.exception("the approver failed for %s, so the call is refused", request.key)
        return None
    return answer
