"""Which tools a workspace offers: those that its configuration and its providers have a use for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Final

from moorage import ConfigError, Filesystem
from moorage_workspace.config import ConfiguredTool, ToolsConfig
from moorage_workspace.plugins import Plugins
from moorage_workspace.sandbox.port import Sandbox
from moorage_workspace.schemas import ToolDescription, described, require_strict
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.tool import Needs, Tool

_BUILT_IN: Final = (
    *("read_file", "write_file", "edit_file", "list_files", "delete", "file_stat", "mkdir", "grep", "move", "copy"),
    *("execute_command", "get_process_output", "kill_process"),
)


def built_in_tools() -> tuple[Tool[Any], ...]:
    """The tools of this package, in the order in which they are listed; each is the constant of its own module."""
    return tuple(getattr(import_module(f"moorage_workspace.tools.{name}"), name.upper()) for name in _BUILT_IN)


def tools_of(plugins: Plugins) -> tuple[Tool[Any], ...]:
    """The tools that plug-ins bring. One that cannot be used is named in the log and left out."""
    taken = {tool.key for tool in built_in_tools()}
    found: list[Tool[Any]] = []
    for key in plugins.tools:
        try:
            if key in taken:
                raise ConfigError(f"tool {key!r}: there is one of this key already")
            tool = plugins.tool(key)
            require_strict(tool.arguments)
        except ConfigError as error:
            logging.getLogger(__name__).warning("left out: %s", error.message)
        else:
            found.append(tool)
    return tuple(found)


@cache
def installed_tools() -> tuple[Tool[Any], ...]:
    """:func:`tools_of` the plug-ins that were installed when this was first asked."""
    return tools_of(Plugins())


def catalogue(extra: Sequence[Tool[Any]]) -> tuple[Tool[Any], ...]:
    """Every tool that a configuration may speak of: built in, of plug-ins, and the application's.

    Raises:
        ConfigError: the input of one of the application's cannot be a strict schema.
    """
    for tool in extra:
        require_strict(tool.arguments)
    return (*built_in_tools(), *installed_tools(), *extra)


@dataclass(frozen=True, slots=True)
class Ground:
    """What tools stand on.

    Attributes:
        filesystem, sandbox: the ones for all requests; ``None`` where there is none, or a resolver chooses.
        has_filesystem, has_sandbox: whether there is any.
    """

    filesystem: Filesystem | None
    has_filesystem: bool
    sandbox: Sandbox | None
    has_sandbox: bool

    def bears(self, tool: Tool[Any]) -> bool:
        """Whether the tool could work. What only a request will tell, counts as yes."""
        match tool.needs:
            case Needs.FILESYSTEM:
                read_only = self.filesystem is not None and self.filesystem.info().read_only
                return self.has_filesystem and (tool.annotations.read_only or not read_only)
            case Needs.SANDBOX:
                return self.has_sandbox
            case Needs.PROCESSES:
                return self.has_processes

    @property
    def has_processes(self) -> bool:
        return self.has_sandbox and (self.sandbox is None or self.sandbox.processes is not None)


class Offer:
    """The tools of one configuration on one ground, by exposed name, before any of their functions ran."""

    def __init__(self, config: ToolsConfig, ground: Ground) -> None:
        self.config = config
        self.tools = {tool.name: _fitted(tool, ground) for tool in config.tools.values() if ground.bears(tool.tool)}

    def __iter__(self) -> Iterator[ConfiguredTool]:
        return iter(self.tools.values())

    @cached_property
    def descriptions(self) -> dict[str, ToolDescription]:
        names = {tool.tool.key: tool.name for tool in self}
        return {tool.name: described(tool, names) for tool in self}


def _fitted(tool: ConfiguredTool, ground: Ground) -> ConfiguredTool:
    if tool.tool.key == WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND and not ground.has_processes:
        return replace(tool, withheld=frozenset({"background"}))
    return tool
