"""How commands are kept apart from the machine they run on."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from moorage import InvalidArgumentError
from moorage_workspace.errors import IsolationUnavailableError
from moorage_workspace.sandbox.places import Place, Places

IsolationName = Literal["none", "bwrap", "seatbelt"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command is to find around it.

    Attributes:
        mounts: by their paths in the tree.
        extra: host directories that keep their path.
    """

    home: Place
    mounts: Mapping[str, Place]
    extra: tuple[Place, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that sets the isolation up and then runs the command.

    Attributes:
        arguments: they reach it through a file, so that nobody inside can read them.
        files: texts to be put at paths inside.
    """

    program: str
    arguments: tuple[str, ...]
    files: Mapping[str, str]


class Isolation(Protocol):
    """One kind of isolation, which works on this machine."""

    @property
    def name(self) -> IsolationName: ...

    @property
    def moves(self) -> bool:
        """Commands see other paths than the host's."""
        ...

    @property
    def holds_read_only(self) -> bool:
        """What is read-only stays so."""
        ...

    @property
    def words(self) -> str:
        """A sentence for a model about what it may expect."""
        ...

    def wrapper(self, surroundings: Surroundings, directory: str) -> Wrapper | None:
        """What to run before the command, which starts in ``directory``."""
        ...

    def prefix(self, surroundings: Surroundings) -> Sequence[str]:
        """What to put before the command's own arguments."""
        ...

    def environment(self, places: Places, given: Mapping[str, str]) -> dict[str, str]:
        """PATH, HOME and LANG as a command gets them, of those that this process has."""
        ...


class Unsandboxed:
    """None: commands can do whatever this process can."""

    name: IsolationName = "none"
    moves = False
    holds_read_only = False
    words = "Commands run unsandboxed: they can read and change whatever the user that runs them can."

    def wrapper(self, surroundings: Surroundings, directory: str) -> Wrapper | None:
        return None

    def prefix(self, surroundings: Surroundings) -> Sequence[str]:
        return ()

    def environment(self, places: Places, given: Mapping[str, str]) -> dict[str, str]:
        return dict(given)


def find_isolation(name: IsolationName) -> Isolation:
    """The isolation of that name, once it was seen to work.

    Raises:
        IsolationUnavailableError: it does not work on this machine.
        InvalidArgumentError: there is none of that name.
    """
    if name not in get_args(IsolationName):
        raise InvalidArgumentError(f"isolation must be one of {', '.join(get_args(IsolationName))}, not {name!r}")
    if name == "none":
        return Unsandboxed()
    if name == "bwrap":
        from moorage_workspace.sandbox.bwrap import find_bwrap

        return find_bwrap()
    from moorage_workspace.sandbox.seatbelt import find_seatbelt

    return find_seatbelt()


def detect_isolation() -> IsolationName:
    """The best isolation that really works on this machine: each is tried, once a process."""
    for name in ("seatbelt", "bwrap") if sys.platform == "darwin" else ("bwrap",):
        try:
            return find_isolation(name).name
        except IsolationUnavailableError:
            continue
    return "none"
