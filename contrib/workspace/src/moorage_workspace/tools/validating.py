"""The first steps of a call: are these arguments, and are they allowed?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from pydantic import ValidationError

from moorage_workspace.config import ConfiguredTool
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.redaction import holds_mask
from moorage_workspace.threads import worked
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.tool import Arguments, Targets

_AT_ONCE: Final = 1024 * 1024
"""Characters up to which looking for the mask is not worth a thread."""


def validated(tool: ConfiguredTool, arguments: Mapping[str, object] | str) -> Arguments:
    """The arguments as the tool's input model has them.

    A ``null`` for an optional field means its default, since strict schemas make models send every field.

    Raises:
        ToolRefusedError: which fields are wrong, and how.
    """
    given = _decoded(arguments)
    fields = tool.tool.arguments.model_fields
    ours = {tool.parameters.get(name, name): value for name, value in given.items()}
    wanted = {
        name: value
        for name, value in ours.items()
        if value is not None or name not in fields or fields[name].is_required()
    }
    try:
        return cast("Arguments", tool.tool.arguments.model_validate(wanted))
    except ValidationError as error:
        exposed = {own: name for name, own in tool.parameters.items()}
        raise ToolRefusedError(_explained(error, exposed), refusal=Refusal.INVALID_ARGUMENTS) from None


async def permitted(call: ToolCall, tool: ConfiguredTool, arguments: Arguments) -> Targets:
    """The targets of the call, once its paths are paths and its content is no mask of ours.

    Raises:
        InvalidPathError, ToolRefusedError.
    """
    if not tool.tool.annotations.read_only:
        for name, value in arguments.model_dump().items():
            if isinstance(value, str) and await worked(holds_mask, value, at_once=len(value) <= _AT_ONCE):
                raise ToolRefusedError(
                    f"{name} holds the mask that stands for a secret in outputs; writing it back would destroy the "
                    "secret. Leave that part of the file alone, e.g. with an edit beside it",
                    refusal=Refusal.MASKED_CONTENT,
                )
    return tool.tool.targets(call, arguments)


def _decoded(arguments: Mapping[str, object] | str) -> Mapping[str, object]:
    if isinstance(arguments, Mapping):
        return arguments
    try:
        value: object = json.loads(arguments) if isinstance(cast("object", arguments), str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ToolRefusedError("the arguments are no JSON object", refusal=Refusal.INVALID_ARGUMENTS)
    return cast("dict[str, object]", value)


def _explained(error: ValidationError, exposed: Mapping[str, str]) -> str:
    lines: list[str] = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(exposed.get(str(part), str(part)) for part in problem["loc"]) or "arguments"
        lines.append(f"{where}: {problem['msg']}")
    return "invalid arguments: " + "; ".join(lines)
