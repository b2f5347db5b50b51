"""What an agent gets: files, a shell and safe tools over any Moorage filesystem.

Applications hold a :class:`Workspace`; authors of tools make a :class:`Tool`, authors of sandboxes implement
:class:`Sandbox`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage_workspace.approval import Approval, ApprovalRequest, ApprovalRule, Approver
    from moorage_workspace.audit import (
        AuditEvent,
        AuditSink,
        JsonLinesSink,
        LoggingSink,
        TelemetrySink,
    )
    from moorage_workspace.clock import Clock, SystemClock
    from moorage_workspace.config import ConfiguredTool, Hooks
    from moorage_workspace.errors import (
        ChangedSinceReadError,
        FileReadRequiredError,
        IsolationUnavailableError,
        NoProcessError,
        NoProvidersError,
        Refusal,
        SandboxError,
        SandboxUnsupportedError,
        ToolRefusedError,
    )
    from moorage_workspace.hookspecs import SandboxSpec, ToolSpec
    from moorage_workspace.info import Dynamic, FilesystemFacts, WorkspaceInfo, WorkspaceStatus
    from moorage_workspace.instructions import InstructionOptions
    from moorage_workspace.mounting import MountRequest, OnMount
    from moorage_workspace.plugins import Plugins
    from moorage_workspace.profiles import CODING, MASTRA, Naming, Profile
    from moorage_workspace.redaction import MASK
    from moorage_workspace.results import Change, Keep, Kept, Media, Output, Plan, ToolFailure, ToolResult
    from moorage_workspace.sandbox.container import ContainerSandbox
    from moorage_workspace.sandbox.isolation import IsolationName, detect_isolation
    from moorage_workspace.sandbox.limits import SandboxLimits
    from moorage_workspace.sandbox.local import LocalSandbox
    from moorage_workspace.sandbox.port import (
        CommandResult,
        ExecuteOptions,
        MountState,
        Processes,
        ProcessInfo,
        Sandbox,
        SandboxInfo,
        SandboxMount,
        SandboxStatus,
        SpawnOptions,
    )
    from moorage_workspace.schemas import ToolDescription
    from moorage_workspace.session import Session
    from moorage_workspace.tokens import TokenCounter
    from moorage_workspace.tools.background import BackgroundProcesses, ProcessEvent
    from moorage_workspace.tools.call import ToolCall
    from moorage_workspace.tools.hooking import HookEvent
    from moorage_workspace.tools.keys import WORKSPACE_TOOLS
    from moorage_workspace.tools.tool import Annotations, Arguments, Needs, Targets, Tool
    from moorage_workspace.workspace import Workspace
    from moorage_workspace.workspaces import Workspaces

_HOMES = {
    "approval": "Approval ApprovalRequest ApprovalRule Approver",
    "audit": "AuditEvent AuditSink JsonLinesSink LoggingSink TelemetrySink",
    "clock": "Clock SystemClock",
    "config": "ConfiguredTool Hooks",
    "errors": (
        "ChangedSinceReadError FileReadRequiredError IsolationUnavailableError NoProcessError NoProvidersError Refusal "
        "SandboxError SandboxUnsupportedError ToolRefusedError"
    ),
    "hookspecs": "SandboxSpec ToolSpec",
    "info": "Dynamic FilesystemFacts WorkspaceInfo WorkspaceStatus",
    "instructions": "InstructionOptions",
    "mounting": "MountRequest OnMount",
    "plugins": "Plugins",
    "profiles": "CODING MASTRA Naming Profile",
    "redaction": "MASK",
    "results": "Change Keep Kept Media Output Plan ToolFailure ToolResult",
    "sandbox.container": "ContainerSandbox",
    "sandbox.isolation": "IsolationName detect_isolation",
    "sandbox.limits": "SandboxLimits",
    "sandbox.local": "LocalSandbox",
    "sandbox.port": (
        "CommandResult ExecuteOptions MountState Processes ProcessInfo Sandbox SandboxInfo SandboxMount SandboxStatus "
        "SpawnOptions"
    ),
    "schemas": "ToolDescription",
    "session": "Session",
    "tokens": "TokenCounter",
    "tools.background": "BackgroundProcesses ProcessEvent",
    "tools.call": "ToolCall",
    "tools.hooking": "HookEvent",
    "tools.keys": "WORKSPACE_TOOLS",
    "tools.tool": "Annotations Arguments Needs Targets Tool",
    "workspace": "Workspace",
    "workspaces": "Workspaces",
}
"""Where each public name lives; a module loads when one of its names is first used."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'moorage_workspace' has no attribute {name!r}")
    value: object = getattr(import_module(f"moorage_workspace.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "CODING",
    "MASK",
    "MASTRA",
    "WORKSPACE_TOOLS",
    "Annotations",
    "Approval",
    "ApprovalRequest",
    "ApprovalRule",
    "Approver",
    "Arguments",
    "AuditEvent",
    "AuditSink",
    "BackgroundProcesses",
    "Change",
    "ChangedSinceReadError",
    "Clock",
    "CommandResult",
    "ConfiguredTool",
    "ContainerSandbox",
    "Dynamic",
    "ExecuteOptions",
    "FileReadRequiredError",
    "FilesystemFacts",
    "HookEvent",
    "Hooks",
    "InstructionOptions",
    "IsolationName",
    "IsolationUnavailableError",
    "JsonLinesSink",
    "Keep",
    "Kept",
    "LocalSandbox",
    "LoggingSink",
    "Media",
    "MountRequest",
    "MountState",
    "Naming",
    "Needs",
    "NoProcessError",
    "NoProvidersError",
    "OnMount",
    "Output",
    "Plan",
    "Plugins",
    "ProcessEvent",
    "ProcessInfo",
    "Processes",
    "Profile",
    "Refusal",
    "Sandbox",
    "SandboxError",
    "SandboxInfo",
    "SandboxLimits",
    "SandboxMount",
    "SandboxSpec",
    "SandboxStatus",
    "SandboxUnsupportedError",
    "Session",
    "SpawnOptions",
    "SystemClock",
    "Targets",
    "TelemetrySink",
    "TokenCounter",
    "Tool",
    "ToolCall",
    "ToolDescription",
    "ToolFailure",
    "ToolRefusedError",
    "ToolResult",
    "ToolSpec",
    "Workspace",
    "WorkspaceInfo",
    "WorkspaceStatus",
    "Workspaces",
    "detect_isolation",
]
