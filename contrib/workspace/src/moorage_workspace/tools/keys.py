"""The constants that configuration is keyed by; each is the tool's default name."""

from __future__ import annotations

from typing import Final


class _Filesystem:
    READ_FILE: Final = "workspace_read_file"
    WRITE_FILE: Final = "workspace_write_file"
    EDIT_FILE: Final = "workspace_edit_file"
    LIST_FILES: Final = "workspace_list_files"
    DELETE: Final = "workspace_delete"
    FILE_STAT: Final = "workspace_file_stat"
    MKDIR: Final = "workspace_mkdir"
    GREP: Final = "workspace_grep"
    MOVE: Final = "workspace_move"
    COPY: Final = "workspace_copy"


class _Sandbox:
    EXECUTE_COMMAND: Final = "workspace_execute_command"
    GET_PROCESS_OUTPUT: Final = "workspace_get_process_output"
    KILL_PROCESS: Final = "workspace_kill_process"


class _Search:
    SEARCH: Final = "workspace_search"
    INDEX: Final = "workspace_index"


class _Skills:
    SKILL: Final = "skill"
    SKILL_SEARCH: Final = "skill_search"
    SKILL_READ: Final = "skill_read"


class _Lsp:
    LSP_INSPECT: Final = "workspace_lsp_inspect"


class WORKSPACE_TOOLS:  # noqa: N801 (a constant for those who use it)
    """Every key, by area: ``WORKSPACE_TOOLS.FILESYSTEM.READ_FILE``. A rename changes what is exposed, not the key."""

    FILESYSTEM = _Filesystem
    SANDBOX = _Sandbox
    SEARCH = _Search
    SKILLS = _Skills
    LSP = _Lsp
