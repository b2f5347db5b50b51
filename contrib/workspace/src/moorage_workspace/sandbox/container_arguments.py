"""The argument lists for the container program: pure functions from settings to text."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from moorage_workspace.sandbox.container_program import ProgramName
from moorage_workspace.sandbox.container_scripts import KEEPER, LAUNCH, MARK, SWEEP, TERMINATE, WRITE
from moorage_workspace.sandbox.limits import SandboxLimits

_SCRIPT: Final = "MOORAGE_LAUNCH"
_MOST_OF_ANY: Final = 1 << 15
"""Of a resource that is limited for podman's sake alone; podman itself runs with no more processes than that."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A host directory at a path of the container."""

    source: str
    target: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """Everything that is decided when a container starts."""

    image: str
    home: str
    binds: tuple[Bind, ...]
    network: bool
    user: str
    limits: SandboxLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command for a launcher.

    Attributes:
        token: begins the launcher's report; nobody can guess it.
        identity: the mark of every process that it starts.
        keeper: the pids that a sweep leaves alone.
        roots: the directories that ``directory`` must lie in, once links are resolved.
        variables: names alone; see :func:`transported`.
    """

    token: str
    identity: str
    keeper: str
    directory: str
    roots: tuple[str, ...]
    variables: tuple[str, ...]
    program: tuple[str, ...]
    stdin: bool


def run_arguments(program: ProgramName, name: str, settings: ContainerSettings) -> list[str]:
    """Start a container that ends when the caller's end of standard input closes."""
    return [
        "run",
        "--interactive",
        "--rm",
        f"--name={name}",
        "--label=moorage=sandbox",
        "--pull=missing",
        *_walls(program, settings),
        *_limits(program, settings.limits),
        *(f"--mount={_mount(bind)}" for bind in settings.binds),
        f"--workdir={settings.home}",
        f"--env=HOME={settings.home}",
        "--env=LANG=C.UTF-8",
        "--entrypoint=/bin/sh",
        settings.image,
        "-c",
        KEEPER,
    ]


def launch_arguments(name: str, command: Command) -> list[str]:
    """Run one command in it; the values of its variables are in :func:`transported`."""
    arguments = ["exec", *(["--interactive"] if command.stdin else []), f"--env={MARK}={command.identity}"]
    arguments += [f"--env={_carrier(number)}" for number in range(len(command.variables))]
    arguments += [f"--env={_SCRIPT}", name, "/bin/sh", "-c", f'eval "${_SCRIPT}"', "sh"]
    arguments += [command.token, command.identity, command.keeper]
    return [*arguments, command.directory, *command.roots, "--", *command.variables, "--", *command.program]


def transported(values: Iterable[str]) -> dict[str, str]:
    """The values of a command's variables, and the launcher, as the container program's own environment has them."""
    return {_SCRIPT: LAUNCH, **{_carrier(number): value for number, value in enumerate(values)}}


def terminate_arguments(name: str, identity: str, keeper: str, launcher: int) -> list[str]:
    return ["exec", name, "/bin/sh", "-c", TERMINATE, "sh", identity, keeper, str(launcher)]


def sweep_arguments(name: str, identity: str, keeper: str) -> list[str]:
    return ["exec", name, "/bin/sh", "-c", SWEEP, "sh", identity, keeper]


def write_arguments(name: str, root: str, parents: Sequence[str], file: str) -> list[str]:
    return ["exec", "--interactive", name, "/bin/sh", "-c", WRITE, "sh", file, root, *parents]


def remove_arguments(name: str) -> list[str]:
    return ["rm", "--force", "--volumes", name]


def _carrier(number: int) -> str:
    return f"MOORAGE_VALUE_{number}"


def _walls(program: ProgramName, settings: ContainerSettings) -> list[str]:
    walls = [
        "--read-only",
        "--tmpfs=/tmp:rw,nosuid,nodev,mode=1777",
        "--cap-drop=all",
        "--security-opt=no-new-privileges",
        f"--user={settings.user}",
    ]
    if program == "podman":
        # its own settings may say otherwise, and it hands on the host's proxy variables, which may hold a password
        walls += ["--pid=private", "--ipc=private", "--uts=private", "--http-proxy=false"]
    return walls if settings.network else [*walls, "--network=none"]


def _limits(program: ProgramName, limits: SandboxLimits) -> list[str]:
    asked = {"cpu": limits.cpu_seconds, "fsize": limits.file_bytes, "nofile": limits.open_files}
    if program == "podman":
        # left to itself, it may ask for more of these two than it is allowed to give
        asked["nofile"] = asked["nofile"] or _allowed(resource.RLIMIT_NOFILE)
        asked["nproc"] = _allowed(resource.RLIMIT_NPROC)
    arguments = [f"--ulimit={name}={most}:{most}" for name, most in asked.items() if most is not None]
    if limits.processes is not None:
        arguments.append(f"--pids-limit={limits.processes}")
    if limits.memory_bytes is not None:
        arguments += [f"--memory={limits.memory_bytes}b", f"--memory-swap={limits.memory_bytes}b"]
    return arguments


def _allowed(kind: int) -> int:
    most = resource.getrlimit(kind)[1]
    return _MOST_OF_ANY if most == resource.RLIM_INFINITY else min(most, _MOST_OF_ANY)


def _mount(bind: Bind) -> str:
    """One row of CSV, which is how both programs read it; so every path can be named."""
    fields = ["type=bind", f"source={bind.source}", f"target={bind.target}"]
    if bind.read_only:
        fields.append("readonly")
    return ",".join(_field(field) for field in fields)


def _field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
