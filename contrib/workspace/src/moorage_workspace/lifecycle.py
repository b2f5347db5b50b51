"""The life of what belongs to a workspace: started together and in order, destroyed in the other order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from moorage import RequestContext
from moorage_workspace.info import WorkspaceStatus
from moorage_workspace.mounting import ShellMounts
from moorage_workspace.sandbox.port import Sandbox
from moorage_workspace.sources import FilesystemSource, SandboxSource


class Lifecycle:
    """Starts and destroys what is static; what a resolver returned is the application's.

    Attributes:
        files, shells: where sessions get theirs from.
        mounts: the tree's mounts in the shell, where there are both.
    """

    def __init__(self, files: FilesystemSource, shells: SandboxSource, mounts: ShellMounts | None) -> None:
        self.files = files
        self.shells = shells
        self.mounts = mounts
        self.status = WorkspaceStatus.PENDING
        self._turn: anyio.Lock | None = None

    async def start(self) -> None:
        """Filesystem, then sandbox, then its mounts. Idempotent; concurrent calls share one start.

        Raises:
            Exception: why one did not start; the next call tries again.
        """
        async with self._lock():
            if self.status is WorkspaceStatus.READY:
                return
            self.status = WorkspaceStatus.INITIALIZING
            try:
                await self._start_all()
            except BaseException as error:
                self.status = WorkspaceStatus.ERROR if isinstance(error, Exception) else WorkspaceStatus.PENDING
                raise
            self.status = WorkspaceStatus.READY

    async def destroy(self, end_sessions: Callable[[], Awaitable[None]]) -> None:
        """Sessions, sandbox, filesystem, caches. No file is deleted. Idempotent.

        Raises:
            ExceptionGroup: the errors of those that failed; all were tried.
        """
        with anyio.CancelScope(shield=True):
            async with self._lock():
                if self.status is not WorkspaceStatus.DESTROYED:
                    await self._destroy_all(end_sessions)

    async def open_sandbox(self, context: RequestContext) -> Sandbox | None:
        """The sandbox of one session, with what it can show of the tree."""
        sandbox = await self.shells.open(context)
        if self.mounts is not None:
            await self.mounts.bind()
        return sandbox

    async def _start_all(self) -> None:
        if self.files.static is not None:
            await self.files.static.init()
        if self.shells.static is not None:
            await self.shells.static.start()
        if self.mounts is not None:
            await self.mounts.bind()

    async def _destroy_all(self, end_sessions: Callable[[], Awaitable[None]]) -> None:
        self.status = WorkspaceStatus.DESTROYING
        steps: list[Callable[[], Awaitable[None]]] = [end_sessions]
        if self.shells.static is not None:
            steps.append(self.shells.static.destroy)
        if self.files.static is not None:
            steps.append(self.files.static.aclose)
        errors: list[Exception] = []
        for step in steps:
            try:
                await step()
            except ExceptionGroup as group:
                errors += group.exceptions
            except Exception as error:
                errors.append(error)
        self.files.forget()
        self.shells.forget()
        if self.mounts is not None:
            self.mounts.reset()
        self.status = WorkspaceStatus.DESTROYED
        self._turn = None
        if errors:
            raise ExceptionGroup("the workspace was destroyed with errors", errors)

    def _lock(self) -> anyio.Lock:
        self._turn = self._turn or anyio.Lock()
        return self._turn
