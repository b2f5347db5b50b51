"""grep: the lines of files that a regular expression matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from pydantic import Field

from moorage import PathNotFoundError, StoragePath
from moorage_workspace.ignore_rules import IgnoreRules
from moorage_workspace.results import Kept, Output, Plan
from moorage_workspace.searching.expressions import Expression
from moorage_workspace.searching.files import FileResult, Skipped
from moorage_workspace.searching.places import Selection
from moorage_workspace.searching.ripgrep import find_ripgrep
from moorage_workspace.searching.search import MOST_MATCHES, Answer, Question, search
from moorage_workspace.shown_names import ShownNames
from moorage_workspace.text.counting import counted
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.globs import globs
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_RULE: Final = "---"
_PART: Final = "--"


class Grep(Arguments):
    pattern: str = Field(description="A regular expression in Python's syntax; it is matched within single lines.")
    path: str = Field(".", description="The file or directory to search. What is no such path is taken as a glob.")
    glob: str | None = Field(
        None,
        description="Only files that match: by their name, e.g. *.py, or with a slash by their path from the "
        "directory, e.g. src/**/*.{ts,tsx}.",
    )
    context_lines: int = Field(0, ge=0, le=100, description="Lines to show before and after each match.")
    max_count: int | None = Field(None, ge=1, description="Leave each file after so many matching lines.")
    case_sensitive: bool = Field(True, description="Whether A and a differ.")
    include_hidden: bool = Field(False, description="Also search what has a name that begins with a dot.")


def _describe(options: Mapping[str, object]) -> str:
    return (
        "Search the lines of files with a regular expression. A summary comes first, then each match as "
        "path:line:column: text; context as path:line- text. Not searched: what .gitignore files name, .git, hidden "
        "files (see include_hidden), links, binary files and text that is not UTF-8; the summary counts the last two. "
        f"Stops after {MOST_MATCHES:,} matching lines; long lines are cut around the match. At most about "
        f"{options['max_output_tokens']:,} tokens come back."
    )


def _targets(call: ToolCall, arguments: Grep) -> Targets:
    return Targets(reads=(call.path(arguments.path),))


async def _act(call: ToolCall, arguments: Grep, plan: Plan) -> Output:
    path = call.path(arguments.path)
    await globs("path", [arguments.path])
    found = await globs("glob", [] if arguments.glob is None else [arguments.glob])
    glob = found[0] if found else None
    question = Question(
        expression=Expression.parse(arguments.pattern, ignore_case=not arguments.case_sensitive),
        path=path,
        selection=Selection(IgnoreRules(call.files, ShownNames(call.redact)), path, arguments.include_hidden, glob),
        glob=arguments.glob,
        context=arguments.context_lines,
        max_count=arguments.max_count,
        most_time=cast("float", call.options["pattern_timeout"]),
    )
    ripgrep = find_ripgrep() if call.options["ripgrep"] else None
    try:
        answer = await search(call.files, question, redact=call.redact, ripgrep=ripgrep)
    except PathNotFoundError as error:
        raise await not_found(call, path, error) from None
    return _output(call, answer, arguments.context_lines)


def _output(call: ToolCall, answer: Answer, context: int) -> Output:
    lines = list(_lines(call, answer, context))
    summary = _summary(answer)

    def frame(kept: Kept) -> str:
        if not lines:
            return summary
        notice = "" if kept.whole else f"\n[{counted(kept.dropped_lines, 'more line')} left out; {_NARROW}]"
        return f"{summary}\n{_RULE}\n{kept.text}{notice}"

    structured = {
        "matches": answer.matches,
        "files": len(answer.files),
        "stopped": answer.stopped,
        "skipped": {reason.value: count for reason, count in answer.skipped.items()},
    }
    return Output("\n".join(lines), structured, frame=frame)


_NARROW: Final = "narrow it with path, glob, max_count or a stricter pattern"


def _summary(answer: Answer) -> str:
    found = f"{counted(answer.matches, 'match', 'matches')} in {counted(len(answer.files), 'file')}"
    if answer.stopped:
        found += f", stopped there: there are more; {_NARROW}"
    skipped = ", ".join(f"{answer.skipped[reason]:,} {reason.value}" for reason in Skipped if answer.skipped[reason])
    return f"{found} (skipped: {skipped})" if skipped else found


def _lines(call: ToolCall, answer: Answer, context: int) -> Iterator[str]:
    parted = False
    for file in answer.files:
        before: int | None = None
        for number in sorted(file.lines):
            if context and (parted if before is None else number > before + 1):
                yield _PART
            yield _line(call, file, number)
            before, parted = number, True


def _line(call: ToolCall, file: FileResult, number: int) -> str:
    line, path = file.lines[number], _named(call, file.path)
    if line.column is None:
        return f"{path}:{number}- {line.text}"
    return f"{path}:{number}:{line.column}: {line.text}"


def _named(call: ToolCall, path: StoragePath) -> str:
    """The path in the form in which the model may write it back."""
    return path.relative if call.session.workspace.path_policy == "relative" else str(path)


GREP: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.GREP,
    arguments=Grep,
    describe=_describe,
    annotations=Annotations(read_only=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    act=_act,
    options={"ripgrep": True, "pattern_timeout": 10.0},
)
