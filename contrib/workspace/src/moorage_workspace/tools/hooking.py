"""The hooks around a tool, nested: the agent's outside, the workspace's inside."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from moorage import InvalidArgumentError
from moorage_workspace.config import Hook, Hooks
from moorage_workspace.results import Output
from moorage_workspace.tools.call import ToolCall


class HookFailure(Exception):  # noqa: N818 (it never comes out)
    """Carries what a hook raised past the conversion of errors to results."""

    def __init__(self, error: Exception) -> None:
        super().__init__("a hook failed")
        self.error = error


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What a hook sees.

    Attributes:
        tool_name: as exposed.
        workspace_tool_name: the tool's key.
        input: the validated arguments.
        output: after the tool: what it returned; ``None`` when it raised.
        error: after the tool: what it raised.
    """

    tool_name: str
    workspace_tool_name: str
    input: Mapping[str, object]
    context: Mapping[str, object]
    output: object = None
    error: BaseException | None = None


@dataclass(slots=True)
class HookRun:
    """The hooks of one call.

    Raises:
        HookFailure: with what a hook raised.
    """

    call: ToolCall
    input: Mapping[str, object]
    layers: tuple[Hooks, ...]
    _entered: int = 0
    _begun: bool = False

    async def before(self) -> Output | None:
        """Run them, outermost first, once a call. An output stands for the tool's, which is then not run."""
        if self._begun:
            return None
        self._begun = True
        for layer in self.layers:
            answer = await _called(layer.before_tool_call, self._event())
            if not _proceeds(answer):
                output = _as_output(_mapping(answer).get("output"))
                await self.after(output)
                return output
            self._entered += 1
        return None

    async def after(self, output: Output | None, error: BaseException | None = None) -> None:
        """Run those whose ``before`` let the call pass, innermost first, once a call."""
        entered, self._entered = self._entered, 0
        for layer in reversed(self.layers[:entered]):
            await _called(layer.after_tool_call, self._event(output, error))

    def _event(self, output: Output | None = None, error: BaseException | None = None) -> HookEvent:
        return HookEvent(self.call.name, self.call.key, self.input, self.call.session.context, output, error)


async def _called(hook: Hook | None, event: HookEvent) -> object:
    if hook is None:
        return None
    try:
        answer = hook(event)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        raise HookFailure(error) from error


def _proceeds(answer: object) -> bool:
    """What a hook before the tool answered. Anything unclear stops the call: it may have been meant as a no."""
    if answer is None:
        return True
    fields = _mapping(answer)
    proceed = fields.get("proceed")
    if not isinstance(proceed, bool) or not fields.keys() <= {"proceed", "output"}:
        error = InvalidArgumentError("a hook before a tool returns None or {'proceed': a bool, 'output': …}")
        raise HookFailure(error) from None
    return proceed


def _as_output(value: object) -> Output:
    if isinstance(value, Output):
        return value
    structured = _mapping(value)
    if structured:
        return Output(json.dumps(structured, default=str, ensure_ascii=False), structured)
    return Output("" if value is None else str(value))


def _mapping(value: object) -> dict[str, object]:
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else {}
