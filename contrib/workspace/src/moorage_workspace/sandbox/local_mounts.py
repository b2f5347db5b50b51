"""Directories of the tree in the local sandbox: bound into the isolation, or linked below the working directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from moorage import StoragePath
from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.files import open_directory
from moorage_workspace.sandbox.places import Place, Places
from moorage_workspace.sandbox.port import MountState, SandboxMount

_GONE: Final = "its directory is not there"
_OWN: Final = "this path belongs to the sandbox itself; mount it elsewhere"
_NO_POINT: Final = "what is mounted around it has no directory at this place, or a link; make a directory there"
_LINKED: Final = "a link now leads to its directory"
_CHANGEABLE: Final = (
    "its directory and another of the sandbox lie in each other or are the same, and commands could change the one"
    " through the other; use directories apart from each other"
)
_TAKEN: Final = "something else is at this path in the working directory; move it away"
_NOT_HELD: Final = "without isolation nothing keeps commands from writing to it; use the file tools, or an isolation"


class LocalMounts:
    """What is mounted, by its path in the tree. Every method but :meth:`all` and :meth:`sources` does file I/O.

    Args:
        home: the working directory.
        extra: host directories that keep their path.
        owned: paths inside that are no mount's; ``None`` where mounts are links.
    """

    def __init__(
        self, home: Place, extra: tuple[Place, ...], *, owned: Callable[[str], bool] | None, holds_read_only: bool
    ) -> None:
        self._home = home
        self._extra = extra
        self._owned = owned
        self._holds_read_only = holds_read_only
        self._mounts: dict[str, SandboxMount] = {}
        self._linked: dict[str, str] = {}

    def add(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        """Mount it; its state tells whether that came to something.

        Raises:
            InvalidPathError: ``path`` is none.
            SandboxError: something is mounted there already.
        """
        path = str(StoragePath.parse(path))
        if path in self._mounts:
            raise SandboxError("something is mounted there already", path=path)
        mount = SandboxMount(path, os.path.realpath(source), read_only)
        state, message = self._bind(mount) if self._owned is not None else self._link(mount)
        self._mounts[path] = replace(mount, state=state, message=message)
        return self._mounts[path]

    def remove(self, path: str) -> None:
        """Raises: SandboxError where nothing is mounted there."""
        path = str(StoragePath.parse(path))
        if self._mounts.pop(path, None) is None:
            raise SandboxError("nothing is mounted there", path=path)
        self._unlink(path)

    def clear(self) -> None:
        for path in list(self._mounts):
            self.remove(path)

    def all(self) -> tuple[SandboxMount, ...]:
        return tuple(self._mounts.values())

    def sources(self) -> Mapping[str, str]:
        """Host directory to path, of all that commands can reach."""
        return {mount.source: path for path, mount in self._mounts.items() if mount.source and _mounted(mount)}

    def places(self) -> Mapping[str, Place]:
        """What commands can reach now. A directory that has vanished, or come back, changes its mount's state, and so
        does a link in its place.
        """
        for path, mount in self._mounts.items():
            there = os.path.isdir(mount.source or "")
            if self._owned is not None:
                state, message = self._bind(mount)
                self._mounts[path] = replace(mount, state=state, message=message)
            elif _mounted(mount) and not there:
                self._mounts[path] = replace(mount, state=MountState.UNAVAILABLE, message=_GONE)
            elif mount.message == _GONE and there:
                state, message = self._link(mount)
                self._mounts[path] = replace(mount, state=state, message=message)
        return {path: self._place(mount) for path, mount in self._mounts.items() if _mounted(mount)}

    def _place(self, mount: SandboxMount) -> Place:
        source = mount.source or ""
        return Place(mount.path if self._owned is not None else source, source, mount.read_only)

    def _bind(self, mount: SandboxMount) -> tuple[MountState, str]:
        assert self._owned is not None  # noqa: S101 (bound, not linked)
        if self._owned(mount.path):
            return MountState.UNSUPPORTED, _OWN
        place = self._place(mount)
        if not os.path.isdir(place.host):
            return MountState.UNAVAILABLE, _GONE
        if not place.stands:
            return MountState.UNAVAILABLE, _LINKED
        others = [self._place(other) for other in self._mounts.values() if _mounted(other) and other.path != mount.path]
        fixed = (self._home, *self._extra)
        if any(place.can_change(other) or other.can_change(place) for other in (*fixed, *others)):
            return MountState.UNAVAILABLE, _CHANGEABLE
        # Of two that are mounted already, the inner one goes.
        inner = [] if _mounted(mount) else others
        if any(map(place.lacks_point, inner)) or any(other.lacks_point(place) for other in (*fixed, *others)):
            return MountState.UNAVAILABLE, _NO_POINT
        return MountState.MOUNTED, ""

    def _link(self, mount: SandboxMount) -> tuple[MountState, str]:
        source = mount.source or ""
        if mount.read_only and not self._holds_read_only:
            return MountState.UNSUPPORTED, _NOT_HELD
        if not os.path.isdir(source):
            return MountState.UNAVAILABLE, _GONE
        point = f"{self._home.host}{mount.path}"
        if os.path.lexists(point):
            same = os.path.realpath(point) == source
            return (MountState.MOUNTED, "") if same else (MountState.ERROR, _TAKEN)
        try:
            self._make_link(mount.path, source)
        except (OSError, SandboxError):
            return MountState.ERROR, _TAKEN
        return MountState.MOUNTED, ""

    def _make_link(self, path: str, source: str) -> None:
        os.makedirs(self._home.host, exist_ok=True)
        above, _, name = path.rpartition("/")
        directory = open_directory(Places(self._home).locate(f".{above}"))
        try:
            os.symlink(source, name, dir_fd=directory)
        finally:
            os.close(directory)
        self._linked[path] = source

    def _unlink(self, path: str) -> None:
        source = self._linked.pop(path, None)
        point = f"{self._home.host}{path}"
        with suppress(OSError):
            if source is not None and os.readlink(point) == source:
                os.unlink(point)


def _mounted(mount: SandboxMount) -> bool:
    return mount.state is MountState.MOUNTED
