"""Finds the tools and the kinds of sandbox that installed packages bring.

Plug-ins are loaded one by one; one that is broken is named, with the reason, in :attr:`Plugins.broken`, and the others
go on. What they bring is text until it is asked for. Hooks that are not the workspace's are core's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any, Final, cast

from moorage import ConfigError, PluginLoader, SpecKind
from moorage_workspace import hookspecs
from moorage_workspace.hookspecs import SandboxSpec, ToolSpec
from moorage_workspace.sandbox.port import Sandbox
from moorage_workspace.tools.tool import Tool

_TOOLS: Final = SpecKind("tool", "moorage_workspace_tools", ToolSpec, r"[A-Za-z_][A-Za-z0-9_-]*", name="key")
_SANDBOXES: Final = SpecKind("sandbox", "moorage_workspace_sandboxes", SandboxSpec, r"[a-z][a-z0-9-]*")


class Plugins:
    """What the plug-ins of this process bring, as they were when this object was made.

    Args:
        plugins: modules (or objects) with hook implementations, taken besides the installed ones.
        installed: the entry points to load; by default those of every installed package, ``()`` for none.
    """

    def __init__(self, plugins: Iterable[object] = (), *, installed: Iterable[EntryPoint] | None = None) -> None:
        self._loader = PluginLoader(hookspecs, (_TOOLS, _SANDBOXES), _is_ours, plugins, installed)

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """By key."""
        return self._loader.specs(_TOOLS)

    @property
    def sandboxes(self) -> Mapping[str, SandboxSpec]:
        """By name."""
        return self._loader.specs(_SANDBOXES)

    @property
    def broken(self) -> Mapping[str, str]:
        """The reason by the name of the plug-in; nothing of these was taken."""
        return self._loader.broken

    def tool(self, key: str) -> Tool[Any]:
        """The tool behind a key, imported now.

        Raises:
            ConfigError: no plug-in brings it, it cannot be imported, or it is not what was announced.
        """
        found = self._loader.target(_TOOLS, key)
        tool = cast("Tool[Any]", found)
        if not isinstance(found, Tool) or tool.key != key:
            raise ConfigError(f"tool {key!r}: {self.tools[key].target} is not a tool with this key")
        return tool

    def sandbox(self, name: str) -> Callable[..., Sandbox]:
        """The class (or function) that makes a kind of sandbox, imported now.

        Raises:
            ConfigError: no plug-in brings it, or it cannot be imported.
        """
        return self._loader.function(_SANDBOXES, name)


def _is_ours(hook: str) -> bool:
    return hook.startswith("moorage_workspace_")
