"""The hooks by which other packages bring tools and sandboxes, and the values that they return.

A package names a module of its own under the entry point group ``moorage``; functions there marked with
``moorage.hookimpl`` are called. The module must be cheap to import: it names what it brings as text, which loads at
first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pluggy

hookspec = pluggy.HookspecMarker("moorage")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a package brings.

    Attributes:
        key: the tool's default name and its key in the configuration; ``[A-Za-z_][A-Za-z0-9_-]*``.
        summary: one line for people.
        target: ``"module:attribute"`` of its :class:`moorage_workspace.Tool`.
    """

    key: str
    summary: str
    target: str


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A kind of sandbox that a package brings.

    Attributes:
        name: what an application asks for; ``[a-z][a-z0-9-]*``.
        summary: one line for people.
        target: ``"module:attribute"`` of its class, or of a function that makes one.
    """

    name: str
    summary: str
    target: str


@hookspec
def moorage_workspace_tools() -> Sequence[ToolSpec]:  # type: ignore[empty-body]
    """Return the tools that this package brings; called once when the plug-ins load."""


@hookspec
def moorage_workspace_sandboxes() -> Sequence[SandboxSpec]:  # type: ignore[empty-body]
    """Return the kinds of sandbox that this package brings; called once when the plug-ins load."""
