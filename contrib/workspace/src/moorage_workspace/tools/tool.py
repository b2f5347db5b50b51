"""What a tool is: data and functions over a call; nothing is inherited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from moorage import StoragePath
from moorage_workspace.results import Output, Plan

if TYPE_CHECKING:
    from moorage_workspace.tools.call import ToolCall


class Arguments(BaseModel):
    """The base of every tool's input: exact types, no unknown fields, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


A = TypeVar("A", bound=Arguments)


class Needs(Enum):
    """What must be configured for a tool to be offered."""

    FILESYSTEM = "filesystem"
    SANDBOX = "sandbox"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class Annotations:
    """Hints for the caller of the model, as MCP names them."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False


@dataclass(frozen=True, slots=True)
class Targets:
    """The paths that a call names, resolved.

    Attributes:
        reads: looked at.
        writes: created, changed or removed; each is locked, and each that is a file is checked for having been read.
    """

    reads: tuple[StoragePath, ...] = ()
    writes: tuple[StoragePath, ...] = ()


async def _nothing_to_plan(call: ToolCall, arguments: Arguments) -> Plan:
    return Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One tool.

    Attributes:
        key: its default name, and its key in the configuration.
        arguments: the input model; its schema is what the model is told.
        describe: the description, from the options in force, so that it never claims a check that is off.
        targets: which paths a call names; pure.
        plan: what a call would do; it only reads. Runs before an approval, and again under the lock.
        act: does it, exactly as planned.
        options: the tool's own configuration keys and their defaults.
        replaces: it puts a whole new content in place of a file, so all of the old one must have been read where
            reading before writing is required; a tool that changes a part calls :meth:`ToolCall.require_seen` itself.
        max_output_tokens: the cap of its output unless configured.
    """

    key: str
    arguments: type[A]
    describe: Callable[[Mapping[str, object]], str]
    annotations: Annotations
    needs: Needs
    targets: Callable[[ToolCall, A], Targets]
    act: Callable[[ToolCall, A, Plan], Awaitable[Output]]
    plan: Callable[[ToolCall, A], Awaitable[Plan]] = _nothing_to_plan
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    max_output_tokens: int = 2_000
    replaces: bool = False
