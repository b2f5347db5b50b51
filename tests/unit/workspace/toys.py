"""Tools, a sandbox and a store that do little but say what happened to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from moorage import Filesystem, MemoryFilesystem, MemoryProvider, RequestContext
from moorage_workspace import (
    Annotations,
    Arguments,
    CommandResult,
    ExecuteOptions,
    MountState,
    Needs,
    NoProcessError,
    Output,
    Plan,
    Processes,
    ProcessInfo,
    Sandbox,
    SandboxInfo,
    SandboxMount,
    SandboxStatus,
    SpawnOptions,
    Targets,
    Tool,
    ToolCall,
)


class Look(Arguments):
    path: str = Field(description="What to look at.")
    max_depth: Annotated[int, Field(ge=1, le=9)] = 2
    extension: Annotated[str, Field(max_length=10)] | None = Field(None, description="Only files that end so.")
    patterns: str | list[str] | None = Field(None, description="Within max_depth.")
    encoding: Literal["utf-8", "hex"] | None = None


class Change(Arguments):
    path: str


class Open(Arguments):
    anything: dict[str, int]


class Nothing(Arguments):
    pass


def no_targets(call: ToolCall, arguments: Arguments) -> Targets:
    return Targets()


async def say_options(call: ToolCall, arguments: Arguments, plan: Plan) -> Output:
    return Output(f"{call.name} {dict(call.options)}", {"arguments": arguments.model_dump()})


def described(options: Mapping[str, object]) -> str:
    return f"Looks, max_depth at most. After toy_change, {sorted(options.items())}"


def tool(key: str, arguments: type[Arguments] = Nothing, needs: Needs = Needs.FILESYSTEM, **more: Any) -> Tool[Any]:
    more.setdefault("annotations", Annotations(read_only=True))
    more.setdefault("describe", described)
    more.setdefault("act", say_options)
    return Tool(key=key, arguments=arguments, needs=needs, targets=no_targets, **more)


LOOK = tool("toy_look", Look, options={"depth": 3, "fast": False, "ratio": 0.5, "style": "plain", "filter": None})
CHANGE = tool("toy_change", Change, annotations=Annotations(read_only=False))
SHELL = tool("toy_shell", needs=Needs.SANDBOX, annotations=Annotations(read_only=False))
JOBS = tool("toy_jobs", needs=Needs.PROCESSES)
OPEN = tool("toy_open", Open)
TOYS = (LOOK, CHANGE, SHELL, JOBS)


class ToyProcesses(Processes):
    """Processes that run until they are killed; ``unkillable`` fails for those."""

    def __init__(self) -> None:
        self.running: dict[int, str] = {}
        self.killed: list[int] = []
        self.unkillable: set[int] = set()

    async def spawn(self, command: str, args: Sequence[str] | None = None, options: SpawnOptions | None = None) -> int:
        pid = len(self.running) + len(self.killed) + 1
        self.running[pid] = command
        return pid

    async def list(self) -> tuple[ProcessInfo, ...]:
        return ()

    async def get(self, pid: int) -> ProcessInfo:
        raise NoProcessError("none")

    async def output(self, pid: int) -> CommandResult:
        raise NoProcessError("none")

    async def wait(self, pid: int) -> CommandResult:
        raise NoProcessError("none")

    async def kill(self, pid: int) -> CommandResult:
        if pid in self.unkillable:
            raise RuntimeError(f"{pid} stays")
        if self.running.pop(pid, None) is None:
            raise NoProcessError("none")
        self.killed.append(pid)
        return CommandResult(exit_code=137, stdout="", stderr="", duration=0, killed=True)

    async def write_stdin(self, pid: int, data: bytes, *, close: bool = False) -> None:
        raise NoProcessError("none")


class ToySandbox(Sandbox):
    """Runs nothing; notes what it is told in ``log``."""

    provider = "toy"

    def __init__(self, log: list[str] | None = None, *, background: bool = True, host: str = "/srv/host/work") -> None:
        self.log = [] if log is None else log
        self.status = SandboxStatus.PENDING
        self.host = host
        self.failing: BaseException | None = None
        self._processes = ToyProcesses() if background else None
        self._mounts: dict[str, SandboxMount] = {}

    async def start(self) -> None:
        if self.failing is not None:
            raise self.failing
        self.log.append("sandbox start")
        self.status = SandboxStatus.RUNNING

    async def stop(self) -> None:
        self.log.append("sandbox stop")

    async def destroy(self) -> None:
        if self.failing is not None:
            raise self.failing
        self.log.append("sandbox destroy")
        self._mounts.clear()
        self.status = SandboxStatus.DESTROYED

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        self.log.append(f"run {command}")
        return CommandResult(exit_code=0, stdout="", stderr="", duration=0)

    @property
    def processes(self) -> ToyProcesses | None:
        return self._processes

    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        if self.failing is not None:
            raise self.failing
        self.log.append(f"mount {path} {'ro' if read_only else 'rw'}")
        self._mounts[path] = SandboxMount(path, source, read_only, MountState.MOUNTED)
        return self._mounts[path]

    async def unmount(self, path: str) -> None:
        del self._mounts[path]

    @property
    def mounts(self) -> tuple[SandboxMount, ...]:
        return tuple(self._mounts.values())

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        pass

    def set_env(self, values: Mapping[str, str]) -> None:
        pass

    def get_info(self) -> SandboxInfo:
        return SandboxInfo(
            provider=self.provider,
            status=self.status,
            isolation="none",
            working_directory=self.host,
            network=False,
            processes=0,
            mounts=self.mounts,
        )

    def get_instructions(self, context: Mapping[str, object] | None = None) -> str:
        return f"Commands run unsandboxed in {self.host}."

    @property
    def host_paths(self) -> Mapping[str, str]:
        return {self.host: "/workspace"}


class Watched(MemoryProvider):
    """Notes in ``log`` when it starts and closes; ``failing`` is raised then."""

    def __init__(self, log: list[str], failing: Exception | None = None) -> None:
        super().__init__()
        self.log = log
        self.failing = failing

    async def start(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append("filesystem start")

    async def aclose(self) -> None:
        if self.failing is not None:
            raise self.failing
        self.log.append("filesystem close")


def choose_memory(context: RequestContext) -> Filesystem:
    return MemoryFilesystem()


def choose_sandbox(context: RequestContext) -> ToySandbox:
    return ToySandbox()
