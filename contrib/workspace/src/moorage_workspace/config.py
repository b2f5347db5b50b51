"""How tools are configured: which are offered, under which names, and what a call of them needs."""

from __future__ import annotations

import inspect
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, cast

from moorage import ConfigError
from moorage_workspace.checks import OPTIONS
from moorage_workspace.profiles import PROFILES, Naming, Profile
from moorage_workspace.tools.background import listening
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.media import check_media_types
from moorage_workspace.tools.tool import Tool

if TYPE_CHECKING:
    from moorage_workspace.tools.hooking import HookEvent

Facts = Mapping[str, Any]
"""What a function of the configuration gets: ``context`` and ``workspace``, and at calls ``args``."""

Predicate = Callable[[Facts], bool | Awaitable[bool]]
Switch = bool | Predicate

Hook = Callable[["HookEvent"], object]
"""A function, or a coroutine function, of one call. Before a tool it may return ``{"proceed": False, "output": …}``."""

_CHECKS: Final[Mapping[tuple[str, str], Callable[[object], object]]] = {
    (WORKSPACE_TOOLS.FILESYSTEM.READ_FILE, "media_types"): check_media_types,
    (WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND, "background_processes"): listening,
}
"""What raises a ConfigError for an option that is neither a flag, a number nor a text."""
_MAPPING: Final = "a mapping of WORKSPACE_TOOLS' constants to their options (tools of your own are extra_tools)"
_LIMIT: Final = re.compile(r"max_\w+|\w+_timeout")
_EXPOSABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COMMON: Final = ("enabled", "require_approval", "require_read_before_write", "max_output_tokens", "name")
_OVERALL: Final = ("enabled", "require_approval", "write_lock_timeout", "hooks", "profile")


@dataclass(frozen=True, slots=True)
class Hooks:
    """What runs around every tool. Their errors come out of the call as they are."""

    before_tool_call: Hook | None = None
    after_tool_call: Hook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredTool:
    """One tool as a session has it.

    Attributes:
        name: as exposed.
        options: the tool's own keys with the values in force.
        parameters: exposed name of each parameter to ours.
        withheld: our names of parameters that are not offered, since what they need is not there.
    """

    tool: Tool[Any]
    name: str
    enabled: Switch
    require_approval: Switch
    require_read_before_write: Switch
    max_output_tokens: int
    options: Mapping[str, object]
    parameters: Mapping[str, str]
    withheld: frozenset[str] = frozenset()

    def describe(self) -> str:
        """The tool's description, from everything that is in force: beside its own options ``max_output_tokens``,
        ``require_approval``, ``require_read_before_write`` (a function counts as true), and each withheld parameter
        as false.
        """
        in_force: dict[str, object] = {
            **self.options,
            **dict.fromkeys(self.withheld, False),
            "max_output_tokens": self.max_output_tokens,
            "require_approval": self.require_approval is not False,
            "require_read_before_write": self.require_read_before_write is not False,
        }
        return self.tool.describe(in_force)


@dataclass(frozen=True, slots=True)
class ToolsConfig:
    """A configuration that was checked: every tool by its key, and what holds for all."""

    tools: Mapping[str, ConfiguredTool] = field(default_factory=dict[str, ConfiguredTool])
    hooks: Hooks = Hooks()
    write_lock_timeout: float = 30.0


async def decide(predicate: Switch, facts: Facts, *, closed: bool) -> bool:
    """The answer of a switch; one that fails, or answers anything but a bool, counts as ``closed``."""
    if isinstance(predicate, bool):
        return predicate
    try:
        found = predicate(facts)
        answer = cast("object", await found if inspect.isawaitable(found) else found)
    except Exception as error:
        _complain(f"failed with {type(error).__name__}", closed)
        return closed
    if isinstance(answer, bool):
        return answer
    _complain(f"returned {type(answer).__name__}", closed)
    return closed


def _complain(what: str, closed: bool) -> None:
    logging.getLogger(__name__).warning("a function of the tools' configuration %s; taken as %s", what, closed)


def configure(raw: Mapping[str, Any] | None, catalogue: Sequence[Tool[Any]]) -> ToolsConfig:
    """Check a configuration against the tools that there are.

    Args:
        raw: keys ``enabled``, ``require_approval``, ``write_lock_timeout`` (seconds), ``hooks``, ``profile``, and for
            each tool its constant with a mapping of ``enabled``, ``require_approval``, ``require_read_before_write``,
            ``max_output_tokens``, ``name`` and the tool's own options, of which ``max_…`` and ``…_timeout`` are above
            0. ``None`` is all defaults.

    Raises:
        ConfigError: an unknown key, with the nearest valid one; a value that cannot be; two tools of one name.
    """
    given = {} if raw is None else dict(OPTIONS.mapping("tools", raw, _MAPPING))
    known = {tool.key: tool for tool in catalogue}
    if len(known) < len(catalogue):
        twice = [key for key, count in Counter(tool.key for tool in catalogue).items() if count > 1]
        raise ConfigError(f"two tools have the key {twice[0]!r}")
    for key in given:
        OPTIONS.known(key, [*_OVERALL, *known], "tools")
    profile = _profile(given.get("profile"), known)
    overall = {
        "enabled": _switch(given.get("enabled", True), "tools.enabled"),
        "require_approval": _switch(given.get("require_approval", False), "tools.require_approval"),
        "require_read_before_write": False,
    }
    tools = {key: _configured(tool, given.get(key, {}), profile, overall) for key, tool in known.items()}
    _refuse_clashes(tools, given)
    return ToolsConfig(
        tools,
        as_hooks(given.get("hooks")),
        OPTIONS.seconds("tools.write_lock_timeout", given.get("write_lock_timeout", 30.0), zero=True),
    )


