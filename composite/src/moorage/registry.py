"""Finds plug-ins: the kinds of storage and the commands that installed packages bring, by name.

A :class:`Registry` is made, never global. Plug-ins are loaded one by one; one that is broken is named, with the reason,
in :attr:`Registry.broken`, and the others go on. Options classes and commands are text until they are asked for.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

import pluggy

from moorage import hookspecs
from moorage.errors import ConfigError
from moorage.hookspecs import ENTRY_POINT_GROUP, PROJECT, CommandSpec, ProviderSpec

S = TypeVar("S", ProviderSpec, CommandSpec)

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_COMMAND: Final = re.compile(r"[a-z][a-z0-9-]*")
_OTHERS: Final = re.compile(r"moorage_[a-z0-9]+_\w+")
"""Hooks of another package, such as ``moorage_workspace_tools``, which that package's own registry checks."""
_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class _RefusedError(Exception):
    """Why a plug-in is not taken; the text becomes the reason in ``broken``."""


class Registry:
    """The plug-ins of one process, as they were when this object was made.

    Args:
        plugins: modules (or objects) with hook implementations, taken besides the installed ones.
        installed: the entry points to load; by default those of every installed package, ``()`` for none.
    """

    def __init__(self, plugins: Iterable[object] = (), *, installed: Iterable[EntryPoint] | None = None) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._providers: dict[str, ProviderSpec] = {}
        self._commands: dict[str, CommandSpec] = {}
        self._broken: dict[str, str] = {}
        for plugin in plugins:
            self._add(getattr(plugin, "__name__", type(plugin).__name__), plugin)
        found = entry_points(group=ENTRY_POINT_GROUP) if installed is None else installed
        for entry_point in sorted(found, key=lambda point: (point.name, point.value)):
            self._load(entry_point)

    @property
    def providers(self) -> Mapping[str, ProviderSpec]:
        """By scheme."""
        return MappingProxyType(self._providers)

    @property
    def commands(self) -> Mapping[str, CommandSpec]:
        """By name."""
        return MappingProxyType(self._commands)

    @property
    def broken(self) -> Mapping[str, str]:
        """The reason by the name of the plug-in; nothing of these was taken."""
        return MappingProxyType(self._broken)

    def options(self, scheme: str) -> type[object]:
        """The options class of a kind of storage, imported now.

        Raises:
            ConfigError: no plug-in brings this scheme (the message has the nearest ones), or its class cannot be
                imported.
        """
        spec = self._providers.get(scheme)
        if spec is None:
            raise ConfigError(self._unknown(scheme))
        found = _import(spec.options, f"provider {scheme!r}")
        if not isinstance(found, type):
            raise ConfigError(f"provider {scheme!r}: {spec.options} is not a class")
        return found

    def command(self, name: str) -> Callable[..., Any]:
        """The function behind a command, imported now.

        Raises:
            ConfigError: no plug-in brings this command, or its function cannot be imported.
        """
        spec = self._commands.get(name)
        if spec is None:
            raise ConfigError(f"no plug-in brings the command {name!r}{nearest(name, self._commands)}")
        found = _import(spec.target, f"command {name!r}")
        if not callable(found):
            raise ConfigError(f"command {name!r}: {spec.target} cannot be called")
        return found

    def _unknown(self, scheme: str) -> str:
        if scheme in self._broken:
            return f"the plug-in of provider {scheme!r} is broken: {self._broken[scheme]}"
        return f"no installed package brings the provider {scheme!r}{nearest(scheme, self._providers)}"

    def _load(self, entry_point: EntryPoint) -> None:
        try:
            plugin = entry_point.load()
        except (Exception, SystemExit, BaseExceptionGroup) as error:
            _let_interrupt_pass(error)
            self._refuse(entry_point.name, f"cannot import {entry_point.value}: {_describe(error)}")
        else:
            self._add(entry_point.name, plugin)

    def _add(self, name: str, plugin: object) -> None:
        try:
            self._take(name, plugin)
        except _RefusedError as refusal:
            self._refuse(name, str(refusal))
        except (Exception, SystemExit, BaseExceptionGroup) as error:
            _let_interrupt_pass(error)
            self._refuse(name, _describe(error))
        else:
            return
        if self._manager.is_registered(plugin) and self._manager.get_name(plugin) == name:
            self._manager.unregister(plugin)

    def _take(self, name: str, plugin: object) -> None:
        """All of a plug-in or nothing of it."""
        if self._manager.is_registered(plugin) or self._manager.has_plugin(name):
            raise _RefusedError("is registered already")
        self._manager.register(plugin, name)
        callers = self._manager.get_hookcallers(plugin) or []
        if unknown := sorted(caller.name for caller in callers if not (caller.has_spec() or _is_others(caller.name))):
            raise _RefusedError(f"implements hooks that do not exist: {', '.join(unknown)}")
        if not callers:
            raise _RefusedError("implements no hook")
        providers, commands = dict(self._providers), dict(self._commands)
        for provider in self._ask("moorage_providers", plugin, ProviderSpec):
            _check("scheme", provider.scheme, _SCHEME, provider.options, provider.summary, providers)
            providers[provider.scheme] = provider
        for command in self._ask("moorage_commands", plugin, CommandSpec):
            _check("command", command.name, _COMMAND, command.target, command.summary, commands)
            commands[command.name] = command
        self._providers.update(providers)
        self._commands.update(commands)

    def _ask(self, hook: str, plugin: object, kind: type[S]) -> list[S]:
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        answers: list[Iterable[object]] = self._manager.subset_hook_caller(hook, others)()
        found: list[S] = []
        for spec in (spec for answer in answers for spec in answer):
            if not isinstance(spec, kind):
                raise _RefusedError(f"{hook} returned a {type(spec).__name__}, not a {kind.__name__}")
            found.append(spec)
        return found

    def _refuse(self, name: str, reason: str) -> None:
        key, count = name, 2
        while key in self._broken:
            key, count = f"{name} ({count})", count + 1
        self._broken[key] = reason


def nearest(name: str, valid: Iterable[str]) -> str:
    """The tail of a message about an unknown name: the valid ones that it resembles, or all, or nothing to say."""
    known = sorted(valid)
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; known: {', '.join(known)}" if known else ""


def _is_others(hook: str) -> bool:
    return _OTHERS.fullmatch(hook) is not None


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


def _import(target: str, what: str) -> object:
    module, _, attributes = target.partition(":")
    try:
        found: object = importlib.import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except (Exception, SystemExit, BaseExceptionGroup) as error:
        _let_interrupt_pass(error)
        raise ConfigError(f"{what}: cannot import {target}: {_describe(error)}") from error
    return found


def _let_interrupt_pass(error: BaseException) -> None:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        if group.subgroup(KeyboardInterrupt) is not None:
            raise group


def _describe(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
