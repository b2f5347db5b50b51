"""The port that every sandbox stands behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import UnionType
from typing import ClassVar

from moorage_workspace.checks import ARGUMENTS


class SandboxStatus(StrEnum):
    """The life of a sandbox."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    DESTROYED = "destroyed"
    ERROR = "error"


class MountState(StrEnum):
    """What became of a mount that the shell should see."""

    PENDING = "pending"
    MOUNTING = "mounting"
    MOUNTED = "mounted"
    ERROR = "error"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class SandboxMount:
    """One directory of the tree inside the sandbox.

    Attributes:
        path: where the tools see it, and the shell too, e.g. ``/notes``.
        source: the host directory; never shown, ``None`` where there is none.
        read_only: nothing can be written through it.
        message: why it is in this state; for models, so without host paths.
    """

    path: str
    source: str | None = field(repr=False)
    read_only: bool
    state: MountState = MountState.PENDING
    message: str = ""


OnOutput = Callable[[str], Awaitable[object] | None]
"""Called in the event loop with decoded text as it comes; must not block.

What it returns, if anything, is awaited before more is read, so that the command waits for whoever is slow to take it.
A sandbox may leave it unawaited, and once the command has ended it is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteOptions:
    """How to run one command.

    Attributes:
        timeout: seconds until the whole process tree is ended; ``None`` is the sandbox's default, ``0`` is none.
        cwd: relative to the working directory, or a path inside the sandbox; confined to it.
        env: beside what the sandbox gives.
        max_retained_bytes: of each stream, the tail that is kept; what was dropped is counted.
        stdin: bytes for standard input, which is closed after them; ``None`` gives an empty one.

    Raises:
        InvalidArgumentError: a value is of another kind.
    """

    timeout: float | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    max_retained_bytes: int = 1_048_576
    stdin: bytes | None = None
    on_stdout: OnOutput | None = None
    on_stderr: OnOutput | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            ARGUMENTS.seconds("timeout", self.timeout, zero=True)
        _check_kind("cwd", self.cwd, str | None, "a text")
        _check_kind("stdin", self.stdin, bytes | bytearray | memoryview | None, "bytes")
        for name, value in ARGUMENTS.mapping("env", self.env).items():
            _check_kind("the name of a variable", name, str, "a text")
            _check_kind(f"env[{name!r}]", value, str, "a text")
        _check_kind("max_retained_bytes", self.max_retained_bytes, int, "0 or more bytes")
        if self.max_retained_bytes < 0:
            raise ARGUMENTS.wrong("max_retained_bytes", "0 or more bytes", self.max_retained_bytes)
        for name, function in (("on_stdout", self.on_stdout), ("on_stderr", self.on_stderr)):
            if function is not None:
                ARGUMENTS.function(name, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended.

    Attributes:
        exit_code: ``128 + signal`` for one that a signal ended.
        duration: seconds.
        timed_out: the time limit ended it.
        killed: something other than itself ended it (the time limit, a kill, the session's end).
        truncated: bytes were dropped from the start of a stream; ``dropped_stdout`` and ``dropped_stderr`` count them.
    """

    exit_code: int
    stdout: str
    stderr: str
    duration: float
    timed_out: bool = False
    killed: bool = False
    dropped_stdout: int = 0
    dropped_stderr: int = 0

    @property
    def truncated(self) -> bool:
        return self.dropped_stdout > 0 or self.dropped_stderr > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInfo:
    """One background process; ``exit_code`` is ``None`` while it runs."""

    pid: int
    command: str
    running: bool
    exit_code: int | None
    started_at: float


