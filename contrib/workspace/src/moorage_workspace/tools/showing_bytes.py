"""The bytes of a file in an encoding that a model asked for."""

from __future__ import annotations

import base64
import re
from typing import Final, Literal

from moorage import Stat, StoragePath
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.results import Kept, Output
from moorage_workspace.text.begun import is_known, may_be_one_secret
from moorage_workspace.text.counting import counted
from moorage_workspace.text.excerpts import REACH, excerpt
from moorage_workspace.tools.call import ToolCall

ByteEncoding = Literal["base64", "hex", "binary"]
BYTE_ENCODINGS: Final = ("base64", "hex", "binary")

_DIGITS: Final = {"base64": (4, 3), "hex": (2, 1), "binary": (1, 1)}
"""How many characters stand for how many bytes."""
_FAR: Final = 16 * 1024 * 1024
"""Bytes before a range that are read to know what it goes on with, where fewer do not tell."""
_FURTHER: Final = 32
_LINE: Final = re.compile(".{1,76}")


async def bytes_shown(
    call: ToolCall, path: StoragePath, encoding: ByteEncoding, offset: int | None, limit: int | None, capacity: int
) -> Output:
    """A range of bytes, ``capacity`` at most; once it is framed, what is left of it counts as seen.

    Args:
        offset: the first byte, from 1.

    Raises:
        ToolRefusedError: it is past the end, or the bytes hide a secret.
    """
    start = (offset or 1) - 1
    wanted = capacity if limit is None else min(limit, capacity)
    stat, base, data = await _read(call, path, start, wanted)
    if start and start >= stat.size:
        raise ToolRefusedError(
            f"offset {offset} is past the end: the file has {counted(stat.size, 'byte')}",
            refusal=Refusal.INVALID_ARGUMENTS,
            path=str(path),
        )
    raw = data[start - base : start - base + wanted]
    shown = excerpt(data, start - base, start - base + len(raw), call.redact).encode("utf-8", "surrogateescape")
    _refuse_hidden(call, path, data[max(0, start - base - REACH) :])
    identity = await call.identity(path)
    facts = {"path": str(path), "size": stat.size, "encoding": encoding, "first_byte": start + 1}

    def frame(kept: Kept) -> str:
        text, count = _complete(kept, encoding, len(shown))
        if shown == raw:
            call.session.reads.saw(identity, path, stat, start, start + count)
            return _framed(path, stat, text, start, start + count, limit)
        end = start + len(raw)
        notice = f"\n[read on with offset={end + 1}]" if end < stat.size else ""
        return f"{path} (bytes {start + 1}-{end} of {stat.size}, secrets in them are masked)\n{text}{notice}"

    return Output(_encoded(shown, encoding), facts, frame=frame)


async def _read(call: ToolCall, path: StoragePath, start: int, wanted: int) -> tuple[Stat, int, bytes]:
    """The range with what surrounds it, and where that begins.

    Raises:
        ToolRefusedError: it may lie in a secret, of which the start is too far.
    """
    before = REACH
    while True:
        base = max(0, start - before)
        async with call.files.open_read(path, base, start + wanted + REACH) as reader:
            stat, data = reader.stat, await reader.read()
        at = start - base
        if base == 0 or len(data) <= at or is_known(data, at):
            return stat, base, data
        if before >= _FAR:
            break
        before *= _FURTHER
    if not may_be_one_secret(data, at):
        return stat, base, data
    raise ToolRefusedError(
        f"it cannot be told whether these bytes are secret: what they go on with began more than {_FAR:,} bytes before",
        refusal=Refusal.POLICY,
        path=str(path),
    )


def _framed(path: StoragePath, stat: Stat, text: str, start: int, end: int, limit: int | None) -> str:
    asked = stat.size if limit is None else min(stat.size, start + limit)
    notice = f"\n[read on with offset={end + 1}]" if end < asked else ""
    where = f"{stat.size} bytes" if (start, end) == (0, stat.size) else f"bytes {start + 1}-{end} of {stat.size}"
    return f"{path} ({where})\n{text}{notice}"


def _refuse_hidden(call: ToolCall, path: StoragePath, data: bytes) -> None:
    """A secret in UTF-16 is in no shape that the gate knows."""
    if b"\0" not in data:
        return
    text = data.replace(b"\0", b"").decode("utf-8", "surrogateescape")
    if call.redact(text) != text:
        raise ToolRefusedError(
            "these bytes hold a secret in an encoding that it cannot be masked in",
            refusal=Refusal.POLICY,
            path=str(path),
        )


def _encoded(data: bytes, encoding: ByteEncoding) -> str:
    if encoding == "binary":
        return data.decode("latin-1")
    digits = data.hex() if encoding == "hex" else base64.b64encode(data).decode()
    return "\n".join(_LINE.findall(digits))


def _complete(kept: Kept, encoding: ByteEncoding, count: int) -> tuple[str, int]:
    """The text up to its last complete byte, and how many bytes it stands for."""
    if kept.whole:
        return kept.text, count
    if encoding == "binary":
        return kept.text, len(kept.text)
    characters, bytes_ = _DIGITS[encoding]
    text = kept.text.removesuffix("\n")
    digits = len(text) - text.count("\n")
    return text[: len(text) - digits % characters], digits // characters * bytes_
