"""Finds the kinds of storage and the commands that installed packages bring, by name.

A :class:`Registry` is made, never global. Plug-ins are loaded one by one; one that is broken is named, with the reason,
in :attr:`Registry.broken`, and the others go on. Options classes and commands are text until they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any, Final

from moorage import hookspecs
from moorage.errors import ConfigError
from moorage.hookspecs import CommandSpec, ProviderSpec
from moorage.plugins import PluginLoader, SpecKind

_PROVIDERS: Final = SpecKind(
    "provider", "moorage_providers", ProviderSpec, r"[a-z][a-z0-9+.-]*", name="scheme", target="options"
)
_COMMANDS: Final = SpecKind("command", "moorage_commands", CommandSpec, r"[a-z][a-z0-9-]*")
_OTHERS: Final = re.compile(r"moorage_[a-z0-9]+_\w+")
"""Hooks of another package, such as ``moorage_workspace_tools``, which that package's own loader checks."""


class Registry:
    """The plug-ins of one process, as they were when this object was made.

    Args:
        plugins: modules (or objects) with hook implementations, taken besides the installed ones.
        installed: the entry points to load; by default those of every installed package, ``()`` for none.
    """

    def __init__(self, plugins: Iterable[object] = (), *, installed: Iterable[EntryPoint] | None = None) -> None:
        self._loader = PluginLoader(hookspecs, (_PROVIDERS, _COMMANDS), _is_ours, plugins, installed)

    @property
    def providers(self) -> Mapping[str, ProviderSpec]:
        """By scheme."""
        return self._loader.specs(_PROVIDERS)

    @property
    def commands(self) -> Mapping[str, CommandSpec]:
        """By name."""
        return self._loader.specs(_COMMANDS)

    @property
    def broken(self) -> Mapping[str, str]:
        """The reason by the name of the plug-in; nothing of these was taken."""
        return self._loader.broken

    def options(self, scheme: str) -> type[object]:
        """The options class of a kind of storage, imported now.

        Raises:
            ConfigError: no plug-in brings this scheme (the message has the nearest ones), or its class cannot be
                imported.
        """
        if scheme not in self.providers and scheme in self.broken:
            raise ConfigError(f"the plug-in of provider {scheme!r} is broken: {self.broken[scheme]}")
        found = self._loader.target(_PROVIDERS, scheme)
        if not isinstance(found, type):
            raise ConfigError(f"provider {scheme!r}: {self.providers[scheme].options} is not a class")
        return found

    def command(self, name: str) -> Callable[..., Any]:
        """The function behind a command, imported now.

        Raises:
            ConfigError: no plug-in brings this command, or its function cannot be imported.
        """
        return self._loader.function(_COMMANDS, name)


def _is_ours(hook: str) -> bool:
    return _OTHERS.fullmatch(hook) is None
