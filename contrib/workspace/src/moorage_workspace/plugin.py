"""The plug-in of this package."""

from __future__ import annotations

from moorage import CommandSpec, hookimpl
from moorage_workspace.hookspecs import SandboxSpec


@hookimpl
def moorage_commands() -> list[CommandSpec]:
    return [
        CommandSpec(
            "agent-shell",
            "Play the agent: call its tools, see what a model sees, approve by diffs",
            "moorage_workspace.shell.command:agent_shell",
            "moorage agent-shell --mount /notes=local://./notes -e 'list_files /notes'",
        )
    ]


@hookimpl
def moorage_workspace_sandboxes() -> list[SandboxSpec]:
    return [
        SandboxSpec(
            "local", "Commands of this machine, isolated if asked", "moorage_workspace.sandbox.local:LocalSandbox"
        ),
        SandboxSpec(
            "container", "A podman or docker container", "moorage_workspace.sandbox.container:ContainerSandbox"
        ),
    ]
