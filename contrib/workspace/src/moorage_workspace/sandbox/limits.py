"""What commands may use, and which of it can be held here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moorage_workspace.checks import ARGUMENTS

_RESOURCES: Final = {
    "processes": "RLIMIT_NPROC",
    "memory_bytes": "RLIMIT_DATA",
    "cpu_seconds": "RLIMIT_CPU",
    "file_bytes": "RLIMIT_FSIZE",
    "open_files": "RLIMIT_NOFILE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What commands may use; ``None`` is no limit of the sandbox's own.

    Every limit is set as a resource limit of the command, and those on processes and memory also as a control group
    where one can be made. :meth:`LocalSandbox.limits_in_force` says which of them hold on this machine.

    Attributes:
        processes: at one time, threads included. In a control group for the whole sandbox, with the one or two more
            that it takes to run a command; without one for the sandbox's user (beyond what that user already runs), and
            not at all for root.
        memory_bytes: in a control group for the whole sandbox, with what is in ``/tmp``; in any case the writable
            memory of each process.
        cpu_seconds: of each process.
        file_bytes: size of any file that is written; the process that goes beyond gets SIGXFSZ.
        open_files: of each process.
    """

    processes: int | None = 1024
    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None
    open_files: int | None = None

    def __post_init__(self) -> None:
        """Raises: InvalidArgumentError."""
        for name in _RESOURCES:
            value: object = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ARGUMENTS.wrong(f"the limit {name}", "a whole number of at least 1, or None", value)

    def resources(self) -> dict[str, int]:
        """By the names of :mod:`resource`. A crash never leaves a core file."""
        wanted = {resource: getattr(self, name) for name, resource in _RESOURCES.items()}
        return {"RLIMIT_CORE": 0, **{name: value for name, value in wanted.items() if value is not None}}

    def in_force(self, grouped: frozenset[str], *, root: bool) -> Mapping[str, str]:
        """How each limit that is set holds: by ``"cgroup"``, ``"rlimit"`` or ``"none"``."""

        def how(name: str) -> str:
            if name in grouped:
                return "cgroup"
            return "none" if name == "processes" and root else "rlimit"

        return {name: how(name) for name in _RESOURCES if getattr(self, name) is not None}
