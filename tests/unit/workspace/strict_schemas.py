"""What strict tool calling of OpenAI and of Anthropic takes, from their documentation, as checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

Schema = dict[str, Any]

_OPENAI = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description"),
    *("$ref", "$defs", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minItems", "maxItems"),
}
_ANTHROPIC = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf"),
    *("description", "$ref", "$defs", "format"),
}


def subschemas(schema: Schema, depth: int = 0) -> Iterator[tuple[Schema, int]]:
    """The schema and every one in it, each with the number of objects around it."""
    yield schema, depth
    below = depth + (schema.get("type") == "object")
    inside = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        inside.append(schema["items"])
    for one in inside:
        yield from subschemas(one, below)


def check_openai(tool: Schema) -> None:
    """Raises AssertionError where a request with this tool would be refused."""
    function = tool.get("function", tool)
    assert tool["type"] == "function"
    assert function["strict"] is True
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"])
    assert len(function["description"]) <= 1_024 * 8
    root = function["parameters"]
    Draft202012Validator.check_schema(root)
    assert root["type"] == "object"
    assert "anyOf" not in root
    everything = list(subschemas(root))
    for schema, depth in everything:
        assert set(schema) <= _OPENAI, set(schema) - _OPENAI
        assert depth <= 10
        _check_closed(schema)
        if schema.get("type") == "object":
            assert sorted(schema["required"]) == sorted(schema["properties"])
    assert sum(len(schema.get("properties", ())) for schema, _ in everything) <= 5_000


def check_anthropic(tools: Iterable[Schema]) -> None:
    """Raises AssertionError where a request with these tools would be refused: some limits are on all together."""
    tools = list(tools)
    assert len(tools) <= 20
    everything = [schema for tool in tools for schema, _ in subschemas(tool["input_schema"])]
    for tool in tools:
        Draft202012Validator.check_schema(tool["input_schema"])
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
        assert tool["input_schema"]["type"] == "object"
        assert tool["strict"] is True
        assert tool["description"]
    for schema in everything:
        assert set(schema) <= _ANTHROPIC, set(schema) - _ANTHROPIC
        _check_closed(schema)
    optional = sum(len(schema["properties"]) - len(schema["required"]) for schema in everything if "required" in schema)
    unions = sum("anyOf" in schema or isinstance(schema.get("type"), list) for schema in everything)
    assert optional <= 24
    assert unions <= 16


def _check_closed(schema: Schema) -> None:
    assert "type" in schema or "anyOf" in schema or "enum" in schema or "const" in schema
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
    if schema.get("type") == "array":
        assert "items" in schema
