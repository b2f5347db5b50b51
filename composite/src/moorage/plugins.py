"""Loads what installed packages bring through hooks, each plug-in by itself.

A package that others extend makes one :class:`PluginLoader` of its own hooks. Several such packages share the entry
point group ``moorage``, and each leaves the hooks of the others alone.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from types import MappingProxyType, ModuleType
from typing import Any, Final, Generic, TypeVar, cast

import pluggy

from moorage.errors import ConfigError
from moorage.hookspecs import ENTRY_POINT_GROUP, PROJECT

S = TypeVar("S")

_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class _RefusedError(Exception):
    """Why a plug-in is not taken; the text becomes the reason in ``broken``."""


@dataclass(frozen=True, slots=True)
class SpecKind(Generic[S]):
    """One kind of thing that plug-ins bring.

    Attributes:
        what: what messages call it.
        hook: the name of the hook that returns specifications.
        spec: their class, which has a ``summary``, one line for people.
        pattern: the regular expression of a name.
        name: the attribute of a specification that holds its name.
        target: the attribute that says where the thing is, as ``"module:attribute"``.
    """

    what: str
    hook: str
    spec: type[S]
    pattern: str
    name: str = "name"
    target: str = "target"


class PluginLoader:
    """What the plug-ins of one process bring of some kinds, as they were when this object was made.

    One that is broken is named, with the reason, in :attr:`broken`, and the others go on.

    Args:
        hookspecs: the module that specifies the hooks.
        kinds: what is taken.
        is_ours: whether a hook of this name, if it is not specified, is a mistake rather than another package's.
        plugins: modules (or objects) with hook implementations, taken besides the installed ones.
        installed: the entry points to load; by default those of every installed package, ``()`` for none.
    """

    def __init__(
        self,
        hookspecs: ModuleType,
        kinds: Sequence[SpecKind[Any]],
        is_ours: Callable[[str], bool],
        plugins: Iterable[object] = (),
        installed: Iterable[EntryPoint] | None = None,
    ) -> None:
        self._hookspecs = hookspecs
        self._kinds = kinds
        self._is_ours = is_ours
        self._plugins: dict[str, object] = {}
        self._specs: dict[str, dict[str, Any]] = {kind.hook: {} for kind in kinds}
        self._broken: dict[str, str] = {}
        for plugin in plugins:
            self._add(getattr(plugin, "__name__", type(plugin).__name__), plugin)
        found = entry_points(group=ENTRY_POINT_GROUP) if installed is None else installed
        for entry_point in sorted(found, key=lambda point: (point.name, point.value)):
            self._load(entry_point)

    @property
    def broken(self) -> Mapping[str, str]:
        """The reason by the name of the plug-in; nothing of these was taken."""
        return MappingProxyType(self._broken)

    def specs(self, kind: SpecKind[S]) -> Mapping[str, S]:
        """The specifications of one kind, by name."""
        return MappingProxyType(self._specs[kind.hook])

    def target(self, kind: SpecKind[Any], name: str) -> object:
        """What a specification stands for, imported now.

        Raises:
            ConfigError: no plug-in brings it (the message has the nearest names), or it cannot be imported.
        """
        specs = self._specs[kind.hook]
        if name not in specs:
            raise ConfigError(f"no installed package brings the {kind.what} {name!r}{nearest(name, specs)}")
        return _import(getattr(specs[name], kind.target), f"{kind.what} {name!r}")

    def function(self, kind: SpecKind[Any], name: str) -> Callable[..., Any]:
        """As :meth:`target`, of what is to be called.

        Raises:
            ConfigError: as :meth:`target`, or it cannot be called.
        """
        found = self.target(kind, name)
        if not callable(found):
            where = getattr(self._specs[kind.hook][name], kind.target)
            raise ConfigError(f"{kind.what} {name!r}: {where} cannot be called")
        return found

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

    def _take(self, name: str, plugin: object) -> None:
        """All of a plug-in or nothing of it."""
        if name in self._plugins or any(plugin is other for other in self._plugins.values()):
            raise _RefusedError("is registered already")
        manager = pluggy.PluginManager(PROJECT)
        manager.add_hookspecs(self._hookspecs)
        manager.register(plugin)
        callers = manager.get_hookcallers(plugin) or []
        if unknown := sorted(each.name for each in callers if not each.has_spec() and self._is_ours(each.name)):
            raise _RefusedError(f"implements hooks that do not exist: {', '.join(unknown)}")
        if not callers:
            raise _RefusedError("implements no hook")
        found = {hook: dict(specs) for hook, specs in self._specs.items()}
        for kind in self._kinds:
            answers: list[Iterable[object]] = getattr(manager.hook, kind.hook)()
            for each in chain.from_iterable(answers):
                key, spec = _checked(kind, each, found[kind.hook])
                found[kind.hook][key] = spec
        self._specs = found
        self._plugins[name] = plugin

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


def _checked(kind: SpecKind[S], spec: object, taken: Mapping[str, object]) -> tuple[str, S]:
    """The name of a specification, and itself."""
    if not isinstance(spec, kind.spec):
        raise _RefusedError(f"{kind.hook} returned a {type(spec).__name__}, not a {kind.spec.__name__}")
    name, target, summary = (getattr(spec, attribute) for attribute in (kind.name, kind.target, "summary"))
    if not isinstance(name, str) or re.fullmatch(kind.pattern, name) is None:
        raise _RefusedError(f"the {kind.what} {name!r} does not match {kind.pattern}")
    if name in taken:
        raise _RefusedError(f"the {kind.what} {name!r} is taken already")
    if not isinstance(target, str) or _TARGET.fullmatch(target) is None:
        raise _RefusedError(f"{kind.what} {name!r}: {target!r} is not 'module:name'")
    if not isinstance(summary, str) or not summary.strip() or len(summary.splitlines()) != 1:
        raise _RefusedError(f"{kind.what} {name!r}: the summary is not one line of text")
    return name, spec


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
