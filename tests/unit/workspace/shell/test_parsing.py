"""What a person types, as a call."""

from __future__ import annotations

from typing import Any

import pytest

from moorage import InvalidArgumentError, MemoryFilesystem, MoorageError
from moorage_workspace import Workspace
from moorage_workspace.shell.parsing import parse_arguments, types_of

SCHEMA: dict[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "timeout": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "numbered": {"type": "boolean"},
        "pattern": {"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}, {"type": "null"}]},
        "names": {"type": "array", "items": {"type": "string"}},
    }
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("   ", {}),
        ("/plan.md", {"path": "/plan.md"}),
        ("/plan.md 3 0.5", {"path": "/plan.md", "limit": 3, "timeout": 0.5}),
        ("--limit 3 /plan.md", {"limit": 3, "path": "/plan.md"}),
        ("--limit=3 --path=/a", {"limit": 3, "path": "/a"}),
        ("--limit -1", {"limit": -1}),
        ("--path=--limit", {"path": "--limit"}),
        ("--path=a=b", {"path": "a=b"}),
        ("--path=", {"path": ""}),
        ("-", {"path": "-"}),
        ("--", {"path": "--"}),
        ("--numbered /a", {"numbered": True, "path": "/a"}),
        ("--no-numbered /a", {"numbered": False, "path": "/a"}),
        ("--numbered=no", {"numbered": False}),
        ("--numbered=TRUE", {"numbered": True}),
        ("--numbered=maybe", {"numbered": "maybe"}),
        ("--limit many", {"limit": "many"}),
        ("--timeout 2", {"timeout": 2.0}),
        ("--names a", {"names": ["a"]}),
        ("--pattern *.py", {"pattern": "*.py"}),
        ('--pattern \'@json:["*.py", "*.md"]\'', {"pattern": ["*.py", "*.md"]}),
        ("--limit @json:null", {"limit": None}),
        ('"a b.md"', {"path": "a b.md"}),
        ("'it''s'", {"path": "its"}),
        (r"a\ b", {"path": "a b"}),
        ("'$HOME `id` $(id) ~ ; rm'", {"path": "$HOME `id` $(id) ~ ; rm"}),
        ("größe.txt", {"path": "größe.txt"}),
        ('{"path": "/a", "limit": null}', {"path": "/a", "limit": None}),
        ('  {"anything": [1, {"deep": true}]}  ', {"anything": [1, {"deep": True}]}),
    ],
)
def test_words_and_json(text: str, expected: dict[str, object]) -> None:
    assert parse_arguments(text, SCHEMA) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "no JSON object"),
        ('{"path": }', "no JSON object"),
        ('{"path": "/a"} more', "no JSON object"),
        ('{"a":' * 100_000, "too deep"),
        ("--path @json:" + "[" * 100_000, "too deep"),
        ("--path @json:{", "--path"),
        ("'open", "quote it"),
        ("a\\", "quote it"),
        ("--nothing 1", "there is no --nothing; the parameters are path, limit"),
        ("--no-nothing", "there is no --no-nothing"),
        ("--path", "--path needs a value"),
        ("a 1 2 yes b c d", "nothing is left for 'd'"),
    ],
)
def test_what_is_neither(text: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        parse_arguments(text, SCHEMA)


def test_a_tool_without_parameters_takes_none() -> None:
    assert parse_arguments("", {}) == {}
    with pytest.raises(InvalidArgumentError, match="the parameters are none"):
        parse_arguments("x", {})


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "\x1b]0;x\a",
        "\ud800",
        "--\0",
        "--=",
        "--=x",
        "---",
        "--path=\0",
        "\u202e",
        "9" * 10_000,
        "{}{}",
        "[]",
        "@json:",
    ],
)
def test_hostile_text_is_a_value_or_an_error_of_ours(text: str) -> None:
    for line in (text, f"--path {text}", f"--limit {text}", f"/a {text}", f"{{{text}"):
        try:
            found = parse_arguments(line, SCHEMA)
        except MoorageError:
            continue
        assert set(found) <= set(SCHEMA["properties"])


def test_types_of_unions() -> None:
    assert types_of({"anyOf": [{"type": "integer"}, {"type": ["string", "null"]}]}) == {"integer", "string", "null"}
    assert types_of({"$ref": "#/x"}) == frozenset()


@pytest.mark.anyio
async def test_every_parameter_of_every_tool_can_be_named() -> None:
    async with Workspace(filesystem=MemoryFilesystem()) as workspace:
        for tool in await workspace.tools():
            for name, schema in tool.input_schema["properties"].items():
                expected = {"boolean": True, "integer": 1}.get(next(iter(types_of(schema) - {"null"})), "1")
                assert parse_arguments(f"--{name}=1", tool.input_schema) == {name: expected}
