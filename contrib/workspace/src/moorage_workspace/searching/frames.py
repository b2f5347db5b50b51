"""How a worker process and its parent talk: fields as JSON, then bytes, each with its length before it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

LENGTHS: Final = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Frame:
    fields: dict[str, Any]
    payload: bytes = b""


def pack(fields: Mapping[str, object], payload: bytes = b"") -> bytes:
    """The frame as it is sent."""
    head = json.dumps(fields).encode()
    return LENGTHS.pack(len(head), len(payload)) + head + payload


def unpack(head: bytes, payload: bytes) -> Frame:
    """The frame that was received."""
    return Frame(json.loads(head), payload)


def read_frame(source: BinaryIO) -> Frame | None:
    """The next frame; ``None`` where the other side is gone."""
    lengths = source.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head, payload = LENGTHS.unpack(lengths)
    return unpack(source.read(head), source.read(payload))
