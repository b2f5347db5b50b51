"""A sandbox in a container, over the command line of podman or docker."""

from __future__ import annotations

import math
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, get_args

import anyio
from pydantic import SecretStr

from moorage import Instructions, InvalidArgumentError
from moorage_workspace.checks import ARGUMENTS
from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.container_arguments import Bind, ContainerSettings, write_arguments
from moorage_workspace.sandbox.container_life import Container
from moorage_workspace.sandbox.container_processes import ContainerProcesses
from moorage_workspace.sandbox.container_program import ProgramName, find_program
from moorage_workspace.sandbox.container_run import ContainerRun, Job
from moorage_workspace.sandbox.given import (
    checked_command,
    checked_files,
    checked_instructions,
    checked_limits,
    plain_variables,
)
from moorage_workspace.sandbox.limits import SandboxLimits
from moorage_workspace.sandbox.port import (
    CommandResult,
    ExecuteOptions,
    MountState,
    Sandbox,
    SandboxInfo,
    SandboxMount,
    SandboxStatus,
    SpawnOptions,
)

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN: Final = ("/proc", "/sys", "/dev")
_OUTSIDE: Final = 4
_LONGEST: Final = 120_000
"""Bytes of one argument; Linux takes 131,072."""


class ContainerSandbox(Sandbox):
    """Runs commands in one container, which starts at the first of them and ends with this process at the latest.

    Commands see the image (read-only), an own ``/tmp`` in memory, the working directory and the mounts; they have no
    capabilities, no way to gain any, and no network unless it is asked for. Whatever a command started ends with it,
    however it was started; only a process that carries the mark of another one that still runs lives as long as that.

    Args:
        image: must have a POSIX shell at ``/bin/sh``, and ``cat``, ``mkdir``, ``mv`` and ``rm``.
        working_directory: of this machine; commands may write to it unless ``read_only``.
        directory: where commands find it.
        program: ``None`` takes podman or docker, whichever works.
        env: given to every command, beside the image's own.
        timeout: seconds, for commands that name none.
        network: commands reach what this machine reaches.
        user: ``"uid:gid"`` in the container; by default whoever owns the files that this process makes.
        instructions: in place of the text for models, or a function of that text and the context.

    Raises:
        IsolationUnavailableError: no container program works here.
        InvalidArgumentError: an option cannot be.
    """

    provider: ClassVar[str] = "container"

    def __init__(
        self,
        image: str,
        working_directory: str | os.PathLike[str],
        *,
        program: ProgramName | None = None,
        directory: str = "/workspace",
        read_only: bool = False,
        env: Mapping[str, str | SecretStr] | None = None,
        timeout: float = 30.0,
        network: bool = False,
        limits: SandboxLimits | None = None,
        user: str | None = None,
        instructions: Instructions | None = None,
    ) -> None:
        if program is not None:
            ARGUMENTS.known(program, get_args(ProgramName), "program")
        self._image = ARGUMENTS.text("image", image)
        self._source = _absolute(ARGUMENTS.path("working_directory", working_directory))
        self._timeout = ARGUMENTS.seconds("timeout", timeout, zero=True)
        self._read_only = ARGUMENTS.flag("read_only", read_only)
        self._network = ARGUMENTS.flag("network", network)
        self._limits = checked_limits(limits)
        self._instructions = checked_instructions(instructions)
        ARGUMENTS.text("directory", directory)
        if not _is_mountable(directory) or image.startswith("-"):
            raise InvalidArgumentError("the directory must be an absolute path of the container, and the image a name")
        self._directory = posixpath.normpath(directory)
        self._env: dict[str, str] = {}
        self._secrets: tuple[str, ...] = ()
        self._mounts: dict[str, SandboxMount] = {}
        self._container: Container | None = None
        self._bound: tuple[Bind, ...] = ()
        self._active: set[ContainerRun] = set()
        self._changing = anyio.Lock()
        self._background = ContainerProcesses(self._prepared)
        self.status = SandboxStatus.PENDING
        self._take_env({} if env is None else env)
        given_user = None if user is None else ARGUMENTS.text("user", user)
        self._program = find_program(program)
        self._user = given_user or _user(self._program.name)

    async def start(self) -> None:
        await self._running()

    async def stop(self) -> None:
        async with self._changing:
            await self._end()
            if self.status is not SandboxStatus.DESTROYED:
                self.status = SandboxStatus.STOPPED

    async def destroy(self) -> None:
        async with self._changing:
            await self._end()
            self.status = SandboxStatus.DESTROYED

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        options = checked_command(command, args, options, ExecuteOptions)
        return await (await self._prepared(command, args, options)).run()

    @property
    def processes(self) -> ContainerProcesses:
        return self._background

    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        """Make a host directory visible. What a container sees is fixed, so the next command gets a new one: at once
        when nothing runs, else (the mount is ``PENDING`` until then) as soon as nothing does.

        Raises:
            SandboxError: something is mounted there already.
        """
        async with self._changing:
            target, source = posixpath.normpath(path), _absolute(source)
            if target in self._mounts:
                raise SandboxError("something is mounted there already", path=path)
            state, message = MountState.MOUNTED, ""
            if not _is_mountable(path) or _within(self._directory, target):
                state, message = MountState.UNSUPPORTED, "this path belongs to the sandbox itself; mount it elsewhere"
            elif not await anyio.Path(source).is_dir():
                state, message = MountState.UNAVAILABLE, "its directory is not there"
            self._mounts[target] = SandboxMount(target, source, read_only, state, message)
            return self._shown(self._mounts[target])

    async def unmount(self, path: str) -> None:
        """Raises: SandboxError where nothing is mounted there."""
        async with self._changing:
            if self._mounts.pop(posixpath.normpath(path), None) is None:
                raise SandboxError("nothing is mounted there", path=path)

    @property
    def mounts(self) -> tuple[SandboxMount, ...]:
        return tuple(self._shown(mount) for mount in self._mounts.values())

    async def write_files(self, files: Mapping[str, bytes]) -> None:
        """By a process in the container, so that no link can lead to this machine's own files."""
        checked_files(files)
        container = await self._running()
        for path, data in files.items():
            root, parts = self._within_root(path)
            arguments = write_arguments(container.name, root, parts[:-1], parts[-1])
            answer = await self._program.call(arguments, stdin=data)
            if answer.code == _OUTSIDE:
                raise SandboxError("the path leads out of the workspace", path=path)
            if answer.code != 0:
                raise SandboxError("the file cannot be written", path=path)

    def set_env(self, values: Mapping[str, str | SecretStr]) -> None:
        self._take_env(values)

    def get_info(self) -> SandboxInfo:
        return SandboxInfo(
            provider=self.provider,
            status=self.status,
            isolation=self._program.name,
            working_directory=self._directory,
            network=self._network,
            processes=self._background.running,
            mounts=self.mounts,
        )

    def get_instructions(self, context: Mapping[str, object] | None = None) -> str:
        writing = "read-only" if self._read_only else "kept"
        mounts = "".join(
            f" {mount.path} is {'read-only' if mount.read_only else 'writable'}." for mount in self._mounts.values()
        )
        default = (
            f"Commands run in a container ({self._program.name}, image {self._image}), in {self._directory}, whose "
            f"files are {writing}.{mounts} /tmp is writable, in memory and not kept; everything else is read-only. "
            f"Network: {'yes' if self._network else 'none'}. Time limit of a command: {self._timeout:g} s unless it "
            "gives one."
        )
        if callable(self._instructions):
            return self._instructions(default, context or {})
        return default if self._instructions is None else self._instructions

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._secrets

    @property
    def host_paths(self) -> Mapping[str, str]:
        named = {mount.source: mount.path for mount in self._mounts.values() if mount.source is not None}
        return {**named, self._source: self._directory}

    async def _running(self) -> Container:
        """The container, started if there is none, or if it has ended by itself."""
        async with self._changing:
            if self.status is SandboxStatus.DESTROYED:
                raise SandboxError("the sandbox was destroyed")
            if self._container is not None and self._container.alive and (self._active or self._bound == self._binds()):
                return self._container
            await self._end()
            self.status = SandboxStatus.STARTING
            self._bound = self._binds()
            try:
                self._container = await Container.start(self._program, self._settings())
            except BaseException:
                self.status = SandboxStatus.ERROR
                raise
            self.status = SandboxStatus.RUNNING
            return self._container

    async def _end(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            await container.remove()
            await self._background.end_all()

    async def _prepared(self, command: str, args: Sequence[str] | None, options: ExecuteOptions) -> ContainerRun:
        if not command.strip():
            raise SandboxError("the command is empty")
        program = ("/bin/sh", "-c", command) if args is None else (command, *args)
        directory = posixpath.join(self._directory, options.cwd or ".")
        variables = {**self._env, **_checked(options.env)}
        for text in (*program, directory, *variables.values()):
            _check_argument(text)
        timeout = options.timeout
        if timeout is None:
            timeout = math.inf if isinstance(options, SpawnOptions) else self._timeout
        job = Job(
            program=program,
            directory=directory,
            roots=self._roots(),
            variables=variables,
            timeout=timeout or math.inf,
            options=options,
            keep_stdin=isinstance(options, SpawnOptions) and options.keep_stdin,
        )
        run = ContainerRun(await self._running(), job, self._active.discard)
        self._active.add(run)
        return run

    def _binds(self) -> tuple[Bind, ...]:
        mounted = [mount for mount in self._mounts.values() if mount.state is MountState.MOUNTED and mount.source]
        binds = [Bind(mount.source or "", mount.path, mount.read_only) for mount in mounted]
        return (Bind(self._source, self._directory, self._read_only), *binds)

    def _roots(self) -> tuple[str, ...]:
        return tuple(bind.target for bind in self._binds())

    def _shown(self, mount: SandboxMount) -> SandboxMount:
        """As commands see it now."""
        waits = self._active and mount.path not in {bind.target for bind in self._bound}
        if mount.state is not MountState.MOUNTED or not waits:
            return mount
        return replace(mount, state=MountState.PENDING, message="visible once what runs now has ended")

    def _settings(self) -> ContainerSettings:
        return ContainerSettings(
            image=self._image,
            home=self._directory,
            binds=self._bound,
            network=self._network,
            user=self._user,
            limits=self._limits,
        )

    def _take_env(self, values: Mapping[str, str | SecretStr]) -> None:
        self._env |= _checked(values)
        hidden = [value.get_secret_value() for value in values.values() if isinstance(value, SecretStr)]
        self._secrets = (*self._secrets, *hidden)

    def _within_root(self, path: str) -> tuple[str, list[str]]:
        """The root that a path lies in, and its segments below it."""
        _check_argument(path)
        whole = posixpath.join(self._directory, path)
        parts = [part for part in whole.split("/") if part not in {"", "."}]
        plain = "/" + "/".join(parts)
        roots = [root for root in self._roots() if _within(plain, root) and plain != root]
        if ".." in parts or not roots:
            raise SandboxError("the path leads out of the workspace", path=path)
        root = max(roots, key=len)
        return root, parts[len(root.split("/")) - 1 :]


def _within(path: str, ancestor: str) -> bool:
    return path == ancestor or path.startswith(f"{ancestor}/")


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)


def _is_mountable(path: str) -> bool:
    target = posixpath.normpath(path)
    plain = target.startswith("/") and not target.startswith("//") and target != "/" and not set(target) & set("\0\n")
    return plain and not any(_within(target, taken) for taken in _TAKEN)


def _checked(values: Mapping[str, str | SecretStr]) -> dict[str, str]:
    plain = plain_variables(values)
    for name in plain:
        if _VARIABLE.fullmatch(name) is None:
            raise InvalidArgumentError(f"{name!r} is no name of a variable")
    return plain


def _check_argument(text: str) -> None:
    """What cannot be an argument of a program at all is refused before anything starts."""
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise SandboxError("the command, its directory or a variable is no text that UTF-8 can express") from None
    if "\0" in text:
        raise SandboxError("the command, its directory or a variable contains a NUL character")
    if length > _LONGEST:
        raise SandboxError("the command is too long for this system; write it to a file, and run that")


def _user(program: ProgramName) -> str:
    """Whoever owns what this process makes: without its capabilities, not even root may write to another's files."""
    if program == "podman" and os.getuid() != 0:
        return "0:0"  # which is this user, outside
    return f"{os.getuid()}:{os.getgid()}"
