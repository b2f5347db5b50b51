"""The naming profiles, against the tools that there are."""

from __future__ import annotations

import pytest

from moorage_workspace import CODING, MASTRA, WORKSPACE_TOOLS, Profile
from moorage_workspace.config import configure
from moorage_workspace.offering import built_in_tools


@pytest.mark.parametrize("profile", [MASTRA, CODING])
def test_a_profile_names_every_tool_and_no_other(profile: Profile) -> None:
    assert set(profile.tools) == {tool.key for tool in built_in_tools()}
    tools = configure({"profile": profile.name}, built_in_tools()).tools
    assert {key: tool.name for key, tool in tools.items()} == {
        key: naming.name for key, naming in profile.tools.items()
    }


def test_the_names_and_parameters_of_mastra() -> None:
    tools = configure({"profile": "mastra"}, built_in_tools()).tools
    assert all(tool.name == f"mastra_{key}" for key, tool in tools.items())
    files = WORKSPACE_TOOLS.FILESYSTEM
    assert {"path", "offset", "limit", "showLineNumbers", "encoding"} <= set(tools[files.READ_FILE].parameters)
    assert set(tools[files.EDIT_FILE].parameters) == {"path", "old_string", "new_string", "replace_all"}
    assert {
        *("path", "maxDepth", "showHidden", "dirsOnly", "exclude", "extension", "pattern", "respectGitignore"),
    } == set(tools[files.LIST_FILES].parameters)
    assert {
        *("pattern", "path", "contextLines", "maxCount", "caseSensitive", "includeHidden"),
    } <= set(tools[files.GREP].parameters)
    assert {"command", "timeout", "cwd", "tail", "background"} == set(
        tools[WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND].parameters
    )


def test_the_short_names_of_coding_agents() -> None:
    tools = configure({"profile": "coding"}, built_in_tools()).tools
    files = WORKSPACE_TOOLS.FILESYSTEM
    keys = (files.READ_FILE, files.WRITE_FILE, files.EDIT_FILE, files.LIST_FILES, files.GREP)
    assert [tools[key].name for key in keys] == ["read", "write", "edit", "glob", "grep"]
    assert tools[WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND].name == "bash"
