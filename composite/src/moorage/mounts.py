"""Which mount a path belongs to: a pure value, no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Generic, TypeVar

from moorage.errors import ConfigError
from moorage.paths import PathLike, StoragePath

P = TypeVar("P", bound=PathLike)
T = TypeVar("T")

_ROOT = StoragePath("/")


class MountTable(Generic[T]):
    """Canonical mount paths, each with what is mounted there. The longest mount that contains a path wins, by whole
    segments: ``/data`` never catches ``/database``.

    Raises:
        ConfigError: no mounts; one path twice (however written); one mount inside another without ``nested``.
    """

    def __init__(self, mounts: Mapping[P, T], *, nested: bool = False) -> None:
        found: dict[StoragePath, T] = {}
        written: dict[StoragePath, str] = {}
        for text, mounted in mounts.items():
            path = StoragePath.parse(text)
            if path in found:
                raise ConfigError(f"two mounts at {path}: {written[path]!r} and {str(text)!r}")
            found[path] = mounted
            written[path] = str(text)
        if not found:
            raise ConfigError("no mounts: a tree needs at least one")
        self._mounts = dict(sorted(found.items()))
        if not nested:
            self._refuse_overlap()
        self._by_first: dict[str, list[tuple[str, StoragePath, T]]] = {}
        for path in sorted(self._mounts, key=lambda path: len(path.parts), reverse=True):
            first = path.parts[0] if path.parts else ""
            self._by_first.setdefault(first, []).append((str(path), path, self._mounts[path]))
        self._at_root = self._by_first.pop("", [])
        self._virtual = {above for path in self._mounts for above in path.parents} - set(self._mounts)

    def _refuse_overlap(self) -> None:
        for outer, inner in pairwise(self._mounts):
            if inner.is_within(outer):
                raise ConfigError(
                    f"mounts overlap: {inner} lies inside {outer}; nested=True allows it, the longer one wins"
                )

    def route(self, path: StoragePath) -> tuple[StoragePath, T, StoragePath] | None:
        """The mount of ``path``, what is mounted there, and the path within it; ``None`` outside every mount."""
        text = str(path)
        end = text.find("/", 1)
        for mount_text, mount, mounted in self._by_first.get(text[1:] if end < 0 else text[1:end], ()):
            if text == mount_text:
                return mount, mounted, _ROOT
            if text.startswith(mount_text) and text[len(mount_text)] == "/":
                return mount, mounted, StoragePath.parse(text[len(mount_text) :])
        for _, mount, mounted in self._at_root:
            return mount, mounted, path
        return None

    def unroute(self, mount: StoragePath, inner: StoragePath) -> StoragePath:
        """The tree's path of ``inner`` in ``mount``: the inverse of :meth:`route`."""
        return inner.rebased(_ROOT, mount)

    def is_mount(self, path: StoragePath) -> bool:
        return path in self._mounts

    def is_virtual(self, path: StoragePath) -> bool:
        """Whether ``path`` is an ancestor of a mount and no mount itself."""
        return path in self._virtual

    def is_protected(self, path: StoragePath) -> bool:
        """Whether ``path`` is a mount or an ancestor of one: it cannot be removed, moved or replaced."""
        return path in self._virtual or path in self._mounts

    def is_shadowed(self, path: StoragePath, mount: StoragePath) -> bool:
        """Whether what ``mount`` holds at ``path`` is hidden by a mount inside it."""
        found = self.route(path)
        return found is not None and found[0] != mount

    def children(self, path: StoragePath) -> Iterator[StoragePath]:
        """The mounts and virtual directories directly in ``path``, sorted."""
        for candidate in sorted({*self._mounts, *self._virtual}):
            if not candidate.is_root and candidate.parent == path:
                yield candidate

    def below(self, path: StoragePath) -> Iterator[tuple[StoragePath, T]]:
        """The mounts strictly below ``path``, sorted."""
        return ((mount, mounted) for mount, mounted in self._mounts.items() if mount.is_below(path))

    def hidden(self) -> dict[StoragePath, tuple[StoragePath, ...]]:
        """For each mount that has mounts inside it: the paths, within it, that these hide."""
        inside = {mount: tuple(at.rebased(mount, _ROOT) for at, _ in self.below(mount)) for mount in self._mounts}
        return {mount: paths for mount, paths in inside.items() if paths}

    def virtual_below(self, path: StoragePath) -> Iterator[StoragePath]:
        """The virtual directories strictly below ``path``, sorted."""
        return (above for above in sorted(self._virtual) if above.is_below(path))

    def items(self) -> Iterator[tuple[StoragePath, T]]:
        yield from self._mounts.items()

    def values(self) -> Iterator[T]:
        yield from self._mounts.values()

    def get(self, path: StoragePath) -> T | None:
        return self._mounts.get(path)

    def replaced(self, values: Mapping[StoragePath, T]) -> MountTable[T]:
        """The same mount paths with other values."""
        return MountTable({**self._mounts, **values}, nested=True)
