"""edit_file: an exact text in the place of another, and no other byte touched."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import Field

from moorage import UNSET, PathNotFoundError, Stat, StoragePath, Unset
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.reads import ReadRecord, Span, digest_of, seen_after
from moorage_workspace.redaction import MASK
from moorage_workspace.redaction.open_keys import start_of_key
from moorage_workspace.results import Change, Kept, Output, Plan
from moorage_workspace.text.counting import counted
from moorage_workspace.text.diffs import unified_diff
from moorage_workspace.text.editing import MOST_PLACES, Edit, NotFound, NotUnique, TooLarge, TooMany, edit, first_lines
from moorage_workspace.text.encodings import Verdict, judge_whole
from moorage_workspace.text.excerpts import REACH, Redact, excerpt
from moorage_workspace.text.hidden import Hidden, uncovers
from moorage_workspace.text.lines import line_end, line_start, split_lines
from moorage_workspace.text.nearest import Nearest, is_numbered, nearest
from moorage_workspace.text.pieces import Pieces
from moorage_workspace.threads import worked
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.paths import check_writable
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool
from moorage_workspace.tools.write_file import encoded

_AT_ONCE: Final = 256 * 1024
"""Bytes up to which the work is not worth a thread."""
_FEW: Final = 1_000
"""Places up to which it is not."""
_HINTED: Final = 16 * 1024 * 1024
"""Bytes up to which the nearest lines are looked for: in what is shown, which takes some times the memory."""
_IN_ONE_PIECE: Final = 8 * 1024 * 1024
"""Bytes up to which a content is put together to be written; more is streamed, which costs less than the copy."""
_CHUNK: Final = 4 * 1024 * 1024
_DIFF_LINES: Final = 60
_HINT_LINES: Final = 10
_HINT_WIDTH: Final = 200


class EditFile(Arguments):
    path: str = Field(description="The file to edit.")
    old_string: str = Field(description="The exact text to replace, without line numbers. It must occur once.")
    new_string: str = Field(description="The text to put in its place, taken literally.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead.")


@dataclass(frozen=True, slots=True)
class EditPlan(Plan):
    """A plan that knows the spans that it replaces."""

    edit: Edit = field(default=Edit(Pieces(), (), ()), repr=False)


@dataclass(frozen=True, slots=True)
class _Uncovering:
    """The edit would take the mask off a secret."""


_Refused = NotUnique | TooLarge | TooMany | Verdict | _Uncovering


def _describe(options: Mapping[str, object]) -> str:
    parts = [
        "Replace an exact text in a file; everything else stays byte for byte. old_string must occur exactly once "
        "unless replace_all is true. Line ends need no care: \\n matches the file's own and is written as such."
    ]
    if options.get("require_read_before_write"):
        parts.append("What is replaced must have been read first.")
    parts.append("Refused if the file changed since you read it.")
    return " ".join(parts)


def _targets(call: ToolCall, arguments: EditFile) -> Targets:
    return Targets(writes=(call.path(arguments.path),))


async def _plan(call: ToolCall, arguments: EditFile) -> EditPlan:
    path = call.path(arguments.path)
    _check(arguments)
    most = cast("int", call.options["max_edit_bytes"])
    stat, data = await _content(call, path, most)
    await check_writable(call.files, path)
    at_once = len(data) <= _AT_ONCE and not arguments.replace_all
    done = await worked(_edited, data, arguments, most, call.redact, at_once=at_once)
    if isinstance(done, NotFound):
        raise await _no_match(call, arguments, data)
    if not isinstance(done, Edit):
        raise _refused(done, most, arguments.path)
    await call.require_seen(path, ((part.start, part.end) for part in done.replaced))
    if not done.alters(data):
        raise ToolRefusedError("the edit would change nothing: line ends and byte order marks are kept as they are")
    return EditPlan(
        f"edit {path}, {counted(len(done.replaced), 'place')}",
        (Change(path, data, done.content, stat.version),),
        {str(path): stat.version},
        done,
    )


async def _act(call: ToolCall, arguments: EditFile, plan: Plan) -> Output:
    assert isinstance(plan, EditPlan)  # noqa: S101 (it comes from _plan)
    change, done = plan.changes[0], plan.edit
    path, before = change.path, change.before or b""
    at_once = len(before) <= _AT_ONCE and len(done.replaced) <= _FEW
    identity = await call.held_identity(path)
    spans, digest = await worked(_seen, call.session.reads.get(identity), done, at_once=at_once)
    stat = await _written(call, path, done.content, UNSET if change.version is None else change.version)
    call.session.reads.edited(identity, path, stat, spans, digest)
    lines, diff = await worked(_short_diff, call, path, before, done, at_once=at_once)
    places = len(done.replaced)
    where = _listed(lines) + (" and on" if places > len(lines) else "")
    head = f"Edited {path}: {counted(places, 'replacement')} at {where}"

    def frame(kept: Kept) -> str:
        text = kept.text.removesuffix("\n")
        return f"{head}\n{text}" + ("" if kept.whole else "\n[the diff is longer; the rest is not shown]")

    facts = {"path": str(path), "size": stat.size, "replacements": places, "lines": list(lines)}
    return Output(diff, facts, frame=frame)


async def _written(call: ToolCall, path: StoragePath, content: Pieces, version: str | Unset) -> Stat:
    if len(content) <= _IN_ONE_PIECE:
        return await call.files.write_bytes(path, bytes(content), expected_version=version, create_parents=False)
    chunks = _chunks(content)
    return await call.files.write_stream(path, chunks, expected_version=version, create_parents=False)


async def _chunks(content: Pieces) -> AsyncGenerator[bytes]:
    for chunk in content.chunks(_CHUNK):
        yield chunk


def _short_diff(call: ToolCall, path: StoragePath, before: bytes, done: Edit) -> tuple[tuple[int, ...], str]:
    """Which lines change, and the diff of what surrounds them; what is far from them need not be looked at."""
    lines = first_lines(before, done)
    first, last = done.replaced[0].start, done.replaced[-1].end
    start = start_of_key(before, line_start(before, max(0, first - REACH)))
    end = line_end(before, min(len(before), last + REACH))
    diff = unified_diff(
        str(path),
        before[start:end],
        done.content.part(start, end + len(done.content) - len(before)),
        redact=call.redact,
        max_lines=_DIFF_LINES,
        first_line=lines[0] - before.count(b"\n", start, first),
    )
    return lines, diff


def _check(arguments: EditFile) -> None:
    encoded(arguments.old_string, "old_string")
    encoded(arguments.new_string, "new_string")
    if not arguments.old_string:
        raise ToolRefusedError(
            "old_string is empty; give the text to replace, or write the whole file", path=arguments.path
        )
    if arguments.old_string == arguments.new_string:
        raise ToolRefusedError("old_string and new_string are the same; nothing would change", path=arguments.path)


async def _content(call: ToolCall, path: StoragePath, most: int) -> tuple[Stat, bytes]:
    try:
        async with call.files.open_read(path) as reader:
            if reader.stat.size > most:
                raise _too_large(reader.stat.size, most, str(path))
            return reader.stat, await reader.read()
    except PathNotFoundError as error:
        raise await not_found(call, path, error) from None


def _edited(data: bytes, arguments: EditFile, most: int, redact: Redact) -> Edit | NotFound | _Refused:
    verdict = judge_whole(data)
    if not verdict.is_text:
        return verdict
    shows = Hidden(data, redact).shows
    old, new, every = arguments.old_string, arguments.new_string, arguments.replace_all
    done = edit(data, old, new, replace_all=every, max_size=most, shows=shows)
    uncovering = isinstance(done, Edit) and uncovers(data, done.replaced, done.content, redact)
    return _Uncovering() if uncovering else done


def _seen(record: ReadRecord | None, done: Edit) -> tuple[tuple[Span, ...], str | None]:
    return seen_after(record, done.replaced), digest_of(done.content)


def _refused(done: _Refused, most: int, path: str) -> ToolRefusedError:
    match done:
        case Verdict():
            return _not_text(done, path)
        case NotUnique():
            return _not_unique(done, path)
        case TooLarge():
            return _too_large(done.size, most, path)
        case TooMany():
            return ToolRefusedError(
                f"old_string occurs more than {MOST_PLACES:,} times, which is too often to replace; "
                "make it longer, so that fewer places match, or write the whole file",
                refusal=Refusal.TOO_LARGE,
                path=path,
            )
        case _Uncovering():
            return ToolRefusedError(
                "after this edit something that is masked now could be read; leave what stands beside it as it is",
                refusal=Refusal.MASKED_CONTENT,
                path=path,
            )


def _not_text(verdict: Verdict, path: str) -> ToolRefusedError:
    looks = f"; it looks like {verdict.looks_like}" if verdict.looks_like else ""
    what = "the file is binary" if verdict.is_binary else "the file is not UTF-8"
    return ToolRefusedError(f"{what}{looks}, and only UTF-8 text can be edited", refusal=Refusal.BINARY, path=path)


def _too_large(size: int, most: int, path: str) -> ToolRefusedError:
    return ToolRefusedError(
        f"{size:,} bytes are more than the {most:,} that can be edited", refusal=Refusal.TOO_LARGE, path=path
    )


def _not_unique(found: NotUnique, path: str) -> ToolRefusedError:
    times = f"{found.count:,}" if found.count <= MOST_PLACES else f"more than {MOST_PLACES:,}"
    on = "and on" if found.count > len(found.lines) else ""
    return ToolRefusedError(
        f"old_string occurs {times} times, at {_listed(found.lines)} {on}".rstrip()
        + "; add surrounding lines to make it unique, or set replace_all",
        refusal=Refusal.NOT_UNIQUE,
        path=path,
    )


async def _no_match(call: ToolCall, arguments: EditFile, data: bytes) -> ToolRefusedError:
    at_once = len(data) <= _AT_ONCE
    shown, near = await worked(_nearest, data, arguments.old_string, call.redact, at_once=at_once)
    if is_numbered(arguments.old_string):
        said = "; leave out the line numbers and arrows, they are not part of the file"
    elif len(data) > _HINTED:
        said = "; read the file again"
    elif near is None:
        said = ", nor is anything like it; read the file again"
    else:
        differs = f"they differ in {' and '.join(near.differences)}" if near.differences else "their words differ"
        lines = _numbered(call, shown, near)
        masked = " What is masked cannot be matched." if MASK in lines else ""
        said = f"; nearest is this, {differs}:\n{lines}\nCopy the text exactly as it is there.{masked}"
    return ToolRefusedError(f"old_string is not in the file{said}", refusal=Refusal.NO_MATCH, path=arguments.path)


def _nearest(data: bytes, old: str, redact: Redact) -> tuple[bytes, Nearest | None]:
    """The content as it is shown, and what comes nearest there: what is hidden must not decide it."""
    if len(data) > _HINTED:
        return b"", None
    shown = redact(data.decode()).encode()
    return shown, nearest(shown, old)


def _numbered(call: ToolCall, data: bytes, near: Nearest) -> str:
    end = min(near.end, near.start + _HINT_LINES * _HINT_WIDTH * 4)
    lines = split_lines(excerpt(data, near.start, end, call.redact))[:_HINT_LINES]
    cut = [line if len(line) <= _HINT_WIDTH else line[:_HINT_WIDTH] + "…" for line in lines]
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(cut, near.line))


def _listed(lines: tuple[int, ...]) -> str:
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}"


EDIT_FILE: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.EDIT_FILE,
    arguments=EditFile,
    describe=_describe,
    annotations=Annotations(read_only=False, destructive=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    plan=_plan,
    act=_act,
    options={"max_edit_bytes": 256 * 1024 * 1024},
)
