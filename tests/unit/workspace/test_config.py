"""The tools' configuration: what is in force, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from tests.unit.workspace.toys import CHANGE, LOOK, TOYS, tool

from moorage import ConfigError
from moorage_workspace import WORKSPACE_TOOLS, Hooks, Naming, Profile
from moorage_workspace.config import Facts, configure, decide
from moorage_workspace.offering import built_in_tools

FILES, SHELL = WORKSPACE_TOOLS.FILESYSTEM, WORKSPACE_TOOLS.SANDBOX
FACTS: Facts = {"context": {"role": "admin"}, "workspace": None}


def test_defaults() -> None:
    config = configure(None, TOYS)
    assert list(config.tools) == ["toy_look", "toy_change", "toy_shell", "toy_jobs"]
    assert config.write_lock_timeout == 30.0
    assert config.hooks == Hooks()
    look = config.tools["toy_look"]
    assert (look.enabled, look.require_approval, look.require_read_before_write) == (True, False, False)
    assert look.max_output_tokens == 2_000
    assert look.name == "toy_look"
    assert look.options == {"depth": 3, "fast": False, "ratio": 0.5, "style": "plain", "filter": None}
    assert look.parameters["max_depth"] == "max_depth"


def test_an_entry_wins_over_what_is_for_all_and_that_over_the_defaults() -> None:
    raw = {
        "enabled": False,
        "require_approval": True,
        LOOK.key: {"enabled": True, "require_approval": False, "require_read_before_write": True},
        CHANGE.key: {"max_output_tokens": 7},
    }
    tools = configure(raw, TOYS).tools
    assert [tool.enabled for tool in tools.values()] == [True, False, False, False]
    assert [tool.require_approval for tool in tools.values()] == [False, True, True, True]
    assert [tool.require_read_before_write for tool in tools.values()] == [True, False, False, False]
    assert [tool.max_output_tokens for tool in tools.values()] == [2_000, 7, 2_000, 2_000]


def test_own_options_are_joined_with_their_defaults() -> None:
    def chosen(name: str) -> bool:
        return True

    look = configure({LOOK.key: {"depth": 9, "ratio": 1, "filter": chosen}}, TOYS).tools[LOOK.key]
    assert look.options == {"depth": 9, "fast": False, "ratio": 1, "style": "plain", "filter": chosen}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"enable": True}, "'enabled'"),
        ({"toy_lok": {}}, "'toy_look'"),
        ({LOOK.key: {"require_aproval": True}}, "'require_approval'"),
        ({LOOK.key: {"dept": 1}}, "'depth'"),
        ({"profile": "mastro"}, "'mastra'"),
        ({"hooks": {"before_tool": print}}, "'before_tool_call'"),
        ({"xyzzy": 1}, "valid are"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configure(raw, TOYS)


@pytest.mark.parametrize(
    "raw",
    [
        {"enabled": "yes"},
        {"require_approval": None},
        {"write_lock_timeout": -1},
        {"write_lock_timeout": True},
        {"write_lock_timeout": "30"},
        {"write_lock_timeout": float("nan")},
        {"hooks": print},
        {"hooks": {"before_tool_call": "f"}},
        {"hooks": Hooks(before_tool_call=cast("Any", "f"))},
        {"profile": 3},
        {LOOK.key: True},
        {LOOK.key: None},
        {LOOK.key: {"enabled": 1}},
        {LOOK.key: {"max_output_tokens": 0}},
        {LOOK.key: {"max_output_tokens": 2.5}},
        {LOOK.key: {"max_output_tokens": True}},
        {LOOK.key: {"name": ""}},
        {LOOK.key: {"name": "two words"}},
        {LOOK.key: {"name": "a" * 65}},
        {LOOK.key: {"name": None}},
        {LOOK.key: {"depth": "3"}},
        {LOOK.key: {"depth": True}},
        {LOOK.key: {"fast": 1}},
        {LOOK.key: {"ratio": False}},
        {LOOK.key: {"style": 3}},
    ],
)
def test_a_value_that_cannot_be_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configure(raw, TOYS)


@pytest.mark.parametrize(
    ("key", "option", "wrong"),
    [
        *[(FILES.WRITE_FILE, "max_write_bytes", wrong) for wrong in (0, -1, True, "9", 9.5)],
        *[(FILES.EDIT_FILE, "max_edit_bytes", wrong) for wrong in (0, None, "9")],
        *[(FILES.LIST_FILES, "max_entries", wrong) for wrong in (0, -5)],
        *[(FILES.READ_FILE, "max_media_bytes", wrong) for wrong in (-1, 1.5)],
        *[(FILES.GREP, "pattern_timeout", wrong) for wrong in (0, -1.0, float("nan"), float("inf"), True)],
        *[(FILES.READ_FILE, "media_types", wrong) for wrong in ("image/png", True, 3, [b"image/png"], b"image/png")],
        *[(SHELL.EXECUTE_COMMAND, "background_processes", wrong) for wrong in ({"on_out": print}, True, "session")],
    ],
)
def test_an_option_of_a_tool_that_cannot_be_is_refused(key: str, option: str, wrong: object) -> None:
    with pytest.raises(ConfigError, match=option):
        configure({key: {option: wrong}}, built_in_tools())


def test_options_of_tools_that_can_be() -> None:
    taken: dict[str, dict[str, object]] = {
        FILES.WRITE_FILE: {"max_write_bytes": 1},
        FILES.GREP: {"pattern_timeout": 1},
        FILES.READ_FILE: {"media_types": ("image/*",)},
        SHELL.EXECUTE_COMMAND: {"background_processes": {"on_stdout": print}},
    }
    tools = configure(taken, built_in_tools()).tools
    assert {key: {name: tools[key].options[name] for name in options} for key, options in taken.items()} == taken
    for off in (False, None, bool):
        read = configure({FILES.READ_FILE: {"media_types": off}}, built_in_tools()).tools[FILES.READ_FILE]
        assert read.options["media_types"] is off


def test_a_text_that_a_value_holds_is_not_lost_in_the_message() -> None:
    with pytest.raises(ConfigError, match=r"toy_look.*depth.*'three'"):
        configure({LOOK.key: {"depth": "three"}}, TOYS)


def test_a_rename_changes_what_is_exposed_and_not_the_key() -> None:
    config = configure({LOOK.key: {"name": "view"}}, TOYS)
    assert config.tools[LOOK.key].name == "view"
    assert config.tools[LOOK.key].tool is LOOK


@pytest.mark.parametrize(
    "raw",
    [
        {LOOK.key: {"name": "view"}, CHANGE.key: {"name": "view"}},
        {LOOK.key: {"name": "toy_change"}},
        {LOOK.key: {"name": "toy_change"}, CHANGE.key: {"name": "other"}},
        {LOOK.key: {"name": "toy_change"}, CHANGE.key: {"name": "toy_look"}},
        {LOOK.key: {"name": "toy_change"}, CHANGE.key: {"enabled": False, "name": "other"}},
    ],
)
def test_a_name_of_another_tool_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="name"):
        configure(raw, TOYS)


def test_ones_own_default_name_is_no_clash() -> None:
    assert configure({LOOK.key: {"name": LOOK.key}}, TOYS).tools[LOOK.key].name == LOOK.key


def test_a_profile_renames_tools_and_parameters_and_an_entry_wins() -> None:
    profile = Profile("short", {LOOK.key: Naming("look", {"max_depth": "maxDepth"}), CHANGE.key: Naming("put")})
    tools = configure({"profile": profile, CHANGE.key: {"name": "set"}}, TOYS).tools
    assert [tool.name for tool in tools.values()] == ["look", "set", "toy_shell", "toy_jobs"]
    assert tools[LOOK.key].parameters["maxDepth"] == "max_depth"
    assert "max_depth" not in tools[LOOK.key].parameters


@pytest.mark.parametrize(
    ("naming", "said"),
    [(Naming("look", {"max_dept": "d"}), "max_depth"), (Naming("look", {"path": "x", "extension": "x"}), "one name")],
)
def test_a_profile_that_does_not_fit_is_refused(naming: Naming, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configure({"profile": Profile("wrong", {LOOK.key: naming})}, TOYS)


def test_hooks_are_given_as_they_are_or_by_name() -> None:
    hooks = Hooks(after_tool_call=print)
    assert configure({"hooks": hooks}, TOYS).hooks is hooks
    assert configure({"hooks": {"after_tool_call": print}}, TOYS).hooks == hooks


def test_a_description_knows_what_is_in_force() -> None:
    said: list[dict[str, object]] = []

    def describe(options: Mapping[str, object]) -> str:
        said.append(dict(options))
        return "Watched."

    watched = tool("toy_watched", describe=describe, options={"own": 1})
    switches = {"require_read_before_write": lambda facts: False, "max_output_tokens": 5, "own": 2}
    configure({"toy_watched": switches}, [watched]).tools["toy_watched"].describe()
    configure(None, [watched]).tools["toy_watched"].describe()
    assert said == [
        {"own": 2, "max_output_tokens": 5, "require_approval": False, "require_read_before_write": True},
        {"own": 1, "max_output_tokens": 2_000, "require_approval": False, "require_read_before_write": False},
    ]


async def is_admin(facts: Facts) -> bool:
    return bool(facts["context"]["role"] == "admin")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("predicate", "answer"), [(True, True), (False, False), (is_admin, True), (lambda facts: "x" in facts, False)]
)
async def test_a_switch_is_a_bool_or_a_function_of_the_facts(predicate: Any, answer: bool) -> None:
    assert await decide(predicate, FACTS, closed=not answer) is answer


def raises(facts: Facts) -> bool:
    raise ValueError("secret words")


async def raises_later(facts: Facts) -> bool:
    raise KeyError("secret words")


@pytest.mark.anyio
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("predicate", [raises, raises_later, lambda facts: None, lambda facts: 1, lambda: True])
async def test_a_function_that_fails_counts_as_closed(
    predicate: Callable[..., Any], closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert await decide(predicate, FACTS, closed=closed) is closed
    assert "secret words" not in caplog.text
    assert "configuration" in caplog.text
