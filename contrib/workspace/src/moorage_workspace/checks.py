"""What an application gives, checked when it gives it: what is wrong is named with what was wanted in its place."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, cast

from pydantic import SecretStr

from moorage import ConfigError, InvalidArgumentError, MoorageError

_NO_LISTS: Final = (str, bytes, SecretStr, Mapping, type)
"""What can be iterated over, or looks as if, and is one value."""


class Checks:
    """Gives back what passes, and raises one kind of error for what does not.

    No text of a list or mapping is repeated in a message, since it may be a secret.
    """

    def __init__(self, error: type[MoorageError]) -> None:
        self._error = error

    def wrong(self, where: str, wanted: str, value: object, *, secret: bool = False) -> MoorageError:
        """The error to raise: ``where`` it is, what may be there, and what is; of a ``secret`` the kind alone."""
        return self._error(f"{where} must be {wanted}, not {type(value).__name__ if secret else _shown(value)}")

    def known(self, name: object, valid: Iterable[str], where: str) -> None:
        """That there is such a name; the nearest is told."""
        names = list(valid)
        if name not in names:
            near = get_close_matches(str(name), names, 1, 0.5)
            hint = f"; the nearest is {near[0]!r}" if near else f"; valid are {', '.join(names)}"
            raise self._error(f"{where}: there is no {name!r}{hint}")

    def flag(self, where: str, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self.wrong(where, "true or false", value)

    def text(self, where: str, value: object) -> str:
        if isinstance(value, str) and value:
            return value
        raise self.wrong(where, "a text that is not empty", value)

    def seconds(self, where: str, value: object, *, zero: bool) -> float:
        """A finite number above 0, or with ``zero`` also that."""
        least = 0.0 if zero else math.ulp(0.0)
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value < math.inf:
            return value
        raise self.wrong(where, "0 or more seconds" if zero else "above 0 seconds", value)

    def function(self, where: str, value: object, wanted: str = "a function") -> None:
        """That it can be called. A class is refused: to call it makes an object, which nobody wants as an answer."""
        if not callable(value) or isinstance(value, type):
            raise self.wrong(where, wanted, value)

    def plain_function(self, where: str, value: object) -> None:
        """That it can be called and gives its answer at once."""
        self.function(where, value)
        if inspect.iscoroutinefunction(value):
            raise self._error(f"{where} must be a plain function, not a coroutine function: its answer is not awaited")

    def mapping(self, where: str, value: object, wanted: str = "a mapping") -> Mapping[Any, Any]:
        if isinstance(value, Mapping):
            return cast("Mapping[Any, Any]", value)  # type: ignore[redundant-cast]
        raise self.wrong(where, wanted, value, secret=True)

    def listed(self, where: str, value: object, wanted: str = "a list") -> tuple[Any, ...]:
        """The members. A text is an iterable of its letters, and a mapping of its keys: both are meant otherwise."""
        wrong = self.wrong(where, wanted, value, secret=True)
        if isinstance(value, _NO_LISTS) or not isinstance(value, Iterable):
            raise wrong
        return tuple(cast("Iterable[Any]", value))  # type: ignore[redundant-cast]

    def path(self, where: str, value: object) -> str:
        """A path of this machine. An empty one would be wherever the process happens to be."""
        given: Any = value
        path: object = os.fspath(cast("os.PathLike[str]", given)) if isinstance(given, os.PathLike) else value
        if isinstance(path, str) and path and "\0" not in path:
            return path
        raise self.wrong(where, "a path of this machine", value)


OPTIONS: Final = Checks(ConfigError)
ARGUMENTS: Final = Checks(InvalidArgumentError)


def _shown(value: object) -> str:
    """A plain value as it is, and of any other what it is: it may hold a secret."""
    if isinstance(value, bool | int | float | str):
        return repr(value)
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
