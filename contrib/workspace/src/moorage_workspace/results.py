"""What a tool gives back: to the pipeline, and then to the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from moorage import StoragePath


class Keep(Enum):
    """Which part of a text that is too long the model gets."""

    START = "start"
    ENDS = "ends"
    """10 % from the start and 90 % from the end: of a command's output the end says how it went."""


@dataclass(frozen=True, slots=True)
class Media:
    """A part that the model sees as an image or document rather than as text."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of a body after redaction and capping.

    Attributes:
        text: the body as the model will see it.
        whole: nothing was cut.
        lines: how many complete lines of the start are in ``text`` (of :attr:`Keep.START`; else all that are left).
        dropped_lines: lines that were cut.
    """

    text: str
    whole: bool
    lines: int
    dropped_lines: int


def _unframed(kept: Kept) -> str:
    return kept.text


@dataclass(frozen=True, slots=True)
class Output:
    """What the function of a tool returns to the pipeline.

    Attributes:
        body: the long part; it is redacted, then capped.
        structured: the same as data, JSON-compatible; every string in it is redacted.
        keep: which part of a body that is too long stays.
        frame: makes the final text from what is left of the body: a header, a notice how to get the rest. Runs after
            the cap, so that it can tell what was cut, and what the model has seen; its text is redacted too.
        media: parts beside the text.
    """

    body: str
    structured: Mapping[str, object] = field(default_factory=dict[str, object])
    keep: Keep = Keep.START
    frame: Callable[[Kept], str] = _unframed
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a call failed: a stable code, words for the model, and whether the same call may work later."""

    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a model gets for one call; never an exception.

    Attributes:
        tool: the exposed name that was called.
        text: redacted and capped.
        structured: the result as data, or the failure's fields.
        error: ``None`` when the tool did what it was asked to.
    """

    tool: str
    text: str
    structured: Mapping[str, object] = field(default_factory=dict[str, object])
    media: tuple[Media, ...] = ()
    error: ToolFailure | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class Content(Protocol):
    """Bytes, or what becomes bytes when it is needed whole: a large edit is written without ever being copied."""

    def __len__(self) -> int: ...

    def __bytes__(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Change:
    """What a call would do to one file.

    Attributes:
        path: resolved.
        before: the content that is there; ``None`` where there is no file, or where no diff is wanted (a directory).
        after: the content that would be there; ``None`` where the file would be gone.
        version: of ``before``, from the same answer as its bytes; ``None`` where there is no file.
    """

    path: StoragePath
    before: bytes | None = field(repr=False)
    after: Content | None = field(repr=False)
    version: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call is about to do, computed before anybody is asked and again before it happens.

    Attributes:
        summary: one line for people, e.g. ``delete /a and the 12 entries below``.
        changes: the files that change, with their content.
        basis: what the plan rests on: path to version (or ``None`` for "nothing there"). A plan whose basis has moved
            is void.
    """

    summary: str = ""
    changes: tuple[Change, ...] = ()
    basis: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
