"""What a model is told of a tool, and that strict modes take it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field
from tests.unit.workspace.strict_schemas import check_anthropic, check_openai
from tests.unit.workspace.toys import LOOK, TOYS, Look, tool

from moorage import ConfigError
from moorage_workspace import Arguments, Naming, Profile, ToolDescription
from moorage_workspace.config import configure
from moorage_workspace.offering import built_in_tools
from moorage_workspace.schemas import described


def shown(raw: dict[str, Any] | None = None, key: str = LOOK.key) -> ToolDescription:
    tools = configure(raw, TOYS).tools
    return described(tools[key], {key: tool.name for key, tool in tools.items()})


def of(arguments: type[Arguments]) -> ToolDescription:
    return described(configure(None, [tool("toy", arguments)]).tools["toy"], {})


def test_every_property_is_required_and_an_optional_one_nullable() -> None:
    assert shown().input_schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "What to look at."},
            "max_depth": {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "description": "At least 1. At most 9. Default: 2.",
            },
            "extension": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "description": "Only files that end so. At most 10 characters.",
            },
            "patterns": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "description": "Within max_depth.",
            },
            "encoding": {"anyOf": [{"type": "string", "enum": ["utf-8", "hex"]}, {"type": "null"}]},
        },
        "required": ["path", "max_depth", "extension", "patterns", "encoding"],
        "additionalProperties": False,
    }


def test_for_anthropic_a_parameter_without_default_is_optional_and_one_with_default_required() -> None:
    schema = shown().anthropic()["input_schema"]
    assert schema["required"] == ["path", "max_depth"]
    assert schema["properties"]["max_depth"] == {"type": "integer", "description": "At least 1. At most 9. Default: 2."}
    assert schema["properties"]["encoding"] == {"type": "string", "enum": ["utf-8", "hex"]}
    assert schema["properties"]["patterns"] == {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Within max_depth.",
    }


def test_the_forms_of_the_two_vendors() -> None:
    look = shown()
    assert look.openai() == {
        "type": "function",
        "function": {
            "name": "toy_look",
            "description": look.description,
            "parameters": look.input_schema,
            "strict": True,
        },
    }
    assert look.openai(responses=True) == {"type": "function", **look.openai()["function"]}
    assert look.anthropic() == {
        "name": "toy_look",
        "description": look.description,
        "input_schema": look.sparse_schema,
        "strict": True,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/a", "max_depth": None, "extension": None, "patterns": None, "encoding": None},
        {"path": "/a", "max_depth": 3, "extension": ".py", "patterns": ["*"], "encoding": "hex"},
    ],
)
def test_what_the_schema_takes_the_model_of_the_tool_takes(arguments: dict[str, Any]) -> None:
    Draft202012Validator(shown().input_schema).validate(arguments)
    Look.model_validate({name: value for name, value in arguments.items() if value is not None})


def test_renames_reach_the_schema_and_the_texts() -> None:
    naming = Profile("short", {LOOK.key: Naming("look", {"max_depth": "maxDepth"})})
    look = shown({"profile": naming, "toy_change": {"name": "put"}})
    assert look.name == "look"
    assert list(look.input_schema["properties"]) == ["path", "maxDepth", "extension", "patterns", "encoding"]
    assert look.sparse_schema["required"] == ["path", "maxDepth"]
    assert look.input_schema["properties"]["patterns"]["description"] == "Within maxDepth."
    assert look.sparse_schema["properties"]["patterns"]["description"] == "Within maxDepth."
    assert look.description.startswith("Looks, maxDepth at most. After put, ")


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int = Field(description="Where.", ge=0)
    y: int | None = None


class Nested(Arguments):
    inner: Inner
    inners: tuple[Inner, ...] = ()
    needed: Annotated[str, Field(min_length=1)] | None
    at: datetime | None = None


def test_references_are_resolved_and_a_required_null_stays() -> None:
    schema = of(Nested).input_schema
    inner = {
        "type": "object",
        "properties": {
            "x": {"type": "integer", "description": "Where. At least 0."},
            "y": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    assert schema["properties"]["inner"] == inner
    assert schema["properties"]["inners"]["anyOf"] == [{"type": "array", "items": inner}, {"type": "null"}]
    assert schema["properties"]["needed"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert of(Nested).sparse_schema["properties"]["needed"] == schema["properties"]["needed"]
    assert schema["properties"]["at"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "description": "A date-time.",
    }
    check_openai(of(Nested).openai())
    check_anthropic([of(Nested).anthropic()])


class Open(Arguments):
    extra: dict[str, int]


class Endless(BaseModel):
    again: Endless | None = None


class Recursive(Arguments):
    inner: Endless


class Tuple(Arguments):
    pair: tuple[int, str]


@pytest.mark.parametrize("arguments", [Open, Recursive, Tuple])
def test_what_cannot_be_strict_is_refused_with_its_name(arguments: type[Arguments]) -> None:
    (name,) = arguments.model_fields
    with pytest.raises(ConfigError, match=f"{arguments.__name__}.{name}: "):
        of(arguments)


@pytest.mark.parametrize("profile", [None, "mastra", "coding"])
def test_both_vendors_take_all_tools_together(profile: str | None) -> None:
    tools = configure({"profile": profile}, built_in_tools()).tools
    names = {key: tool.name for key, tool in tools.items()}
    offered = [described(tool, names) for tool in tools.values()]
    assert len(offered) == 13
    for one in offered:
        check_openai(one.openai())
        check_openai(one.openai(responses=True))
    check_anthropic(one.anthropic() for one in offered)


def test_every_parameter_of_every_tool_is_described() -> None:
    for one in configure(None, built_in_tools()).tools.values():
        for name, schema in described(one, {}).input_schema["properties"].items():
            assert schema.get("description"), f"{one.name}.{name}"
