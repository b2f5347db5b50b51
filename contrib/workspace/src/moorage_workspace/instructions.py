"""What a model is told of its workspace, for a system message."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from moorage import Filesystem, RequestContext
from moorage_workspace.checks import OPTIONS
from moorage_workspace.mounting import native_path
from moorage_workspace.sandbox.port import MountState, Sandbox, SandboxMount

if TYPE_CHECKING:
    from moorage_workspace.session import Session

DynamicSandbox = Literal["placeholder", "resolve"] | Callable[[RequestContext], str | Awaitable[str]]

PLACEHOLDER: Final = "Commands run in a sandbox of their own, which is chosen for each request."


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """Attributes:
    dynamic_sandbox: what is said of a sandbox that a resolver chooses: a fixed text, without calling the resolver;
        the text of the one that it chooses; or what a function of the context returns.
    """

    dynamic_sandbox: DynamicSandbox = "placeholder"

    def __post_init__(self) -> None:
        """Raises: ConfigError."""
        if self.dynamic_sandbox not in ("placeholder", "resolve"):
            wanted = "'placeholder', 'resolve' or a function of the context"
            OPTIONS.function("instructions.dynamic_sandbox", self.dynamic_sandbox, wanted)


def instruction_options(value: InstructionOptions | Mapping[str, object] | None) -> InstructionOptions:
    """Raises: ConfigError."""
    if value is None or isinstance(value, InstructionOptions):
        return value or InstructionOptions()
    given = OPTIONS.mapping("instructions", value)
    for name in given:
        OPTIONS.known(name, ["dynamic_sandbox"], "instructions")
    return InstructionOptions(**given)


async def instructions_of(session: Session, options: InstructionOptions) -> str:
    """The filesystem's text, the sandbox's, and what they share."""
    workspace = session.workspace
    filesystem = await session.filesystem()
    parts = [] if filesystem is None else [filesystem.instructions(session.context)]
    if filesystem is not None and workspace.path_policy == "relative":
        parts.append("Write the paths of files relative to the workspace, without a leading slash.")
    gate = workspace.gate
    if workspace.has_sandbox_config and workspace.sandbox is None and options.dynamic_sandbox != "resolve":
        parts.append(await _of_unresolved(options.dynamic_sandbox, session.context))
    elif (sandbox := await session.sandbox()) is not None:
        gate = gate.knowing(secrets=sandbox.secrets, host_paths=sandbox.host_paths)
        parts.append(sandbox.get_instructions(session.context))
        if workspace.shell_mounts:
            parts.append(_of_mounts(workspace.shell_mounts, sandbox))
        elif filesystem is not None:
            parts.append(await _of_one_filesystem(filesystem, sandbox))
    return gate.redact("\n\n".join(part for part in parts if part))


async def _of_unresolved(said: DynamicSandbox, context: RequestContext) -> str:
    if not callable(said):
        return PLACEHOLDER
    answer = said(context)
    return await answer if inspect.isawaitable(answer) else answer


def _of_mounts(mounts: Iterable[SandboxMount], sandbox: Sandbox) -> str:
    """Which mounts the shell shows, and where, which it reaches all the same, and which only the file tools reach."""
    shown: list[str] = []
    reached: list[str] = []
    apart: list[str] = []
    mounts = tuple(mounts)
    held = {mount.source for mount in mounts if mount.read_only and mount.state is MountState.MOUNTED}
    for mount in mounts:
        places = {host: place for host, place in sandbox.host_paths.items() if not (mount.read_only and host in held)}
        overlaps = _overlaps(mount, places)
        reached += overlaps
        if mount.state is MountState.MOUNTED:
            place = mount.path if mount.source is None else sandbox.host_paths.get(mount.source, mount.path)
            where = "" if place == mount.path else f" as {_spoken(place)}"
            notes = [note for note in ("read-only" if mount.read_only else "", mount.message) if note]
            shown.append(f"- {mount.path}{where}" + (f" ({', '.join(notes)})" if notes else ""))
        elif not overlaps:
            apart.append(f"- {mount.path}" + (f": {mount.message}" if mount.message else ""))
    headed = (
        ("The shell shows these directories of the file tools, at the same paths unless it says so:", shown),
        ("The shell has the same directories as the file tools here, at paths of its own:", reached),
        ("Only the file tools reach these; the shell does not see them:", apart),
    )
    return "\n".join(line for head, lines in headed if lines for line in (head, *lines))


def _overlaps(mount: SandboxMount, places: Mapping[str, str]) -> list[str]:
    """What of a mount commands reach through another directory than its own, where the mount's rules do not hold.

    ``places`` are the shell's paths of host directories that do not hold them.
    """
    mounted = mount.state is MountState.MOUNTED
    if mount.source is None or (mounted and not mount.read_only):
        return []
    note = "; read-only holds for the file tools alone" if mount.read_only else ""
    whole = None if mounted else _shown(mount.source, places)
    if whole is not None:
        return [f"- {mount.path} as {_spoken(whole)}{note}"]
    source = PurePosixPath(mount.source)
    within = [(PurePosixPath(host), place) for host, place in places.items()]
    return [
        f"- {PurePosixPath(mount.path) / host.relative_to(source)} as {_spoken(place)}{note}"
        for host, place in within
        if host.is_relative_to(source)
    ]


async def _of_one_filesystem(filesystem: Filesystem, sandbox: Sandbox) -> str:
    """Where the files of the tools are for a command."""
    source, read_only = await native_path(filesystem)
    place = None if source is None else _shown(source, sandbox.host_paths)
    if place is None:
        return "The shell has files of its own: it does not see those of the file tools."
    name = _spoken(f"{place.rstrip('/')}/name")
    text = f"The shell works on the files of the file tools: their /name is {name} in the shell."
    return f"{text} Read-only holds for the file tools alone." if read_only else text


def _shown(source: str, places: Mapping[str, str]) -> str | None:
    """The shell's path of a host directory, if it has one for it or for a directory above it."""
    here = PurePosixPath(source)
    for host, shown in sorted(places.items(), key=lambda pair: len(pair[0]), reverse=True):
        if here.is_relative_to(host):
            return "/".join([shown.rstrip("/"), *here.relative_to(host).parts])
    return None


def _spoken(place: str) -> str:
    return place if place.startswith("/") else f"{place}, from the directory that commands start in,"
