"""Finds the tools and the kinds of sandbox that installed packages bring.

Plug-ins are loaded one by one; one that is broken is named, with the reason, in :attr:`Plugins.broken`, and the others
go on. What they bring is text until it is asked for. Hooks that are not the workspace's are core's business.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

import pluggy

from moorage import ConfigError
from moorage_workspace import hookspecs
from moorage_workspace.hookspecs import SandboxSpec, ToolSpec
from moorage_workspace.sandbox.port import Sandbox
from moorage_workspace.tools.tool import Tool

_PROJECT: Final = "moorage"
_OURS: Final = "moorage_workspace_"
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

S = TypeVar("S", ToolSpec, SandboxSpec)


class _RefusedError(Exception):
    """Why a plug-in is not taken."""


class Plugins:
    """What the plug-ins of this process bring, as they were when this object was made.

    Args:
        plugins: modules (or objects) with hook implementations, taken besides the installed ones.
        installed: the entry points to load; by default those of every installed package, ``()`` for none.
    """

    def __init__(self, plugins: Iterable[object] = (), *, installed: Iterable[EntryPoint] | None = None) -> None:
        self._tools: dict[str, ToolSpec] = {}
        self._sandboxes: dict[str, SandboxSpec] = {}
        self._broken: dict[str, str] = {}
        for plugin in plugins:
            self._add(getattr(plugin, "__name__", type(plugin).__name__), partial(_itself, plugin))
        found = entry_points(group=_PROJECT) if installed is None else installed
        for entry_point in sorted(found, key=lambda point: (point.name, point.value)):
            self._add(entry_point.name, entry_point.load)

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """By key."""
        return MappingProxyType(self._tools)

    @property
    def sandboxes(self) -> Mapping[str, SandboxSpec]:
        """By name."""
        return MappingProxyType(self._sandboxes)

    @property
    def broken(self) -> Mapping[str, str]:
        """The reason by the name of the plug-in; nothing of these was taken."""
        return MappingProxyType(self._broken)

    def tool(self, key: str) -> Tool[Any]:
        """The tool behind a key, imported now.

        Raises:
            ConfigError: no plug-in brings it, it cannot be imported, or it is not what was announced.
        """
        spec = self._tools.get(key)
        if spec is None:
            raise ConfigError(f"no plug-in brings the tool {key!r}{_known(self._tools)}")
        found = _imported(spec.target, f"tool {key!r}")
        tool = cast("Tool[Any]", found)
        if not isinstance(found, Tool) or tool.key != key:
            raise ConfigError(f"tool {key!r}: {spec.target} is not a tool with this key")
        return tool

    def sandbox(self, name: str) -> Callable[..., Sandbox]:
        """The class (or function) that makes a kind of sandbox, imported now.

        Raises:
            ConfigError: no plug-in brings it, or it cannot be imported.
        """
        spec = self._sandboxes.get(name)
        if spec is None:
            raise ConfigError(f"no plug-in brings the sandbox {name!r}{_known(self._sandboxes)}")
        found = _imported(spec.target, f"sandbox {name!r}")
        if not callable(found):
            raise ConfigError(f"sandbox {name!r}: {spec.target} cannot be called")
        return cast("Callable[..., Sandbox]", found)

    def _add(self, name: str, load: Callable[[], object]) -> None:
        try:
            self._take(load())
        except _RefusedError as refusal:
            self._refuse(name, str(refusal))
        except (Exception, SystemExit) as error:
            self._refuse(name, _described(error))

    def _take(self, plugin: object) -> None:
        """All of a plug-in or nothing of it."""
        manager = pluggy.PluginManager(_PROJECT)
        manager.add_hookspecs(hookspecs)
        manager.register(plugin)
        ours = [caller for caller in manager.get_hookcallers(plugin) or [] if caller.name.startswith(_OURS)]
        if unknown := sorted(caller.name for caller in ours if not caller.has_spec()):
            raise _RefusedError(f"implements hooks that do not exist: {', '.join(unknown)}")
        tools, sandboxes = dict(self._tools), dict(self._sandboxes)
        for tool in _asked(manager.hook.moorage_workspace_tools, ToolSpec):
            _check("tool", tool.key, _KEY, tool.target, tool.summary, tools)
            tools[tool.key] = tool
        for sandbox in _asked(manager.hook.moorage_workspace_sandboxes, SandboxSpec):
            _check("sandbox", sandbox.name, _NAME, sandbox.target, sandbox.summary, sandboxes)
            sandboxes[sandbox.name] = sandbox
        self._tools, self._sandboxes = tools, sandboxes

    def _refuse(self, name: str, reason: str) -> None:
        key, count = name, 2
        while key in self._broken:
            key, count = f"{name} ({count})", count + 1
        self._broken[key] = reason


def _itself(plugin: object) -> object:
    return plugin


def _asked(hook: Callable[[], list[Iterable[object]]], kind: type[S]) -> list[S]:
    found: list[S] = []
    for spec in (spec for answer in hook() for spec in answer):
        if not isinstance(spec, kind):
            raise _RefusedError(f"returned a {type(spec).__name__}, not a {kind.__name__}")
        found.append(spec)
    return found


def _check(
    what: str, name: object, pattern: re.Pattern[str], target: object, summary: object, taken: Mapping[str, object]
) -> None:
    if not isinstance(name, str) or pattern.fullmatch(name) is None:
        raise _RefusedError(f"the {what} {name!r} does not match {pattern.pattern}")
    if name in taken:
        raise _RefusedError(f"the {what} {name!r} is taken already")
    if not isinstance(target, str) or _TARGET.fullmatch(target) is None:
        raise _RefusedError(f"{what} {name!r}: {target!r} is not 'module:name'")
    if not isinstance(summary, str) or not summary.strip() or len(summary.splitlines()) != 1:
        raise _RefusedError(f"{what} {name!r}: the summary is not one line of text")


def _imported(target: str, what: str) -> object:
    module, _, attributes = target.partition(":")
    try:
        found: object = importlib.import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{what}: cannot import {target}: {_described(error)}") from error
    return found


def _known(specs: Mapping[str, object]) -> str:
    return f"; known: {', '.join(sorted(specs))}" if specs else ""


def _described(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