def _configured(tool: Tool[Any], given: object, profile: Profile | None, overall: Mapping[str, Any]) -> ConfiguredTool:
    where = f"tools[{tool.key}]"
    entry = OPTIONS.mapping(where, given)
    for key in entry:
        OPTIONS.known(key, [*_COMMON, *tool.options], where)
    naming = Naming(tool.key) if profile is None else profile.tools.get(tool.key, Naming(tool.key))
    own = {key: _own(tool, key, entry[key]) for key in tool.options if key in entry}
    switches = {key: _switch(entry.get(key, value), f"{where}.{key}") for key, value in overall.items()}
    return ConfiguredTool(
        tool=tool,
        name=_name(entry.get("name", naming.name), where),
        enabled=switches["enabled"],
        require_approval=switches["require_approval"],
        require_read_before_write=switches["require_read_before_write"],
        max_output_tokens=_tokens(entry.get("max_output_tokens", tool.max_output_tokens), where),
        options={**tool.options, **own},
        parameters=_parameters(tool, naming),
    )


def _parameters(tool: Tool[Any], naming: Naming) -> dict[str, str]:
    fields: list[str] = list(tool.arguments.model_fields)
    for ours in naming.parameters:
        OPTIONS.known(ours, fields, f"the profile's parameters of {tool.key}")
    exposed = {naming.parameters.get(own, own): own for own in fields}
    if len(exposed) < len(fields):
        raise ConfigError(f"the profile gives two parameters of {tool.key} one name")
    return exposed


def _refuse_clashes(tools: Mapping[str, ConfiguredTool], given: Mapping[str, Any]) -> None:
    """A name must be of one tool alone, and none that another tool has by default."""
    taken: dict[str, str] = {}
    for key, tool in tools.items():
        other = taken.setdefault(tool.name, key)
        if other != key:
            raise ConfigError(f"{other} and {key} are both named {tool.name!r}")
    for key, tool in tools.items():
        if "name" in given.get(key, {}) and tool.name != key and tool.name in tools:
            raise ConfigError(f"{key} cannot be named {tool.name!r}: that is another tool's default name")


def _switch(value: object, where: str) -> Switch:
    if isinstance(value, bool):
        return value
    OPTIONS.function(where, value, "true, false or a function")
    return cast("Predicate", value)


def _tokens(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise OPTIONS.wrong(f"{where}.max_output_tokens", "a number above 0", value)


def _name(value: object, where: str) -> str:
    if isinstance(value, str) and _EXPOSABLE.fullmatch(value):
        return value
    raise OPTIONS.wrong(f"{where}.name", "1 to 64 letters, digits, _ or -", value)


def _own(tool: Tool[Any], key: str, value: object) -> object:
    """A tool's own option; one whose default is a flag, number or text takes nothing else."""
    where, default = f"tools[{tool.key}].{key}", tool.options[key]
    if isinstance(default, bool | int | float | str):
        kinds = (int, float) if isinstance(default, float) else type(default)
        if not isinstance(value, kinds) or isinstance(value, bool) is not isinstance(default, bool):
            raise OPTIONS.wrong(where, f"of the kind of {default!r}", value)
    if _LIMIT.fullmatch(key) and (value is not None or default is not None):
        _require_limit(value, where)
    if (tool.key, key) in _CHECKS:
        _CHECKS[tool.key, key](value)
    return value


def _require_limit(value: object, where: str) -> None:
    kinds = float | int if where.endswith("_timeout") else int
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise OPTIONS.wrong(where, "a number above 0", value)


def _profile(value: object, known: Iterable[str]) -> Profile | None:
    if isinstance(value, str):
        OPTIONS.known(value, PROFILES, "tools.profile")
        return PROFILES[value]
    if isinstance(value, Profile) and value not in PROFILES.values():
        for key, naming in OPTIONS.mapping("the profile's tools", value.tools).items():
            OPTIONS.known(key, known, "the profile's tools")
            if not isinstance(naming, Naming):
                raise OPTIONS.wrong(f"the profile's tools[{key}]", "a Naming", naming)
    if value is None or isinstance(value, Profile):
        return value
    raise OPTIONS.wrong("tools.profile", "the name of a profile, or a Profile", value)


def as_hooks(value: object) -> Hooks:
    """Hooks, or a mapping of their names to functions, or ``None``.

    Raises:
        ConfigError: it is nothing of that.
    """
    if value is None:
        return Hooks()
    if not isinstance(value, Mapping | Hooks):
        raise OPTIONS.wrong("hooks", "a mapping or Hooks", value)
    given = cast("Mapping[str, Any]", value)
    if isinstance(value, Hooks):
        given = {one.name: getattr(value, one.name) for one in fields(value)}
    for key, hook in given.items():
        OPTIONS.known(key, ["before_tool_call", "after_tool_call"], "hooks")
        if hook is not None:
            OPTIONS.function(f"hooks.{key}", hook)
    return value if isinstance(value, Hooks) else Hooks(**given)
