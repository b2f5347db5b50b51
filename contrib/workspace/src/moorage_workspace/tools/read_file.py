"""read_file: a text as numbered lines, an image or document as such, any bytes on request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

import anyio.to_thread
from pydantic import Field

from moorage import PathNotFoundError, Reader, Stat, StoragePath
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.reads import DIGESTED, digest_of, new_digest
from moorage_workspace.results import Media, Output, Plan
from moorage_workspace.text.counting import counted
from moorage_workspace.text.encodings import SNIFFED, Verdict, judge
from moorage_workspace.text.lines import LineWindow
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.keys import WORKSPACE_TOOLS
from moorage_workspace.tools.media import MEDIA_TYPES, claimed, holds_secret, is_wanted, named, recognised
from moorage_workspace.tools.missing import not_found
from moorage_workspace.tools.showing_bytes import BYTE_ENCODINGS, bytes_shown
from moorage_workspace.tools.showing_lines import ShownLines
from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool

_COUNTED: Final = 64 * 1024 * 1024
"""Bytes up to which a file is read to its end to count its lines."""
_BYTES_A_TOKEN: Final = 32
_FEWEST: Final = 64 * 1024
_MOST: Final = 16 * 1024 * 1024


class ReadFile(Arguments):
    path: str = Field(description="The file to read.")
    offset: int | None = Field(
        default=None,
        ge=1,
        description="The first line to show, from 1. With base64, hex or binary: the first byte, from 1.",
    )
    limit: int | None = Field(
        default=None, ge=1, description="How many lines to show at most. With base64, hex or binary: how many bytes."
    )
    show_line_numbers: bool = Field(default=True, description="Put its number and an arrow before each line.")
    encoding: Literal["utf-8", "utf8", "base64", "hex", "binary"] | None = Field(
        default=None,
        description="How to show the bytes. Leave it out for text and media; binary is one character a byte.",
    )


def _describe(options: Mapping[str, object]) -> str:
    media = named(options["media_types"])
    size = cast("int", options["max_media_bytes"])
    return " ".join(
        [
            "Read a file. UTF-8 text comes as lines, each with its number and an arrow (→) before it that are not part "
            f"of the file. At most about {options['max_output_tokens']:,} tokens come at once; a notice says where to "
            "read on with offset.",
            f"Media up to {size:,} bytes come as such ({media})." if media else "",
            "Of other content you get the size and the reason, unless you ask for an encoding.",
        ]
    ).replace("  ", " ")


def _targets(call: ToolCall, arguments: ReadFile) -> Targets:
    return Targets(reads=(call.path(arguments.path),))


async def _act(call: ToolCall, arguments: ReadFile, plan: Plan) -> Output:
    path = call.path(arguments.path)
    try:
        if arguments.encoding in BYTE_ENCODINGS:
            return await bytes_shown(call, path, arguments.encoding, arguments.offset, arguments.limit, _capacity(call))
        async with call.files.open_read(path) as reader:
            return await _shown(call, arguments, path, reader)
    except PathNotFoundError as error:
        raise await not_found(call, path, error) from None


async def _shown(call: ToolCall, arguments: ReadFile, path: StoragePath, reader: Reader) -> Output:
    head = b""
    async for chunk in reader:
        head += chunk
        if len(head) >= SNIFFED:
            break
    stat = reader.stat
    verdict = judge(head[:SNIFFED], complete=len(head) <= SNIFFED and len(head) == stat.size)
    if not verdict.is_text:
        media_type = recognised(head) or (claimed(path.name) if verdict.is_binary else None)
        if media_type is not None and is_wanted(media_type, call.options["media_types"]):
            return await _media(call, path, reader, head, media_type)
        return _described(path, stat, _reason(verdict))
    window = LineWindow(arguments.offset or 1, arguments.limit, _capacity(call))
    digest = await _collected(window, head, reader)
    if window.start is None or window.first > max(1, window.lines):
        raise _past_the_end(arguments, window)
    picked = window.picked()
    verdict = judge(picked.data[picked.start : picked.end])
    if not verdict.is_text:
        return _described(path, stat, f"from line {window.first} on, {_reason(verdict)}")
    lines = ShownLines(
        call=call,
        path=path,
        identity=await call.identity(path),
        stat=stat,
        picked=picked,
        first=window.first,
        limit=arguments.limit,
        total=window.lines if window.size == stat.size else None,
        digest=digest,
    )
    return lines.output(numbered=arguments.show_line_numbers)


async def _collected(window: LineWindow, head: bytes, reader: Reader) -> str | None:
    """Feed the window; the digest of the content where all of it was read."""
    digest = new_digest(head) if reader.stat.size <= DIGESTED else None
    counts = reader.stat.size <= _COUNTED
    window.feed(head)
    async for chunk in reader:
        window.feed(chunk)
        if digest is not None:
            digest.update(chunk)
        elif window.filled and not counts:
            return None
    return None if digest is None else digest.hexdigest()


async def _media(call: ToolCall, path: StoragePath, reader: Reader, head: bytes, media_type: str) -> Output:
    stat, most = reader.stat, cast("int", call.options["max_media_bytes"])
    if stat.size > most:
        return _described(path, stat, f"{media_type}, larger than the {most:,} bytes up to which media are shown")
    data = head + await reader.read()
    if await anyio.to_thread.run_sync(holds_secret, data, call.redact):
        return _described(path, stat, f"{media_type} that holds what looks like a secret")
    identity = await call.identity(path)
    call.session.reads.saw(identity, path, stat, 0, len(data), digest=digest_of(data))
    facts = {"path": str(path), "size": stat.size, "media_type": media_type}
    return Output(f"{path} ({stat.size} bytes)\n{media_type}, attached", facts, media=(Media(media_type, data),))


def _described(path: StoragePath, stat: Stat, reason: str) -> Output:
    facts = {"path": str(path), "size": stat.size, "shown": False, "reason": reason}
    ask = 'Ask with encoding="base64", "hex" or "binary" for its bytes.'
    return Output(f"{path} ({stat.size} bytes)\nNot shown: {reason}. {ask}", facts)


def _reason(verdict: Verdict) -> str:
    looks = f", it looks like {verdict.looks_like}" if verdict.looks_like else ""
    return f"binary content{looks}" if verdict.is_binary else f"the text is not UTF-8{looks}"


def _past_the_end(arguments: ReadFile, window: LineWindow) -> ToolRefusedError:
    return ToolRefusedError(
        f"offset {arguments.offset} is past the end: the file has {counted(window.lines, 'line')}",
        refusal=Refusal.INVALID_ARGUMENTS,
        path=arguments.path,
    )


def _capacity(call: ToolCall) -> int:
    return min(max(_FEWEST, call.max_output_tokens * _BYTES_A_TOKEN), _MOST)


READ_FILE: Final = Tool(
    key=WORKSPACE_TOOLS.FILESYSTEM.READ_FILE,
    arguments=ReadFile,
    describe=_describe,
    annotations=Annotations(read_only=True, idempotent=True),
    needs=Needs.FILESYSTEM,
    targets=_targets,
    act=_act,
    options={"media_types": list(MEDIA_TYPES), "max_media_bytes": 10 * 1024 * 1024},
)
