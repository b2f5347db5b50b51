"""``${NAME}`` in configured texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from moorage.config.keys import dotted
from moorage.errors import ConfigError

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Environment:
    """Replaces ``${NAME}`` by the variable's value; ``$${`` stands for ``${`` itself.

    Attributes:
        used: the values that were put in, which no message may show.
    """

    def __init__(self, variables: Mapping[str, str], origin: str) -> None:
        self._variables = variables
        self._origin = origin
        self.used: set[str] = set()

    def substitute(self, value: object, key: tuple[str, ...]) -> object:
        """``value`` with every text in it substituted, at any depth; keys are left as they are.

        Raises:
            ConfigError: names the file, the key and the variable that is missing, or empty within a longer text such as
                ``${ROOT}/data``, or what is malformed.
        """
        if isinstance(value, str):
            return _REFERENCE.sub(lambda reference: self._value(reference, key, whole=reference[0] == value), value)
        if isinstance(value, Mapping):
            table = cast("Mapping[str, object]", value)
            return {name: self.substitute(inner, (*key, str(name))) for name, inner in table.items()}
        if isinstance(value, list | tuple):
            array = cast("Sequence[object]", value)
            return [self.substitute(inner, (*key, str(index))) for index, inner in enumerate(array)]
        return value

    def _value(self, reference: re.Match[str], key: tuple[str, ...], *, whole: bool) -> str:
        name: str | None = reference[1]
        if name is None:
            return "${"
        where = f"{self._origin}: {dotted(key)}"
        if not reference[2]:
            raise ConfigError(f"{where}: '${{' without '}}'; write '$${{' for the characters themselves")
        if _NAME.fullmatch(name) is None:
            raise ConfigError(f"{where}: {name!r} is no name of an environment variable")
        if name not in self._variables:
            raise ConfigError(f"{where}: the environment variable {name} is not set")
        value = self._variables[name]
        if not value and not whole:
            raise ConfigError(f"{where}: the environment variable {name} is empty, which changes what is around it")
        self.used.add(value)
        return value
