"""What a model is told of a tool: schemas within the subset that strict tool calling of OpenAI and Anthropic takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from moorage import ConfigError
from moorage_workspace.config import ConfiguredTool
from moorage_workspace.tools.tool import Annotations, Arguments

Schema = dict[str, Any]

_NULL: Final[Schema] = {"type": "null"}
_KEPT: Final = ("type", "enum", "const")
_DROPPED: Final = frozenset({"title", "description", "default", "examples", "additionalProperties", "$defs"})
_WORDS: Final[Mapping[str, str]] = {
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "More than {}.",
    "exclusiveMaximum": "Less than {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "minItems": "At least {} entries.",
    "maxItems": "At most {} entries.",
    "pattern": "Matches {}.",
    "format": "A {}.",
}
"""Not every strict mode takes these as keywords, so a model is told in words; validation has them all the same."""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """One tool as a model is offered it.

    Attributes:
        input_schema: JSON schema; closed, every property required, an optional one nullable.
        sparse_schema: the same for Anthropic, which allows few nullable and few optional parameters over all tools of a
            request: a parameter without a default value is left out of ``required`` instead, one with a default is
            required, and its description names the default.
    """

    name: str
    description: str
    input_schema: Schema
    annotations: Annotations
    sparse_schema: Schema = field(repr=False)

    def openai(self, *, responses: bool = False) -> Schema:
        """As an entry of ``tools`` of OpenAI's chat completions, or of its responses."""
        function: Schema = {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
            "strict": True,
        }
        return {"type": "function", **function} if responses else {"type": "function", "function": function}

    def anthropic(self) -> Schema:
        """As an entry of ``tools`` of Anthropic's messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.sparse_schema,
            "strict": True,
        }


def described(tool: ConfiguredTool, names: Mapping[str, str]) -> ToolDescription:
    """The tool under the names in force.

    Args:
        names: key of each tool to its exposed name, by which descriptions speak of one another.

    Raises:
        ConfigError: its input cannot be a strict schema (an open mapping, a recursion).
    """
    exposed = {ours: theirs for theirs, ours in tool.parameters.items()}
    fields = [name for name in tool.tool.arguments.model_fields if name not in tool.withheld]
    renames = {**names, **{ours: theirs for ours, theirs in exposed.items() if "_" in ours}}
    properties = {own: _reworded(one, renames) for own, one in _properties(tool.tool.arguments).items()}
    return ToolDescription(
        name=tool.name,
        description=_renamed(tool.describe(), renames),
        input_schema=_closed({exposed[own]: _nullable(properties[own]) for own in fields}),
        annotations=tool.tool.annotations,
        sparse_schema=_closed(
            {exposed[own]: _sparse(properties[own]) for own in fields},
            [exposed[own] for own in fields if properties[own].required or properties[own].has_default],
        ),
    )


def require_strict(arguments: type[Arguments]) -> None:
    """Raises: ConfigError where this input cannot be a strict schema; the message names the field."""
    _properties(arguments)


@dataclass(frozen=True, slots=True)
class _Property:
    """``has_default``: a default other than null."""

    schema: Schema
    required: bool
    has_default: bool


def _properties(arguments: type[Arguments]) -> dict[str, _Property]:
    whole = arguments.model_json_schema()
    properties: dict[str, _Property] = {}
    for name, node in whole.get("properties", {}).items():
        try:
            schema, notes = _strict(node, whole.get("$defs", {}))
        except ConfigError as error:
            raise ConfigError(f"{arguments.__name__}.{name}: {error.message}") from None
        info = arguments.model_fields[name]
        default = None if info.is_required() else info.get_default(call_default_factory=True)
        said = [node.get("description"), *notes]
        if default is not None:
            said.append(f"Default: {json.dumps(default, ensure_ascii=False, default=list)}.")
        text = " ".join(part for part in said if part)
        described = {**schema, "description": text} if text else schema
        properties[name] = _Property(described, info.is_required(), default is not None)
    return properties


def _strict(node: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 0) -> tuple[Schema, list[str]]:
    """The node without keywords that a strict mode does not take, and these in words."""
    if depth > 8:
        raise ConfigError("a schema that contains itself cannot be strict")
    if "$ref" in node:
        return _strict(definitions[str(node["$ref"]).rsplit("/", 1)[-1]], definitions, depth + 1)
    if variants := node.get("anyOf", node.get("oneOf")):
        return _union(cast("list[Schema]", variants), definitions, depth)
    schema: Schema = {key: node[key] for key in _KEPT if key in node}
    notes = [words.format(node[key]) for key, words in _WORDS.items() if key in node]
    for key, value in node.items():
        if key == "items":
            schema["items"], inside = _strict(value, definitions, depth + 1)
            notes += inside
        elif key == "properties":
            schema |= _object(node, definitions, depth)
        elif key not in (*_KEPT, *_DROPPED, *_WORDS, "required"):
            raise ConfigError(f"{key!r} has no place in a strict schema")
    if schema.get("type") == "object" and "properties" not in schema:
        raise ConfigError("an open mapping cannot be strict")
    return schema, notes


def _union(variants: list[Schema], definitions: Mapping[str, Any], depth: int) -> tuple[Schema, list[str]]:
    found = [_strict(variant, definitions, depth + 1) for variant in variants]
    return {"anyOf": [schema for schema, _ in found]}, [note for _, inside in found for note in inside]


def _object(node: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Schema:
    inside: Schema = {}
    for name, value in node["properties"].items():
        schema, notes = _strict(value, definitions, depth + 1)
        text = " ".join(part for part in (value.get("description"), *notes) if part)
        inside[name] = _or_null(schema) if name not in node.get("required", ()) else schema
        if text:
            inside[name]["description"] = text
    return _closed(inside)


def _reworded(property_: _Property, names: Mapping[str, str]) -> _Property:
    schema = property_.schema
    if "description" not in schema:
        return property_
    return replace(property_, schema={**schema, "description": _renamed(schema["description"], names)})


def _closed(properties: Schema, required: list[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def _nullable(property_: _Property) -> Schema:
    return property_.schema if property_.required else _or_null(property_.schema)


def _sparse(property_: _Property) -> Schema:
    schema = property_.schema
    if property_.required or "anyOf" not in schema:
        return schema
    variants = [variant for variant in schema["anyOf"] if variant != _NULL]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**variants[0], **rest} if len(variants) == 1 else {"anyOf": variants, **rest}


def _or_null(schema: Schema) -> Schema:
    described = {key: value for key, value in schema.items() if key == "description"}
    bare = {key: value for key, value in schema.items() if key != "description"}
    variants = [variant for variant in bare.get("anyOf", [bare]) if variant != _NULL]
    return {"anyOf": [*variants, _NULL], **described}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with our names of tools and parameters, which no ordinary word is, replaced by the exposed ones."""
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda found: names.get(found[0], found[0]), text)
