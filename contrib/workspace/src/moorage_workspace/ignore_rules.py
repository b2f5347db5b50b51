"""The ``.gitignore`` files of a tree: each read when the first entry beside or below it is asked about."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from moorage import Filesystem, MoorageError, StoragePath, TreeFilesystem
from moorage_workspace.ignoring import GITIGNORE, LARGEST, REPOSITORY, IgnoreFile
from moorage_workspace.shown_names import ShownNames
from moorage_workspace.threads import worked

_SHORT: Final = 4 * 1024
"""Bytes that are understood at once; for more there is a thread, so that nothing else waits."""
_REMEMBERED: Final = 10_000
_ROOT: Final = StoragePath("/")

_Chain = tuple[tuple[StoragePath, IgnoreFile], ...]
"""The files that speak of a directory's entries, nearest first, each with its directory."""


class IgnoreRules:
    """What is ignored in a tree. Every mount is a tree of its own: rules reach neither in nor out.

    Rules are held against names as they are shown, since whoever writes the rules must not find out more of them.

    Args:
        enabled: ``False`` ignores nothing but ``.git``.

    Attributes:
        names: what is shown of names.
        mounts: where the trees begin.
    """

    def __init__(self, files: Filesystem, names: ShownNames, *, enabled: bool = True) -> None:
        self._files = files
        self.names = names
        self._enabled = enabled
        self.mounts = mount_paths(files)
        self._chains: dict[StoragePath, _Chain] = {}
        self._known: list[tuple[StoragePath, Container[StoragePath]]] = []

    def know(self, top: StoragePath, present: Container[StoragePath]) -> None:
        """``present`` holds every ``.gitignore`` below ``top``, so that no other need be asked for."""
        self._known.append((top, present))

    async def ignores(self, path: StoragePath, *, is_dir: bool) -> bool:
        """Whether the entry itself is ignored. One in an ignored directory is, too, but the caller never enters it."""
        if path.name == REPOSITORY:
            return True
        if not self._enabled or path in self.mounts:
            return False
        parent = path.parent
        chain = self._chains.get(parent)
        for directory, rules in await self._chain(parent) if chain is None else chain:
            decided = rules.decide(self.names.of_path(relative(path, directory)), is_dir=is_dir)
            if decided is not None:
                return decided
        return False

    async def _chain(self, directory: StoragePath) -> _Chain:
        missing: list[StoragePath] = []
        at = directory
        while at not in self._chains:
            missing.append(at)
            if at in self.mounts or at.is_root:
                break
            at = at.parent
        chain = self._chains.get(at, ())
        if len(self._chains) > _REMEMBERED:
            self._chains.clear()
        for below in reversed(missing):
            own = await self._load(below)
            chain = ((below, own), *chain) if own else chain
            self._chains[below] = chain
        return chain

    async def _load(self, directory: StoragePath) -> IgnoreFile:
        path = directory.child(GITIGNORE)
        for top, present in self._known:
            if directory.is_within(top) and path not in present:
                return IgnoreFile(())
        try:
            content = await self._files.read_bytes(path, 0, LARGEST)
        except MoorageError:
            return IgnoreFile(())
        return await worked(IgnoreFile.parse, content, at_once=len(content) <= _SHORT)


def mount_paths(files: Filesystem) -> frozenset[StoragePath]:
    """Where trees of their own begin."""
    if isinstance(files, TreeFilesystem):
        return frozenset(mount.path for mount in files.mounts())
    return frozenset({_ROOT})


def relative(path: StoragePath, directory: StoragePath) -> str:
    """The path as written from ``directory``, which holds it.

    Raises:
        ValueError: it does not.
    """
    return path.rebased(directory, _ROOT).relative
