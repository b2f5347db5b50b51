"""What the specification says of all tools: their names, which are offered, their configuration and hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import ConfigError, Filesystem, MemoryFilesystem, RequestContext
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Annotations,
    HookEvent,
    Hooks,
    ToolResult,
    Workspace,
)

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
SHELL = WORKSPACE_TOOLS.SANDBOX

READERS = ("read_file", "list_files", "file_stat", "grep")
WRITERS = ("write_file", "edit_file", "delete", "mkdir", "move", "copy")
COMMANDS = ("execute_command", "get_process_output", "kill_process")

READ_FIRST: Mapping[str, Any] = {
    key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)
}


async def offered(workspace: Workspace, context: RequestContext | None = None) -> set[str]:
    return {tool.name for tool in await workspace.tools(context)}


def code(result: ToolResult) -> str:
    assert result.error is not None, result.text
    return result.error.code


# Names


async def test_the_default_names_are_the_keys() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=ToySandbox())
    assert await offered(workspace) == {f"workspace_{name}" for name in (*READERS, *WRITERS, *COMMANDS)}
    for area, names in ((FILES, (*READERS, *WRITERS)), (SHELL, COMMANDS)):
        assert {getattr(area, name.upper()) for name in names} == {f"workspace_{name}" for name in names}
    later = WORKSPACE_TOOLS
    assert (later.SEARCH.SEARCH, later.SEARCH.INDEX) == ("workspace_search", "workspace_index")
    assert (later.SKILLS.SKILL, later.SKILLS.SKILL_SEARCH) == ("skill", "skill_search")
    assert (later.SKILLS.SKILL_READ, later.LSP.LSP_INSPECT) == ("skill_read", "workspace_lsp_inspect")


PARAMETERS: Mapping[str, str] = {
    "read_file": "path offset limit showLineNumbers encoding",
    "write_file": "path content overwrite",
    "edit_file": "path old_string new_string replace_all",
    "list_files": "path maxDepth showHidden dirsOnly exclude extension pattern respectGitignore",
    "delete": "path recursive",
    "file_stat": "path",
    "mkdir": "path recursive",
    "grep": "pattern path glob contextLines maxCount caseSensitive includeHidden",
    "move": "source destination overwrite",
    "copy": "source destination overwrite recursive",
    "execute_command": "command timeout cwd tail background",
    "get_process_output": "pid tail wait",
    "kill_process": "pid",
}


async def test_the_profile_of_the_reference_has_its_names_and_parameters() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a/b/c/d", "x\n")
    workspace = Workspace(filesystem=memory, sandbox=ToySandbox(), tools={"profile": "mastra"})
    shown = {tool.name: list(tool.input_schema["properties"]) for tool in await workspace.tools()}
    assert shown == {f"mastra_workspace_{name}": names.split() for name, names in PARAMETERS.items()}
    listed = await workspace.call_tool("mastra_workspace_list_files", {"maxDepth": 1})
    assert listed.text.startswith(".\n\ta\n\n1 directory, 0 files")
    read = await workspace.call_tool("mastra_workspace_read_file", {"path": "a/b/c/d", "showLineNumbers": False})
    assert read.text == "/a/b/c/d (2 bytes)\nx"


async def test_the_profile_of_coding_agents() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=ToySandbox(), tools={"profile": "coding"})
    assert await offered(workspace) >= {"read", "write", "edit", "glob", "grep", "bash"}
    assert {name for name in await offered(workspace) if name.startswith("workspace_")} == set()


# Offer


ANNOTATIONS: Mapping[str, Annotations] = {
    **{f"workspace_{name}": Annotations(read_only=True, idempotent=True) for name in READERS},
    FILES.WRITE_FILE: Annotations(read_only=False, destructive=True, idempotent=True),
    FILES.EDIT_FILE: Annotations(read_only=False, destructive=True),
    FILES.DELETE: Annotations(read_only=False, destructive=True),
    FILES.MKDIR: Annotations(read_only=False, idempotent=True),
    FILES.MOVE: Annotations(read_only=False, destructive=True),
    FILES.COPY: Annotations(read_only=False, destructive=True, idempotent=True),
    SHELL.EXECUTE_COMMAND: Annotations(read_only=False, destructive=True),
    SHELL.GET_PROCESS_OUTPUT: Annotations(read_only=True),
    SHELL.KILL_PROCESS: Annotations(read_only=False, destructive=True, idempotent=True),
}


async def test_each_tool_says_whether_it_reads_destroys_or_may_be_repeated() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(), sandbox=ToySandbox())
    assert {tool.name: tool.annotations for tool in await workspace.tools()} == ANNOTATIONS


async def test_a_static_sandbox_decides_and_one_that_is_chosen_is_told_at_run_time() -> None:
    static = Workspace(sandbox=ToySandbox(background=False))
    (command,) = await static.tools()
    assert command.name == SHELL.EXECUTE_COMMAND
    assert "background" not in command.input_schema["properties"]
    chosen = Workspace(sandbox=lambda context: ToySandbox(background=False))
    assert await offered(chosen) == {f"workspace_{name}" for name in COMMANDS}
    for name, arguments in (
        (SHELL.EXECUTE_COMMAND, {"command": "true", "background": True}),
        (SHELL.GET_PROCESS_OUTPUT, {"pid": 1}),
        (SHELL.KILL_PROCESS, {"pid": 1}),
    ):
        assert code(await chosen.call_tool(name, arguments)) == "unsupported"


async def test_tools_that_write_are_not_offered_on_what_is_read_only_everywhere() -> None:
    def read_only() -> Filesystem:
        return MemoryFilesystem(read_only=True)

    readers = {f"workspace_{name}" for name in READERS}
    for workspace in (Workspace(filesystem=read_only()), Workspace(mounts={"/a": read_only(), "/b": read_only()})):
        assert await offered(workspace) == readers
        assert code(await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a/x", "content": ""})) == "unknown_tool"
    for workspace in (
        Workspace(filesystem=lambda context: read_only()),
        Workspace(mounts={"/a": read_only(), "/b": MemoryFilesystem()}),
    ):
        assert await offered(workspace) == readers | {f"workspace_{name}" for name in WRITERS}
        assert code(await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a/x", "content": ""})) == "read_only"


async def test_a_description_claims_no_check_that_is_off() -> None:
    said: dict[bool, dict[str, str]] = {}
    for required in (False, True):
        workspace = Workspace(filesystem=MemoryFilesystem(), tools=READ_FIRST if required else None)
        said[required] = {tool.name: tool.description for tool in await workspace.tools()}
    for key in (FILES.WRITE_FILE, FILES.EDIT_FILE):
        assert ("must have been read" in said[False][key], "must have been read" in said[True][key]) == (False, True)


# Configuration


async def test_the_entry_of_a_tool_wins_over_what_is_for_all_and_that_over_the_defaults() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/a", "x")
    workspace = Workspace(
        filesystem=memory,
        tools={
            "enabled": False,
            "require_approval": True,
            FILES.FILE_STAT: {"enabled": True, "require_approval": False},
            FILES.READ_FILE: {"enabled": True},
        },
    )
    assert await offered(workspace) == {FILES.FILE_STAT, FILES.READ_FILE}
    assert (await workspace.call_tool(FILES.FILE_STAT, {"path": "/a"})).ok
    assert code(await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})) == "approval_unavailable"
    default = Workspace(filesystem=memory)
    assert (await default.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "unread and unasked"})).ok


async def test_functions_get_the_context_the_workspace_and_at_calls_the_arguments() -> None:
    asked: list[tuple[str, set[str], object]] = []

    def switch(name: str, answer: bool) -> Any:
        async def decide(facts: Mapping[str, Any]) -> bool:
            assert facts["workspace"] is workspace
            assert facts["context"]["user"] == "ada"
            asked.append((name, set(facts), facts.get("args", {}).get("path")))
            return answer

        return decide

    entry = {
        "enabled": switch("enabled", True),
        "require_approval": switch("approval", False),
        "require_read_before_write": switch("read", False),
    }
    workspace = Workspace(filesystem=MemoryFilesystem(), tools={FILES.WRITE_FILE: entry})
    context = RequestContext(user="ada")
    await workspace.tools(context)
    assert asked == [("enabled", {"context", "workspace"}, None)]
    asked.clear()
    for path in ("/a", "/b"):
        assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": path, "content": ""}, context)).ok
    at_calls = {"context", "workspace", "args"}
    assert sorted(asked) == sorted((name, at_calls, path) for path in ("/a", "/b") for name in ("approval", "read"))


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("enabled", "disabled"),
        ("require_approval", "approval_unavailable"),
        ("require_read_before_write", "read_required"),
    ],
)
async def test_a_function_that_raises_fails_closed(switch: str, expected: str) -> None:
    async def broken(facts: Mapping[str, Any]) -> bool:
        raise LookupError("no such user")

    memory = MemoryFilesystem()
    await memory.write_text("/a", "kept")
    workspace = Workspace(filesystem=memory, tools={FILES.WRITE_FILE: {switch: broken}})
    assert (FILES.WRITE_FILE in await offered(workspace)) == (switch != "enabled")
    assert code(await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "lost"})) == expected
    assert await memory.read_text("/a") == "kept"


async def test_a_rename_changes_what_is_exposed_and_not_the_key() -> None:
    tools = {FILES.READ_FILE: {"name": "view"}, FILES.WRITE_FILE: {"require_read_before_write": True}}
    workspace = Workspace(filesystem=MemoryFilesystem(), tools=tools)
    assert {"view", FILES.READ_FILE} & await offered(workspace) == {"view"}
    assert code(await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})) == "unknown_tool"
    assert code(await workspace.call_tool("view", {"path": "/a"})) == "not_found"
    clashes: list[Mapping[str, Any]] = [
        {FILES.READ_FILE: {"name": "x"}, FILES.WRITE_FILE: {"name": "x"}},
        {FILES.READ_FILE: {"name": FILES.WRITE_FILE}},
        {FILES.READ_FILE: {"name": FILES.WRITE_FILE}, FILES.WRITE_FILE: {"name": "put"}},
        {FILES.READ_FILE: {"name": SHELL.EXECUTE_COMMAND}},
    ]
    for clash in clashes:
        with pytest.raises(ConfigError):
            Workspace(filesystem=MemoryFilesystem(), tools=clash)


# Hooks


async def test_hooks_see_the_call_and_run_agent_workspace_tool_workspace_agent() -> None:
    seen: list[tuple[str, HookEvent]] = []

    def hooks(whose: str) -> Hooks:
        async def before(event: HookEvent) -> None:
            seen.append((f"{whose} before", event))

        return Hooks(before, lambda event: seen.append((f"{whose} after", event)))

    tools = {"hooks": hooks("workspace"), FILES.FILE_STAT: {"name": "stat"}}
    workspace = Workspace(filesystem=MemoryFilesystem(), tools=tools)
    async with workspace.session({"user": "ada"}, hooks=hooks("agent")) as session:
        assert (await session.call_tool("stat", {"path": "/"})).ok
        order = ["agent before", "workspace before", "workspace after", "agent after"]
        assert [name for name, _ in seen] == order
        for _, event in seen:
            assert (event.tool_name, event.workspace_tool_name) == ("stat", FILES.FILE_STAT)
            assert (event.input, event.context["user"], event.error) == ({"path": "/"}, "ada", None)
        assert [event.output is None for _, event in seen] == [True, True, False, False]
        seen.clear()
        assert not (await session.call_tool(FILES.READ_FILE, {"path": "/missing"})).ok
        assert [name for name, _ in seen] == order
        after = [event for name, event in seen if name.endswith("after")]
        assert [(event.output, type(event.error).__name__) for event in after] == [(None, "PathNotFoundError")] * 2


async def test_a_hook_that_does_not_proceed_skips_the_tool_and_the_after_hook_and_keeps_the_read_records() -> None:
    after: list[str] = []

    def before(event: HookEvent) -> object:
        stands_in = event.workspace_tool_name == FILES.WRITE_FILE and event.input["content"] == "not this"
        return {"proceed": False, "output": {"why": "not this"}} if stands_in else None

    memory = MemoryFilesystem()
    await memory.write_text("/a", "kept")
    hooks = Hooks(before, lambda event: after.append(event.workspace_tool_name))
    async with Workspace(filesystem=memory, tools={**READ_FIRST, "hooks": hooks}).session() as session:
        await session.call_tool(FILES.READ_FILE, {"path": "/a"})
        instead = await session.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "not this"})
        assert (instead.ok, instead.structured) == (True, {"why": "not this"})
        assert (await memory.read_text("/a"), after) == ("kept", [FILES.READ_FILE])
        assert (await session.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "but this"})).ok
        assert after == [FILES.READ_FILE, FILES.WRITE_FILE]


@pytest.mark.parametrize("when", ["before_tool_call", "after_tool_call"])
async def test_errors_of_hooks_propagate(when: str) -> None:
    def broken(event: HookEvent) -> None:
        raise LookupError("of the application")

    workspace = Workspace(filesystem=MemoryFilesystem(), tools={"hooks": {when: broken}})
    with pytest.raises(LookupError, match="of the application"):
        await workspace.call_tool(FILES.FILE_STAT, {"path": "/"})
