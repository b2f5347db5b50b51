"""list_files: a directory as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from pydantic import Field

from moorage import PathNotFoundError
from moorage_workspace.ignore_rules import IgnoreRules
from moorage_workspace.results import Kept, Output, Plan
from moorage_workspace.shown_names import ShownNames
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.globs import check_length, check_parts, globs
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool
from moorage_workspace.tree_listing import Choice, TreeListing

_DEPTH: Final = 2
_DEEPEST: Final = 100


class ListFiles(Arguments):
    path: str = Field(".", description="The directory to list.")
    max_depth: int | None = Field(
        None,
        ge=1,
        le=_DEEPEST,
        description=f"How many levels to list; 1 is the directory alone. By default {_DEPTH}, or as many as a pattern "
        "with slashes or ** needs.",
    )
    show_hidden: bool = Field(False, description="Also what has a name that begins with a dot, but never .git.")
    dirs_only: bool = Field(False, description="Only directories.")
    exclude: str | None = Field(
        None, description="Leave out, and do not enter, what has any of these in its name: parts parted by |."
    )
    extension: str | None = Field(None, description="Only files whose name ends so, e.g. .py.")
    pattern: str | list[str] | None = Field(
        None,
        description="Only what matches one of these globs: by its name, e.g. *.py, or with a slash by its path from "
        "the directory, e.g. src/**/*.py. A name is looked for as deep as max_depth; **/*.py finds it at any depth.",
    )
    respect_gitignore: bool = Field(True, description="Leave out what .gitignore files name.")


def _describe(options: Mapping[str, object]) -> str:
    return (
        "List a directory as a tree, indented with tabs, directories first, with the number of directories and files "
        "at the end. Links show where they lead and are not entered. At most "
        f"{options['max_entries']:,} entries and about {options['max_output_tokens']:,} tokens are shown; the rest is "
        "counted."
    )


def _targets(call: ToolCall, arguments: ListFiles) -> Targets:
    return Targets(reads=(call.path(arguments.path),))


async def _act(call: ToolCall, arguments: ListFiles, plan: Plan) -> Output:
    path = call.path(arguments.path)
    rules = IgnoreRules(call.files, ShownNames(call.redact), enabled=arguments.respect_gitignore)
    choice = await _choice(arguments)
    listing = TreeListing(call.files, choice, rules, cast("int", call.options["max_entries"]))
    try:
        await listing.run(path)
    except PathNotFoundError as error:
        raise await not_found(call, path, error) from None
    return _output(listing, choice.max_depth)


async def _choice(arguments: ListFiles) -> Choice:
    patterns = [arguments.pattern] if isinstance(arguments.pattern, str) else arguments.pattern or []
    wanted = await globs("pattern", patterns)
    check_length("exclude", arguments.exclude or "")
    excluded = tuple(part for part in (arguments.exclude or "").split("|") if part)
    check_parts("exclude", excluded)
    needed = max([_DEPTH, *(_levels(pattern) for pattern in patterns)])
    extension = arguments.extension or None
    return Choice(
        max_depth=arguments.max_depth or needed,
        hidden=arguments.show_hidden,
        directories_only=arguments.dirs_only,
        excluded=excluded,
        extension=extension if extension is None or extension.startswith(".") else f".{extension}",
        globs=wanted,
    )


def _levels(pattern: str) -> int:
    """How far down what a pattern matches may lie; a mere name is looked for as deep as everything else."""
    return _DEEPEST if "**" in pattern else min(pattern.count("/") + 1, _DEEPEST)


def _output(listing: TreeListing, max_depth: int) -> Output:
    directories, files = listing.directories, listing.files
    found = f"{_counted(directories, 'directory', 'directories')}, {_counted(files, 'file', 'files')}"
    cut = f" (truncated at depth {max_depth})" if listing.is_cut else ""

    def frame(kept: Kept) -> str:
        shown = len(listing.lines) if kept.whole else max(kept.lines, 1)
        more = directories + files - (shown - 1)
        notice = f"\n… {more:,} more; narrow it with path, pattern, extension or exclude" if more > 0 else ""
        listed = kept.text.removesuffix("\n")
        return f"{listed}{notice}\n\n{found}{cut}"

    structured = {
        "directories": directories,
        "files": files,
        "truncated_at_depth": max_depth if listing.is_cut else None,
    }
    return Output("\n".join(listing.lines), structured, frame=frame)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


LIST_FILES: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.LIST_FILES,
    arguments=ListFiles,
    describe=_describe,
    annotations=Annotations(read_only=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    act=_act,
    options={"max_entries": 1_000},
    max_output_tokens=1_000,
)
