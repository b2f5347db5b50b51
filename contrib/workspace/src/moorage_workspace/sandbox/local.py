"""A sandbox on this machine."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import anyio
from pydantic import SecretStr

from moorage import Instructions, InvalidArgumentError
from moorage_workspace.checks import ARGUMENTS
from moorage_workspace.errors import SandboxError, SandboxUnsupportedError
from moorage_workspace.once import Once
from moorage_workspace.sandbox.bwrap import HOME, owned
from moorage_workspace.sandbox.cgroups import ControlGroup, control_groups, remove_groups
from moorage_workspace.sandbox.files import write_file
from moorage_workspace.sandbox.given import (
    checked_command,
    checked_files,
    checked_instructions,
    checked_limits,
    plain_variables,
)
from moorage_workspace.sandbox.isolation import IsolationName, Surroundings, find_isolation
from moorage_workspace.sandbox.limits import SandboxLimits
from moorage_workspace.sandbox.local_mounts import LocalMounts
from moorage_workspace.sandbox.local_processes import LocalProcesses
from moorage_workspace.sandbox.places import Place, Places, is_below, is_encodable
from moorage_workspace.sandbox.port import (
    CommandResult,
    ExecuteOptions,
    Sandbox,
    SandboxInfo,
    SandboxMount,
    SandboxStatus,
    SpawnOptions,
)
from moorage_workspace.sandbox.supervised import SupervisedCommand
from moorage_workspace.sandbox.supervisors import Order

_INHERITED: Final = ("PATH", "HOME", "LANG")
_LANGUAGE: Final = "C.UTF-8"
_RUN_PROGRAM: Final = 'exec "$@"'
_BASH: Final = "/bin/bash"
_SHELL: Final = "/bin/sh"


class LocalSandbox(Sandbox):
    """Runs commands on this machine, isolated or not.

    Whatever a command starts ends with it; what is to go on is spawned as a process of its own. Everything ends with
    the sandbox, with the event loop, and with this process, however that ends. Without isolation on macOS a process
    that leaves its process group gets away from this, and without isolation anywhere one that kills its supervisor.

    Where bwrap ends: with ``network`` commands reach the machine's loopback and abstract sockets; without it each has a
    loopback of its own. No system call is filtered. ``/proc/self/mountinfo`` names host directories. Under root a
    command can leave a setuid file, so keep the working directory at mode 0700. A mount whose directory lies where
    commands can write is unavailable.

    Args:
        working_directory: made at the start; with bwrap commands see it as ``/workspace``.
        env: variables of every command, beside PATH, HOME and LANG; nothing else is inherited. Values that are
            ``SecretStr`` are shown in no output.
        timeout: seconds a command gets where it asks for no other number; ``0`` is none.
        isolation: ``"none"`` means unsandboxed.
        network: whether isolated commands reach it.
        read_only_paths: host directories that isolated commands may read, at the same path, e.g. of an interpreter.
        read_write_paths: the same, to write.
        read_only: isolated commands cannot write to the working directory.
        limits: see :class:`SandboxLimits`.
        instructions: a text for models in place of the default one, or a function of the default one and the context.

    Raises:
        IsolationUnavailableError: this machine cannot isolate so; the message says what to install.
        SandboxUnsupportedError: ``read_only`` without isolation.
        InvalidArgumentError: a variable's name or value is none, an option cannot be, or paths lie in each other where
            commands could put a link in the place of one.
    """

    provider = "local"

    def __init__(
        self,
        working_directory: str | os.PathLike[str],
        *,
        env: Mapping[str, str | SecretStr] | None = None,
        timeout: float = 30,
        isolation: IsolationName = "none",
        network: bool = False,
        read_only_paths: Iterable[str | os.PathLike[str]] = (),
        read_write_paths: Iterable[str | os.PathLike[str]] = (),
        read_only: bool = False,
        limits: SandboxLimits | None = None,
        instructions: Instructions | None = None,
        id: str | None = None,  # noqa: A002 (the port's word)
    ) -> None:
        self._isolation = find_isolation(isolation)
        if ARGUMENTS.flag("read_only", read_only) and not self._isolation.holds_read_only:
            raise SandboxUnsupportedError("without isolation nothing can hold the working directory read-only")
        self.id = f"sandbox-{secrets.token_hex(4)}" if id is None else ARGUMENTS.text("id", id)
        self.status = SandboxStatus.PENDING
        given_directory = ARGUMENTS.path("working_directory", working_directory)
        self._given_directory = os.path.abspath(given_directory)
        home = os.path.realpath(given_directory)
        self._home = Place(HOME if self._isolation.moves else home, home, read_only)
        self._extra = (
            *_same_paths("read_only_paths", read_only_paths, read_only=True),
            *_same_paths("read_write_paths", read_write_paths, read_only=False),
        )
        if self._isolation.moves:
            _check_apart((self._home, *self._extra))
        self._timeout = ARGUMENTS.seconds("timeout", timeout, zero=True)
        self._network = ARGUMENTS.flag("network", network) or not self._isolation.holds_read_only
        self._limits = checked_limits(limits)
        self._instructions = checked_instructions(instructions)
        self._env: dict[str, str] = {}
        self._secrets: dict[str, str] = {}
        self.set_env({} if env is None else env)
        self._mounts = LocalMounts(
            self._home,
            self._extra,
            owned=owned if self._isolation.moves else None,
            holds_read_only=self._isolation.holds_read_only,
        )
        self._processes = LocalProcesses(self._spawn)
        self._started = Once[None]()
        self._groups: tuple[ControlGroup, ...] | None = None
        self._running: set[SupervisedCommand] = set()
        self._launching: set[anyio.Event] = set()
        self._stops = 0
        self._error: str | None = None

    async def start(self) -> None:
        await self._started.get(self._begin)

    async def stop(self) -> None:
        self._stops += 1
        if self.status is not SandboxStatus.DESTROYED:
            self.status = SandboxStatus.STOPPED
        self._started.reset()
        running = list(self._running)
        for command in running:
            command.end()
        for command in running:
            await command.ended()
        for launched in list(self._launching):
            await launched.wait()
        await anyio.to_thread.run_sync(remove_groups, self._groups or ())

    async def destroy(self) -> None:
        self.status = SandboxStatus.DESTROYED
        await self.stop()
        await anyio.to_thread.run_sync(self._mounts.clear)

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        options = checked_command(command, args, options, ExecuteOptions)
        timeout = self._timeout if options.timeout is None else options.timeout
        supervised = await self._launch(command, args, options, timeout or None)
        return await supervised.finish()

    @property
    def processes(self) -> LocalProcesses:
        return self._processes

    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        return await anyio.to_thread.run_sync(lambda: self._mounts.add(path, source, read_only=read_only))

    async def unmount(self, path: str) -> None:
        await anyio.to_thread.run_sync(self._mounts.remove, path)

    @property
    def mounts(self) -> tuple[SandboxMount, ...]:
        return self._mounts.all()

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        checked_files(files)
        await self.start()

        def write() -> None:
            places = self._places(self._mounts.places())
            self._check_places()
            for path, data in files.items():
                write_file(places, path, data)

        await anyio.to_thread.run_sync(write)

    def set_env(self, values: Mapping[str, str | SecretStr]) -> None:
        plain = plain_variables(values)
        _check_env(plain)
        for name, value in values.items():
            self._env[name] = plain[name]
            self._secrets.pop(name, None)
            if isinstance(value, SecretStr):
                self._secrets[name] = plain[name]

    def limits_in_force(self) -> Mapping[str, str]:
        """How each limit that is set holds on this machine: by ``"cgroup"``, ``"rlimit"``, or ``"none"`` where it
        cannot. Tries it out at the first call.
        """
        groups = self._control_groups()
        return self._limits.in_force(frozenset[str]().union(*(group.holds for group in groups)), root=os.geteuid() == 0)

    def get_info(self) -> SandboxInfo:
        return SandboxInfo(
            provider=self.provider,
            status=self.status,
            isolation=self._isolation.name,
            working_directory=self._home.inside,
            network=self._network,
            processes=self._processes.running,
            mounts=self.mounts,
            error=self._error,
        )

    def get_instructions(self, context: Mapping[str, object] | None = None) -> str:
        default = self._default_instructions()
        if self._instructions is None:
            return default
        return self._instructions if isinstance(self._instructions, str) else self._instructions(default, context)

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._secrets.values()))

    @property
    def host_paths(self) -> Mapping[str, str]:
        moves = self._isolation.moves
        shown = {source: path if moves else f".{path}" for source, path in self._mounts.sources().items()}
        home = HOME if moves else "."
        shown |= {self._home.host: home, self._given_directory: home}
        return {host: path for host, path in shown.items() if host != "/"}

    def _default_instructions(self) -> str:
        where = (
            f"start in {HOME}" if self._isolation.moves else "start in the workspace's directory; use relative paths"
        )
        seconds = f"A command is ended after {self._timeout:g} seconds unless it asks for another timeout. "
        return (
            f"{self._isolation.words} They {where}. "
            f"{'They can use the network.' if self._network else 'They have no network.'} "
            f"{seconds if self._timeout else ''}"
            "What a command starts ends with it; run what is to go on as a background process."
        )

    async def _begin(self) -> None:
        if self.status is SandboxStatus.DESTROYED:
            raise SandboxError("this sandbox was destroyed")
        self.status = SandboxStatus.STARTING
        try:
            await anyio.to_thread.run_sync(self._prepare)
        except OSError as error:
            self._error = f"the working directory cannot be made: {os.strerror(error.errno or 0)}"
            raise SandboxError(self._error) from None
        else:
            self._error = None
        finally:
            if self.status is SandboxStatus.STARTING:
                self.status = SandboxStatus.PENDING if self._error is None else SandboxStatus.ERROR
        if self.status is SandboxStatus.PENDING:
            self.status = SandboxStatus.RUNNING

    def _prepare(self) -> None:
        os.makedirs(self._home.host, exist_ok=True)
        self._control_groups()

    def _control_groups(self) -> tuple[ControlGroup, ...]:
        if self._groups is None:
            self._groups = control_groups(self._limits, f"moorage-{secrets.token_hex(8)}")
        return self._groups

    async def _spawn(
        self,
        command: str,
        args: Sequence[str] | None,
        options: SpawnOptions,
        on_over: Callable[[SupervisedCommand], None],
    ) -> SupervisedCommand:
        return await self._launch(command, args, options, options.timeout or None, on_over=on_over)

    async def _launch(
        self,
        command: str,
        args: Sequence[str] | None,
        options: ExecuteOptions,
        time_limit: float | None,
        on_over: Callable[[SupervisedCommand], None] | None = None,
    ) -> SupervisedCommand:
        argv = _arguments(command, args)
        _check_env(options.env)
        stops = self._stops
        await self.start()
        if stops != self._stops:
            raise SandboxError("the sandbox was stopped while the command started")

        def over(supervised: SupervisedCommand) -> None:
            self._running.discard(supervised)
            if on_over is not None:
                on_over(supervised)

        launched = anyio.Event()
        self._launching.add(launched)
        try:
            supervised = await SupervisedCommand.start(
                lambda: self._order(argv, options),
                options,
                time_limit,
                keep_stdin=isinstance(options, SpawnOptions) and options.keep_stdin,
                on_over=over,
            )
            if stops != self._stops:
                await supervised.ended()
            elif not supervised.over.is_set():
                self._running.add(supervised)
            return supervised
        finally:
            self._launching.discard(launched)
            launched.set()

    def _order(self, argv: Sequence[str], options: ExecuteOptions) -> Order:
        mounts = self._mounts.places()
        self._check_places()
        places = self._places(mounts)
        directory = places.directory(options.cwd or ".")
        surroundings = Surroundings(self._home, mounts, self._extra, self._network)
        given = {"LANG": _LANGUAGE, **{name: os.environ[name] for name in _INHERITED if name in os.environ}}
        return Order(
            argv=[*self._isolation.prefix(surroundings), *argv],
            env={**self._isolation.environment(places, given), **self._env, **options.env},
            directory=None if self._isolation.moves else directory.host,
            wrapper=self._isolation.wrapper(surroundings, directory.inside),
            limits=self._limits.resources(),
            groups=self._control_groups(),
        )

    def _check_places(self) -> None:
        if self._isolation.moves and not all(
            place.stands or not os.path.lexists(place.host) for place in (self._home, *self._extra)
        ):
            raise SandboxError("a link has taken the place of the working directory, or of another path given")

    def _places(self, mounts: Mapping[str, Place]) -> Places:
        linked = {} if self._isolation.moves else {path: f"{self._home.inside}{path}" for path in mounts}
        return Places(self._home, (*mounts.values(), *self._extra), linked)


def _same_paths(where: str, given: object, *, read_only: bool) -> tuple[Place, ...]:
    listed = ARGUMENTS.listed(where, given, "a list of paths")
    paths = [ARGUMENTS.path(f"{where}[{number}]", path) for number, path in enumerate(listed)]
    return tuple(Place(os.path.abspath(path), os.path.realpath(path), read_only) for path in paths)


def _check_apart(places: Sequence[Place]) -> None:
    """That nothing which commands write can put a link where another of the places is bound."""
    for outer, inner in itertools.permutations(places, 2):
        if outer.can_change(inner) or (not outer.read_only and is_below(inner.inside, outer.inside)):
            raise InvalidArgumentError(
                "the working directory and the paths must not lie in each other where commands can write to the outer"
                " one, nor be both writable and read-only"
            )


def _arguments(command: str, args: Sequence[str] | None) -> list[str]:
    """The shell with a command, or with a program to become: one that is missing then reads the same everywhere."""
    if any("\0" in text for text in (command, *(args or ()))):
        raise SandboxError("a command must not contain a NUL character")
    if not command.strip():
        raise SandboxError("the command is empty")
    if args is not None:
        return [_SHELL, "-c", _RUN_PROGRAM, "sh", command, *args]
    return [_BASH if os.path.exists(_BASH) else _SHELL, "-c", command]


def _check_env(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise InvalidArgumentError("a variable needs a name without '=' and a value without NUL", path=name)
        if not is_encodable(name + value):
            raise InvalidArgumentError("a variable must hold no half of a surrogate pair")
