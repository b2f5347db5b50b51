"""Which host directory is behind a path as commands see it, links resolved as they would be for a command."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moorage_workspace.errors import SandboxError

_MOST_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class Place:
    """A host directory that commands may use.

    Attributes:
        inside: its path as a command sees it; the host path where nothing is isolated.
        host: its real path.
    """

    inside: str
    host: str
    read_only: bool = False

    @property
    def stands(self) -> bool:
        """It is still a directory, or a file, that no link on the way leads to."""
        return os.path.exists(self.host) and os.path.realpath(self.host) == self.host

    def can_change(self, other: Place) -> bool:
        """Whether commands could, by what they write here, put a link in the other's place or defeat its read-only."""
        if self.read_only:
            return False
        return is_below(other.host, self.host) or (other.host == self.host and other.read_only)

    def lacks_point(self, inner: Place) -> bool:
        """Whether a place that is shown inside this one has no directory there, but nothing or a link: bubblewrap
        would follow it, and make the directory in the storage behind it.
        """
        if not is_below(inner.inside, self.inside):
            return False
        point = os.path.join(self.host, os.path.relpath(inner.inside, self.inside))
        return not os.path.isdir(point) or os.path.realpath(point) != point


@dataclass(frozen=True, slots=True)
class Located:
    """A path in a place, without links up to where nothing exists.

    Attributes:
        names: from the place's root downwards.
    """

    place: Place
    names: tuple[str, ...]

    @property
    def inside(self) -> str:
        return "/".join([self.place.inside.rstrip("/"), *self.names]) or "/"

    @property
    def host(self) -> str:
        return os.path.join(self.place.host, *self.names)


@dataclass(frozen=True, slots=True)
class Places:
    """All that commands may use, and where they start.

    Attributes:
        home: the working directory; relative paths start here.
        aliases: paths that stand for others, e.g. a mount's path in the tree for that of its link.
    """

    home: Place
    others: tuple[Place, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    def locate(self, path: str) -> Located:
        """Where a path leads. What does not exist leads where it would be made.

        Raises:
            SandboxError: it leads out, or is no path.
        """
        if not path or "\0" in path or not is_encodable(path):
            raise SandboxError("a path must have a name, no NUL character and no half of a surrogate pair")
        found = self._find(self._resolved(path))
        if found is None:
            raise SandboxError("the path leads out of the working directory; use one that is relative to it", path=path)
        return found

    def directory(self, path: str) -> Located:
        """The directory a command is to start in.

        Raises:
            SandboxError: it leads out, or there is none.
        """
        found = self.locate(path)
        if not os.path.isdir(found.host):
            raise SandboxError("there is no such directory", path=path)
        return found

    def _resolved(self, path: str) -> list[str]:
        """The names of the absolute path without links."""
        pending = _names(self._absolute(path))
        done: list[str] = []
        links = 0
        while pending:
            name = pending.pop(0)
            if name == "..":
                done = done[:-1]
                continue
            target = self._link([*done, name])
            if target is None:
                done.append(name)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise SandboxError("the path goes round in a circle of links", path=path)
            done = [] if target.startswith("/") else done
            pending = _names(target) + pending
        return done

    def _absolute(self, path: str) -> str:
        if not path.startswith("/"):
            return f"{self.home.inside}/{path}"
        for alias, target in self.aliases.items():
            if path == alias or path.startswith(f"{alias}/"):
                return target + path[len(alias) :]
        return path

    def _find(self, names: list[str]) -> Located | None:
        best: Located | None = None
        for place in (self.home, *self.others):
            root = _names(place.inside)
            if names[: len(root)] == root and (best is None or len(root) > len(_names(best.place.inside))):
                best = Located(place, tuple(names[len(root) :]))
        return best

    def _link(self, names: list[str]) -> str | None:
        found = self._find(names)
        if found is None or not found.names:
            return None
        try:
            return os.readlink(found.host)
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:
                return None
            raise SandboxError(os.strerror(error.errno or 0)) from None


def is_encodable(text: str) -> bool:
    """Whether the system can be given it; a half of a surrogate pair cannot."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def is_below(path: str, other: str) -> bool:
    """Strictly; both are absolute and normal."""
    return path != other and path.startswith(f"{other.rstrip('/')}/")


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in {"", "."}]
