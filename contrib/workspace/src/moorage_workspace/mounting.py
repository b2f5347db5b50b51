"""Mounts of the tree in the shell: which of them a sandbox can show, and why not the others."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from moorage import Filesystem, MoorageError, Prefix, Provider, ReadOnly, StoragePath, Tracing
from moorage_workspace.errors import SandboxUnsupportedError
from moorage_workspace.once import Once
from moorage_workspace.sandbox.port import MountState, Sandbox, SandboxMount

if TYPE_CHECKING:
    from moorage_workspace.workspace import Workspace

_log: Final = logging.getLogger("moorage.workspace")
_ROOT: Final = StoragePath("/")


@dataclass(frozen=True, slots=True)
class MountRequest:
    """What an application's ``on_mount`` is asked about.

    Attributes:
        path: where the tools see it, and the shell would.
        read_only: nothing may be written through it.
    """

    path: str
    filesystem: Filesystem
    read_only: bool
    sandbox: Sandbox
    workspace: Workspace


OnMount = Callable[[MountRequest], Awaitable[object] | object]
"""``False``: the shell is not to see it. ``{"success": bool, "error": str}``: the application mounted it itself, or
tried to. ``None`` or ``True``: go on as without the function. Anything else, and an error, which is logged: the shell
does not see it."""


class ShellMounts:
    """The mounts of a workspace's tree in its one sandbox.

    Attributes:
        states: of each mount, sorted by path.
    """

    def __init__(
        self,
        mounted: Mapping[StoragePath, Filesystem | None],
        sandbox: Sandbox,
        on_mount: OnMount | None,
        workspace: Workspace,
    ) -> None:
        self._mounted = dict(sorted(mounted.items()))
        self._sandbox = sandbox
        self._on_mount = on_mount
        self._workspace = workspace
        self._bound = Once[None]()
        self._states: dict[StoragePath, SandboxMount] = {}
        self.reset()

    @property
    def states(self) -> tuple[SandboxMount, ...]:
        return tuple(self._states.values())

    def reset(self) -> None:
        """Bind again at the next :meth:`bind`."""
        self._bound.reset()
        for path, filesystem in self._mounted.items():
            read_only = filesystem is not None and filesystem.info().read_only
            self._states[path] = SandboxMount(str(path), None, read_only)

    async def bind(self) -> None:
        """Once, and before the first command: show each mount in the shell, or say why not. Never raises for a mount
        that fails.
        """
        await self._bound.get(self._bind_all)

    async def _bind_all(self) -> None:
        for path, filesystem in self._mounted.items():
            self._states[path] = replace(self._states[path], state=MountState.MOUNTING)
            self._states[path] = await self._bind(path, filesystem)

    async def _bind(self, path: StoragePath, filesystem: Filesystem | None) -> SandboxMount:
        mount = self._states[path]
        if filesystem is None:
            return _ended(mount, MountState.UNAVAILABLE, "it is chosen for each request")
        try:
            answer = await self._asked(path, filesystem)
        except Exception as error:
            _log.exception("on_mount failed for %s", path)
            return _ended(mount, MountState.ERROR, f"the application's on_mount failed ({type(error).__name__})")
        if answer is not None and answer is not True:
            return _by_application(mount, answer)
        try:
            return await self._bind_native(path, filesystem, mount)
        except SandboxUnsupportedError as error:
            return _ended(mount, MountState.UNSUPPORTED, error.message)
        except MoorageError as error:
            return _ended(mount, MountState.ERROR, error.message)
        except Exception as error:
            _log.exception("%s could not be mounted in the shell", path)
            return _ended(mount, MountState.ERROR, f"it could not be mounted ({type(error).__name__})")

    async def _asked(self, path: StoragePath, filesystem: Filesystem) -> object:
        if self._on_mount is None:
            return None
        read_only = filesystem.info().read_only
        answer = self._on_mount(MountRequest(str(path), filesystem, read_only, self._sandbox, self._workspace))
        return await answer if inspect.isawaitable(answer) else answer

    async def _bind_native(self, path: StoragePath, filesystem: Filesystem, mount: SandboxMount) -> SandboxMount:
        if path.is_root:
            return _ended(mount, MountState.UNSUPPORTED, "the shell has a root of its own")
        if any(other.is_below(path) for other in self._mounted):
            return _ended(mount, MountState.UNAVAILABLE, "the shell could look behind the mounts inside it")
        source, read_only = await native_path(filesystem)
        if source is None:
            return _ended(mount, MountState.UNAVAILABLE, "it is not on this machine, and FUSE mounts are not installed")
        for there in self._sandbox.mounts:
            if (there.path, there.source, there.read_only) == (mount.path, source, read_only):
                return there
        if not read_only and self._sandbox.host_paths.get(source) == mount.path:
            return replace(mount, source=source, state=MountState.MOUNTED)  # what the shell shows there anyway
        return await self._sandbox.mount(mount.path, source, read_only=read_only)


def _ended(mount: SandboxMount, state: MountState, message: str) -> SandboxMount:
    return replace(mount, state=state, message=message)


def _by_application(mount: SandboxMount, answer: object) -> SandboxMount:
    """What the application decided. Anything unclear keeps the mount out: it may have been meant as a no."""
    if answer is False:
        return _ended(mount, MountState.UNAVAILABLE, "the application keeps it out of the shell")
    given = cast("Mapping[str, object]", answer) if isinstance(answer, Mapping) else dict[str, object]()
    if not isinstance(given.get("success"), bool):
        _log.error("on_mount gave no answer that it can give for %s: see OnMount", mount.path)
    if given.get("success") is True:
        return _ended(mount, MountState.MOUNTED, "")
    return _ended(mount, MountState.ERROR, str(given.get("error", "the application could not mount it")))


async def native_path(filesystem: Filesystem) -> tuple[str | None, bool]:
    """The host directory that may be bound into a sandbox, and whether it must be bound read-only there.

    ``None`` where there is none, or where what a wrapper restricts would not hold through it. Only read-only is a
    restriction that a bind can keep.

    Raises:
        MoorageError: why the filesystem cannot be opened.
    """
    await filesystem.capabilities("/")
    return await _native(filesystem.provider, _ROOT)


async def _native(provider: Provider, path: StoragePath) -> tuple[str | None, bool]:
    can = await provider.capabilities(path)
    if can.native_path is not None:
        return can.native_path, not can.writable
    # Exactly these: a wrapper that is derived from one of them may restrict more.
    if type(provider) is ReadOnly:
        return (await _native(provider.inner, path))[0], True
    if type(provider) is Tracing:
        return await _native(provider.inner, path)
    if type(provider) is Prefix:
        return await _native(provider.inner, path.rebased(_ROOT, provider.prefix))
    return None, False
