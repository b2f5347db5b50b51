"""Names that agents were trained on, in place of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moorage_workspace.tools.keys import WORKSPACE_TOOLS

_FILES = WORKSPACE_TOOLS.FILESYSTEM
_SHELL = WORKSPACE_TOOLS.SANDBOX


@dataclass(frozen=True, slots=True)
class Naming:
    """How one tool is exposed: its name, and the parameters that have another one (ours to theirs)."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Profile:
    """Names for some tools, by their keys; the others keep their own. An entry's ``name`` wins over both."""

    name: str
    tools: Mapping[str, Naming]


MASTRA: Final = Profile(
    "mastra",
    {
        _FILES.READ_FILE: Naming("mastra_workspace_read_file", {"show_line_numbers": "showLineNumbers"}),
        _FILES.WRITE_FILE: Naming("mastra_workspace_write_file"),
        _FILES.EDIT_FILE: Naming("mastra_workspace_edit_file"),
        _FILES.LIST_FILES: Naming(
            "mastra_workspace_list_files",
            {
                "max_depth": "maxDepth",
                "show_hidden": "showHidden",
                "dirs_only": "dirsOnly",
                "respect_gitignore": "respectGitignore",
            },
        ),
        _FILES.DELETE: Naming("mastra_workspace_delete"),
        _FILES.FILE_STAT: Naming("mastra_workspace_file_stat"),
        _FILES.MKDIR: Naming("mastra_workspace_mkdir"),
        _FILES.GREP: Naming(
            "mastra_workspace_grep",
            {
                "context_lines": "contextLines",
                "max_count": "maxCount",
                "case_sensitive": "caseSensitive",
                "include_hidden": "includeHidden",
            },
        ),
        _FILES.MOVE: Naming("mastra_workspace_move"),
        _FILES.COPY: Naming("mastra_workspace_copy"),
        _SHELL.EXECUTE_COMMAND: Naming("mastra_workspace_execute_command"),
        _SHELL.GET_PROCESS_OUTPUT: Naming("mastra_workspace_get_process_output"),
        _SHELL.KILL_PROCESS: Naming("mastra_workspace_kill_process"),
    },
)
"""The names and parameter names of Mastra's workspace, which has no move and no copy. Values keep our types (a pid is a
number), and a glob of grep has a parameter of its own besides ``path``."""

CODING: Final = Profile(
    "coding",
    {
        _FILES.READ_FILE: Naming("read"),
        _FILES.WRITE_FILE: Naming("write"),
        _FILES.EDIT_FILE: Naming("edit"),
        _FILES.LIST_FILES: Naming("glob"),
        _FILES.DELETE: Naming("delete"),
        _FILES.FILE_STAT: Naming("stat"),
        _FILES.MKDIR: Naming("mkdir"),
        _FILES.GREP: Naming("grep"),
        _FILES.MOVE: Naming("move"),
        _FILES.COPY: Naming("copy"),
        _SHELL.EXECUTE_COMMAND: Naming("bash"),
        _SHELL.GET_PROCESS_OUTPUT: Naming("bash_output"),
        _SHELL.KILL_PROCESS: Naming("bash_kill"),
    },
)
"""The short names of coding agents; parameters keep their own."""

PROFILES: Final[Mapping[str, Profile]] = {profile.name: profile for profile in (MASTRA, CODING)}
