"""Which tools are offered, to whom, and under which configuration."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.workspace.toys import OPEN, TOYS, ToySandbox, choose_memory, choose_sandbox

from moorage import ConfigError, MemoryFilesystem, RequestContext, hookimpl
from moorage_workspace import WORKSPACE_TOOLS, Workspace, offering
from moorage_workspace.hookspecs import ToolSpec
from moorage_workspace.offering import tools_of
from moorage_workspace.plugins import Plugins

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def names(workspace: Workspace, context: Any = None) -> list[str]:
    return [tool.name.removeprefix("workspace_") for tool in await workspace.tools(context)]


READERS = ["read_file", "list_files", "file_stat", "grep"]
WRITERS = ["write_file", "edit_file", "delete", "mkdir", "move", "copy"]
COMMANDS = ["execute_command", "get_process_output", "kill_process"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"filesystem": MemoryFilesystem()}, READERS + WRITERS),
        ({"mounts": {"/a": MemoryFilesystem()}}, READERS + WRITERS),
        ({"filesystem": MemoryFilesystem(read_only=True)}, READERS),
        ({"mounts": {"/a": MemoryFilesystem(read_only=True), "/b": MemoryFilesystem(read_only=True)}}, READERS),
        ({"mounts": {"/a": MemoryFilesystem(read_only=True), "/b": MemoryFilesystem()}}, READERS + WRITERS),
        ({"mounts": {"/a": MemoryFilesystem(read_only=True), "/b": choose_memory}}, READERS + WRITERS),
        ({"filesystem": lambda context: MemoryFilesystem(read_only=True)}, READERS + WRITERS),
        ({"sandbox": ToySandbox()}, COMMANDS),
        ({"sandbox": ToySandbox(background=False)}, ["execute_command"]),
        ({"sandbox": choose_sandbox}, COMMANDS),
        ({"filesystem": MemoryFilesystem(), "sandbox": ToySandbox()}, READERS + WRITERS + COMMANDS),
    ],
)
async def test_tools_follow_what_is_configured(options: dict[str, Any], expected: list[str]) -> None:
    workspace = Workspace(**options)
    assert sorted(await names(workspace)) == sorted(expected)


async def test_without_background_processes_a_command_cannot_be_asked_for_one() -> None:
    for sandbox, offered in ((ToySandbox(), True), (ToySandbox(background=False), False), (choose_sandbox, True)):
        workspace = Workspace(sandbox=sandbox)
        (tool,) = [one for one in await workspace.tools() if one.name == "workspace_execute_command"]
        assert ("background" in tool.input_schema["properties"]) is offered


async def test_tools_that_are_there_may_still_be_refused() -> None:
    workspace = Workspace(filesystem=lambda context: MemoryFilesystem(read_only=True))
    result = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "x"})
    assert result.error is not None
    assert result.error.code == "read_only"


async def test_a_new_configuration_replaces_the_old_from_the_next_listing_on() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.GREP: {"enabled": False}})
    assert workspace.get_tools_config() == {FILES.GREP: {"enabled": False}}
    context = RequestContext()
    assert "grep" not in await names(workspace, context)

    workspace.set_tools_config({FILES.READ_FILE: {"name": "view"}})
    before = await workspace.call_tool("view", {"path": "/a"}, context)
    assert before.error is not None
    assert before.error.code == "unknown_tool"
    assert {"grep", "view"} <= set(await names(workspace, context))
    after = await workspace.call_tool("view", {"path": "/a"}, context)
    assert after.error is not None
    assert after.error.code == "not_found"

    workspace.set_tools_config(None)
    assert workspace.get_tools_config() is None
    assert "read_file" in await names(workspace, context)


async def test_a_wrong_configuration_changes_nothing() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.GREP: {"enabled": False}})
    with pytest.raises(ConfigError):
        workspace.set_tools_config({FILES.GREP: {"name": "workspace_read_file"}})
    assert workspace.get_tools_config() == {FILES.GREP: {"enabled": False}}
    assert "grep" not in await names(workspace)


async def test_enabled_is_asked_when_tools_are_listed_with_the_context_and_the_workspace() -> None:
    asked: list[Any] = []

    async def allowed(facts: Any) -> bool:
        asked.append(facts)
        return bool(facts["context"].get("agent-role") == "admin")

    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.DELETE: {"enabled": allowed}})
    admin, guest = RequestContext({"agent-role": "admin"}), RequestContext()
    assert "delete" in await names(workspace, admin)
    assert "delete" not in await names(workspace, guest)
    assert asked[0]["context"] is admin
    assert asked[0]["workspace"] is workspace
    assert set(asked[0]) == {"context", "workspace"}
    refused = await workspace.call_tool(FILES.DELETE, {"path": "/a"}, guest)
    assert refused.error is not None
    assert refused.error.code == "disabled"
    assert len(asked) == 2


async def test_a_function_for_enabled_that_fails_disables() -> None:
    def fails(facts: Any) -> bool:
        raise ValueError("no")

    workspace = Workspace(filesystem=MemoryFilesystem(), tools={"enabled": fails, FILES.GREP: {"enabled": True}})
    assert await names(workspace) == ["grep"]
    refused = await workspace.call_tool(FILES.READ_FILE, {"path": "/a"}, RequestContext())
    assert refused.error is not None
    assert refused.error.code == "disabled"


async def test_tools_of_the_application_are_offered_and_called() -> None:
    workspace = Workspace(
        filesystem=MemoryFilesystem(), extra_tools=TOYS, tools={"toy_look": {"name": "look", "depth": 5}}
    )
    assert {"look", "toy_change"} <= set(await names(workspace))
    assert "toy_shell" not in await names(workspace)
    result = await workspace.call_tool("look", '{"path": "/a", "max_depth": null}')
    assert result.text == "look {'depth': 5, 'fast': False, 'ratio': 0.5, 'style': 'plain', 'filter': None}"
    assert result.structured["arguments"] == {
        "path": "/a",
        "max_depth": 2,
        "extension": None,
        "patterns": None,
        "encoding": None,
    }


async def test_calls_of_one_context_are_one_session_and_of_another_are_not() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.WRITE_FILE: {"require_read_before_write": True}})
    assert workspace.filesystem is not None
    await workspace.filesystem.write_text("/a", "one\n")
    reader, stranger = RequestContext(user=1), RequestContext(user=1)
    assert (await workspace.call_tool(FILES.READ_FILE, {"path": "/a"}, reader)).ok
    refused = await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "two"}, stranger)
    assert refused.error is not None
    assert refused.error.code == "read_required"
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "two"}, reader)).ok
    assert (await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})).ok
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "three"})).ok


class Bringing:
    """A plug-in that brings toys."""

    def __init__(self, **targets: str) -> None:
        self._targets = targets

    @hookimpl
    def moorage_workspace_tools(self) -> list[ToolSpec]:
        return [ToolSpec(key, "A toy", f"tests.unit.workspace.toys:{target}") for key, target in self._targets.items()]


def test_plugins_bring_tools_and_one_that_cannot_be_used_is_named_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bringing = Bringing(toy_look="LOOK", toy_gone="GONE", toy_open="OPEN", workspace_grep="LOOK", toy_change="CHANGE")
    assert tools_of(Plugins([bringing], installed=())) == TOYS[:2]
    for name in ("toy_gone", "Open.anything", "workspace_grep"):
        assert name in caplog.text
    assert len(caplog.records) == 3


async def test_the_tools_of_installed_plugins_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        offering, "installed_tools", lambda: tools_of(Plugins([Bringing(toy_look="LOOK")], installed=()))
    )
    assert "toy_look" in await names(Workspace(filesystem=MemoryFilesystem()))


def test_a_tool_of_the_application_must_be_strict() -> None:
    with pytest.raises(ConfigError, match=r"Open\.anything"):
        Workspace(filesystem=MemoryFilesystem(), extra_tools=[OPEN])
