"""The user's class over a router: one tree of many filesystems."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from moorage.errors import ConfigError
from moorage.filesystem import Filesystem, Instructions
from moorage.models import FilesystemInfo, Labels, MountPoint
from moorage.mounted import ChosenMount, FixedMount, Mount
from moorage.mounts import MountTable
from moorage.paths import PathLike, StoragePath
from moorage.provider import Provider
from moorage.resolve import LeasingResolver, PerRequest, RequestContext, Resolver
from moorage.router import MountRouter

Mountable = Filesystem | Provider | Resolver | LeasingResolver
"""What may stand at a mount point."""

P = TypeVar("P", bound=PathLike)


class TreeFilesystem(Filesystem):
    """A filesystem over a router: one request's tree, and what a composite is itself."""

    def __init__(self, router: MountRouter, *, labels: Labels, instructions: Instructions | None) -> None:
        super().__init__(router, labels=labels, instructions=instructions)
        self._router = router

    def mounts(self) -> tuple[MountPoint, ...]:
        """Every mount with its provider, labels and status, sorted by path. No I/O."""
        return self._router.mount_points()

    def info(self) -> FilesystemInfo:
        mounts = self.mounts()
        return FilesystemInfo(
            provider=self._router.scheme,
            read_only=all(mount.read_only for mount in mounts),
            status=self.lifecycle.status,
            labels=self.labels,
            mounts=mounts,
        )

    def _default_instructions(self) -> str:
        lines = ["Files are in one tree; each directory below is a storage of its own:"]
        for mount in self.mounts():
            name = mount.labels.display_name or mount.provider
            access = "read-only" if mount.read_only else "read-write"
            described = f" - {mount.labels.description}" if mount.labels.description else ""
            lines.append(f"- {mount.path}: {name} ({mount.provider}, {access}, {mount.status}){described}")
        return "\n".join(lines)


class CompositeFilesystem(TreeFilesystem):
    """Filesystems mounted into one tree, each at its path.

    Args:
        mounts: mount path to a filesystem, a provider, or a resolver: a function of the request's context that returns
            a filesystem, or a :class:`moorage.TenantCache` of one. Resolved mounts need :meth:`resolve`.
        nested: allow a mount inside another; the longer path wins and hides what the outer one has there.

    Mounts start together when the tree opens. One that fails is reported with its error in listings and ``info()``,
    is tried again when it is touched, and takes no other down.

    Raises:
        ConfigError: no mounts, a duplicate, or an overlap without ``nested``.
    """

    def __init__(
        self,
        mounts: Mapping[P, Mountable],
        *,
        nested: bool = False,
        labels: Labels = Labels(),  # noqa: B008 (frozen)
        instructions: Instructions | None = None,
    ) -> None:
        self._table = MountTable[Filesystem | LeasingResolver](
            {path: _mountable(path, value) for path, value in mounts.items()},
            nested=nested,
        )
        self._nested = nested
        fresh = {path: _mount(mounted) for path, mounted in self._table.items()}
        super().__init__(MountRouter(MountTable(fresh, nested=True)), labels=labels, instructions=instructions)

    def with_mount(self, path: PathLike, mounted: Mountable) -> CompositeFilesystem:
        """A new tree over the same filesystems and one more; this one stays as it is.

        Raises:
            ConfigError: something is mounted there already, or the mounts would overlap without ``nested``.
        """
        at = StoragePath.parse(path)
        if self._table.is_mount(at):
            raise ConfigError(f"something is mounted at {at} already; without_mount takes it away")
        return self._changed({**dict(self._table.items()), at: _mountable(path, mounted)})

    def without_mount(self, path: PathLike) -> CompositeFilesystem:
        """A new tree over the same filesystems but one; this one stays as it is.

        Raises:
            ConfigError: nothing is mounted there, or it is the last mount.
        """
        mounts: dict[StoragePath, Mountable] = dict(self._table.items())
        if mounts.pop(StoragePath.parse(path), None) is None:
            raise ConfigError(f"nothing is mounted at {path}; mounts: {', '.join(str(mount) for mount in mounts)}")
        return self._changed(mounts)

    def _changed(self, mounts: Mapping[StoragePath, Mountable]) -> CompositeFilesystem:
        return CompositeFilesystem(
            mounts,
            nested=self._nested,
            labels=self.labels,
            instructions=self._instructions,
        )

    @asynccontextmanager
    async def resolve(self, context: RequestContext | Mapping[str, object]) -> AsyncGenerator[Filesystem]:
        """The tree of one request.

        Each resolver runs at most once, when its mount is first touched; what it returned is released when the block
        ends. Fixed mounts are this tree's own and stay open.
        """
        request = context if isinstance(context, RequestContext) else RequestContext(context)
        tree = TreeFilesystem(self._router.bound(request), labels=self.labels, instructions=self._instructions)
        try:
            yield tree
        finally:
            await tree.aclose()


def _mountable(path: PathLike, value: object) -> Filesystem | LeasingResolver:
    if isinstance(value, Filesystem | LeasingResolver):
        return value
    if isinstance(value, Provider):
        return Filesystem(value)
    if callable(value):
        return PerRequest(cast("Resolver", value))
    raise ConfigError(f"cannot mount {type(value).__name__} at {path}: give a Filesystem, a Provider or a resolver")


def _mount(mounted: Filesystem | LeasingResolver) -> Mount:
    return FixedMount(mounted) if isinstance(mounted, Filesystem) else ChosenMount(mounted)
