"""The whole suite, as one class to subclass."""

from __future__ import annotations

from moorage_workspace.testing.suite.abilities import Abilities
from moorage_workspace.testing.suite.background import Background
from moorage_workspace.testing.suite.background_endings import BackgroundEndings
from moorage_workspace.testing.suite.commands import Commands
from moorage_workspace.testing.suite.directories import Directories
from moorage_workspace.testing.suite.endings import Endings
from moorage_workspace.testing.suite.environment import Environment
from moorage_workspace.testing.suite.files import Files
from moorage_workspace.testing.suite.life import Life
from moorage_workspace.testing.suite.mounting import Mounting, ReadOnlyMounting
from moorage_workspace.testing.suite.output import OutputOfCommands
from moorage_workspace.testing.suite.walls import Walls


class SandboxConformance(
    Abilities,
    Commands,
    OutputOfCommands,
    Endings,
    Directories,
    Files,
    Environment,
    Background,
    BackgroundEndings,
    ReadOnlyMounting,
    Mounting,
    Walls,
    Life,
):
    """Everything that a sandbox must do. Subclass it, name the class ``Test…``, and give ``make_sandbox``::

        class TestMine(SandboxConformance):
            isolated = True

            def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
                return MySandbox(directory, timeout=timeout)

    Commands need a POSIX shell with the usual small programs. See :class:`SandboxHarness` for what to declare. Where
    an ability is declared missing, the tests check how the sandbox says so instead.
    """
