"""What every part of the suite stands on: what an author gives and declares, and the fixtures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from moorage_workspace import CommandResult, ExecuteOptions, Processes, Sandbox
from moorage_workspace.testing.sleepers import Sleepers, processes_of_this_machine


class SandboxHarness:
    """Subclass :class:`moorage_workspace.testing.SandboxConformance`, not this.

    An author gives :meth:`make_sandbox` and declares what the sandbox can do. A declaration is checked too, so that
    nothing is left untested by a wrong one.
    """

    pytestmark = pytest.mark.anyio

    background: ClassVar[bool] = True
    """It has background processes."""
    mounts: ClassVar[bool] = True
    """Host directories can be mounted."""
    read_only_mounts: ClassVar[bool] = True
    """…and some so that no command can write to them."""
    isolated: ClassVar[bool] = True
    """Commands cannot see the files and processes of this machine."""
    network: ClassVar[bool] = False
    """Commands can use the network."""

    applies_if: ClassVar[str | None] = None
    """The declaration that a topic needs. Without it, none of its tests are collected, rather than skipped."""

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        for topic in cls.__mro__:
            needed = vars(topic).get("applies_if")
            if needed is not None and not getattr(cls, needed):
                for name in [name for name in vars(topic) if name.startswith("test_")]:
                    setattr(cls, name, None)

    def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
        """A new sandbox over an empty host directory, not started. To be given by the author.

        Args:
            timeout: the sandbox's default, in seconds.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no method 'make_sandbox'")

    def shell_path(self, path: str) -> str:
        """How a command names what is mounted at ``path``."""
        return path

    def list_processes(self) -> Mapping[int, str]:
        """The command lines of all processes that may be the sandbox's; by default those of this machine, by pid."""
        return processes_of_this_machine()

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop; override with ``params`` to run on several."""
        return "asyncio"

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        """The working directory, as this machine has it."""
        directory = tmp_path / "work"
        directory.mkdir()
        return directory

    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        """A directory of this machine that commands have no business in."""
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "file").write_text("not yours")
        return outside

    @pytest.fixture
    async def sandbox(self, directory: Path) -> AsyncIterator[Sandbox]:
        """The sandbox under test; whatever a test does, nothing is left of it."""
        sandbox = self.make_sandbox(directory, timeout=120)
        try:
            yield sandbox
        finally:
            await sandbox.destroy()

    @pytest.fixture
    def processes(self, sandbox: Sandbox) -> Processes:
        """The background processes, for tests that only a sandbox with them has."""
        if sandbox.processes is None:
            pytest.fail("background processes are declared, and there are none")
        return sandbox.processes

    @pytest.fixture
    def sleepers(self) -> Iterator[Sleepers]:
        """Commands to start, and whether they still run."""
        sleepers = Sleepers(self.list_processes)
        yield sleepers
        sleepers.end()


async def run(sandbox: Sandbox, command: str, options: ExecuteOptions | None = None) -> str:
    """Standard output of a command that must succeed."""
    result: CommandResult = await sandbox.execute_command(command, options=options)
    assert (result.exit_code, result.stderr) == (0, ""), result
    return result.stdout