OnExit = Callable[[CommandResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnOptions(ExecuteOptions):
    """How to run a background process. ``timeout=None`` is none here; ``keep_stdin`` leaves standard input open."""

    keep_stdin: bool = False
    on_exit: OnExit | None = None

    def __post_init__(self) -> None:
        ExecuteOptions.__post_init__(self)
        ARGUMENTS.flag("keep_stdin", self.keep_stdin)
        if self.on_exit is not None:
            ARGUMENTS.plain_function("on_exit", self.on_exit)


def _check_kind(where: str, value: object, kind: type | UnionType, wanted: str) -> None:
    """Of what is wrong no more than the kind is told: a command's input and variables may be secrets."""
    if not isinstance(value, kind):
        raise ARGUMENTS.wrong(where, wanted, value, secret=True)


class Processes(ABC):
    """The background processes of one sandbox. A pid is the sandbox's own number, never reused within it."""

    @abstractmethod
    async def spawn(self, command: str, args: Sequence[str] | None = None, options: SpawnOptions | None = None) -> int:
        """Start it and return its pid. ``args=None`` runs ``command`` by the shell."""

    @abstractmethod
    async def list(self) -> tuple[ProcessInfo, ...]:
        """Every process that was spawned and is not forgotten, in the order of their start."""

    @abstractmethod
    async def get(self, pid: int) -> ProcessInfo:
        """Raises: NoProcessError."""

    @abstractmethod
    async def output(self, pid: int) -> CommandResult:
        """What was retained so far; ``exit_code`` is ``-1`` while it runs. Raises: NoProcessError."""

    @abstractmethod
    async def wait(self, pid: int) -> CommandResult:
        """Until it has ended and its output is whole. Cancelling the wait does not end it. Raises: NoProcessError."""

    @abstractmethod
    async def kill(self, pid: int) -> CommandResult:
        """End the whole tree (TERM, then KILL) and wait; of one that has ended, its result. Raises: NoProcessError."""

    @abstractmethod
    async def write_stdin(self, pid: int, data: bytes, *, close: bool = False) -> None:
        """Raises: NoProcessError, SandboxError where standard input is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxInfo:
    """What a sandbox says of itself.

    Attributes:
        isolation: ``"none"``, ``"bwrap"``, ``"seatbelt"``, ``"podman"``, …
        working_directory: as a command sees it; never a host path unless there is no isolation.
        unsandboxed: nothing keeps commands from what the user that runs them can reach.
    """

    provider: str
    status: SandboxStatus
    isolation: str
    working_directory: str
    network: bool
    processes: int
    mounts: tuple[SandboxMount, ...] = ()
    error: str | None = None
    unsandboxed: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unsandboxed", self.isolation == "none")


class Sandbox(ABC):
    """Runs commands. It starts at its first command; ``start`` makes that explicit.

    Every method may be called concurrently. Cancelling a command ends its whole process tree.
    """

    provider: ClassVar[str]
    """Short name of the kind, e.g. ``"local"``."""

    status: SandboxStatus

    @abstractmethod
    async def start(self) -> None:
        """Idempotent; concurrent calls share one start."""

    @abstractmethod
    async def stop(self) -> None:
        """End all processes. ``start`` begins again. Idempotent."""

    @abstractmethod
    async def destroy(self) -> None:
        """``stop``, and give back everything that was made; no file of the working directory. Idempotent."""

    @abstractmethod
    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        """Run it to its end. ``args=None`` runs ``command`` by the shell; else it is the program.

        Raises:
            SandboxError: it could not be started, or ``cwd`` leads out.
        """

    @property
    @abstractmethod
    def processes(self) -> Processes | None:
        """``None`` where this sandbox has no background processes."""

    @abstractmethod
    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        """Make the host directory ``source`` visible at ``path``, from the next command on."""

    @abstractmethod
    async def unmount(self, path: str) -> None:
        """Raises: SandboxError where nothing is mounted there."""

    @property
    @abstractmethod
    def mounts(self) -> tuple[SandboxMount, ...]: ...

    @abstractmethod
    async def write_files(self, files: Mapping[str, bytes]) -> None:
        """Create or replace files, by paths as ``cwd`` has them. Raises: SandboxError where a path leads out."""

    @abstractmethod
    def set_env(self, values: Mapping[str, str]) -> None:
        """Variables of every later command."""

    @abstractmethod
    def get_info(self) -> SandboxInfo:
        """No I/O."""

    @abstractmethod
    def get_instructions(self, context: Mapping[str, object] | None = None) -> str:
        """A text for a model's system message. No I/O."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no output may show: those of variables that were given as secrets."""
        return ()

    @property
    def host_paths(self) -> Mapping[str, str]:
        """Host path to what a model is to read in its place, applied to every output."""
        return {}
