"""What a person types, as a call of a tool."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from moorage import InvalidArgumentError

Schema = Mapping[str, Any]
_TRUE: Final = frozenset({"true", "yes", "1"})
_FALSE: Final = frozenset({"false", "no", "0"})


def parse_arguments(text: str, schema: Schema) -> dict[str, object]:
    """The arguments of a call, written as a JSON object or as words.

    ``/plan.md --limit 3 --no-show_line_numbers``: words without a name fill the parameters in their order. ``--name``
    alone is true, ``--no-name`` false; a value that begins with ``@json:`` is JSON.

    Raises:
        InvalidArgumentError: it is neither, or names a parameter that there is not.
    """
    text = text.strip()
    if text.startswith("{"):
        return _object(text)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    found: dict[str, object] = {}
    free = list(properties)
    words = _words(text)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            name, value = _next_free(free, found, word), word
        else:
            name, equals, value = word[2:].partition("=")
            if not equals and name.startswith("no-") and name[3:] in properties:
                found[name[3:]] = False
                continue
            _require_known(name, properties)
            if not equals:
                if "boolean" in types_of(properties[name]):
                    found[name] = True
                    continue
                if not words:
                    raise InvalidArgumentError(f"--{name} needs a value")
                value = words.pop(0)
        found[name] = _value(name, value, properties[name])
    return found


def types_of(schema: Schema) -> frozenset[str]:
    """The JSON types that a property takes, through unions."""
    own = schema.get("type", [])
    types = {own} if isinstance(own, str) else set(own)
    for branch in schema.get("anyOf", []):
        types |= types_of(branch)
    return frozenset(types)


def _object(text: str) -> dict[str, object]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"this is no JSON object: {error}") from None
    except RecursionError:
        raise InvalidArgumentError("this JSON object is too deep") from None
    return dict(value)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidArgumentError(f"{error}; quote it as a shell does, or write a JSON object") from None


def _next_free(free: list[str], found: Mapping[str, object], word: str) -> str:
    for name in free:
        if name not in found:
            return name
    raise InvalidArgumentError(f"nothing is left for {word!r}; the parameters are {', '.join(free) or 'none'}")


def _require_known(name: str, properties: Mapping[str, Schema]) -> None:
    if name not in properties:
        raise InvalidArgumentError(f"there is no --{name}; the parameters are {', '.join(properties)}")


def _value(name: str, text: str, schema: Schema) -> object:
    types = types_of(schema)
    if text.startswith("@json:"):
        try:
            return json.loads(text.removeprefix("@json:"))
        except ValueError as error:
            raise InvalidArgumentError(f"--{name}: {error}") from None
        except RecursionError:
            raise InvalidArgumentError(f"--{name}: this JSON is too deep") from None
    if "string" in types:
        return text
    if "boolean" in types and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    for kind, convert in (("integer", int), ("number", float)):
        if kind in types:
            try:
                return convert(text)
            except ValueError:
                continue
    return [text] if "array" in types else text
