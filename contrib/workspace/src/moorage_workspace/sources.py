"""Where a request's filesystem and sandbox come from: one for all requests, or chosen for each by the application."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar, cast

from moorage import (
    CompositeFilesystem,
    ConfigError,
    Filesystem,
    InvalidArgumentError,
    LeasingResolver,
    Mountable,
    PathLike,
    Provider,
    RequestContext,
    Resolver,
    StoragePath,
)
from moorage_workspace.checks import ARGUMENTS, OPTIONS
from moorage_workspace.once import ByContext, Once
from moorage_workspace.sandbox.port import Sandbox

SandboxResolver = Callable[[RequestContext], Sandbox | Awaitable[Sandbox]]
"""Chooses the sandbox of one request. It stays the application's: it is never started, stopped or destroyed here."""

CacheKey = Callable[[RequestContext], str | None]

T = TypeVar("T")


class FilesystemSource:
    """The filesystem of each session.

    Attributes:
        static: the one for all requests; a tree whose mounts may still be chosen per request; else ``None``.
        mounted: of a tree: its mounts, ``None`` for one that is chosen per request.
    """

    def __init__(
        self,
        filesystem: Mountable | None,
        mounts: Mapping[PathLike, Mountable] | None,
        *,
        nested: bool,
    ) -> None:
        if filesystem is not None and mounts is not None:
            raise ConfigError("give a filesystem or mounts, not both")
        if OPTIONS.flag("nested_mounts", nested) and mounts is None:
            raise ConfigError("nested_mounts is about mounts: give those, or leave it out")
        self.static: Filesystem | None = None
        self.mounted: Mapping[StoragePath, Filesystem | None] = {}
        self._tree: CompositeFilesystem | None = None
        self._resolver: Resolver | LeasingResolver | None = None
        self._chosen = ByContext[Once[Filesystem]](lambda _: Once())
        if mounts is not None:
            given: Mapping[PathLike, Mountable] = OPTIONS.mapping("mounts", mounts, "a mapping of paths to filesystems")
            self._mount({path: _opened(path, value) for path, value in given.items()}, nested=nested)
        elif isinstance(filesystem, Filesystem | Provider):
            self.static = filesystem if isinstance(filesystem, Filesystem) else Filesystem(filesystem)
        elif filesystem is not None:
            if isinstance(filesystem, Mapping):
                raise ConfigError("filesystem must be one filesystem; a mapping of paths to several is mounts")
            self._resolver = _resolver("filesystem", filesystem)

    def _mount(self, mounts: Mapping[PathLike, Filesystem | Resolver | LeasingResolver], *, nested: bool) -> None:
        self.static = tree = CompositeFilesystem(mounts, nested=nested)
        self.mounted = {
            StoragePath.parse(path): value if isinstance(value, Filesystem) else None for path, value in mounts.items()
        }
        self._tree = tree if None in self.mounted.values() else None

    @property
    def configured(self) -> bool:
        return self.static is not None or self._resolver is not None

    async def open(self, context: RequestContext, stack: AsyncExitStack) -> Filesystem | None:
        """The filesystem of one session; what was leased for it is given back by ``stack``.

        A plain resolver runs once a context object, and again only after it failed.
        """
        if self._tree is not None:
            # A copy: the tree holds its context, and must not keep alive the one that it is found by.
            return await stack.enter_async_context(self._tree.resolve(RequestContext(context)))
        if self._resolver is None:
            return self.static
        if isinstance(self._resolver, LeasingResolver):
            leased = await self._resolver.acquire(context)
            stack.push_async_callback(self._resolver.release, leased)
            return leased
        return await self._chosen.get(context).get(partial(_called, self._resolver, context, Filesystem))

    def forget(self) -> None:
        """Drop what resolvers returned; none of it is closed."""
        self._chosen.clear()


class SandboxSource:
    """The sandbox of each session.

    Attributes:
        static: the one for all requests, else ``None``.
    """

    def __init__(self, sandbox: Sandbox | SandboxResolver | None, cache_key: CacheKey | None) -> None:
        self.static = sandbox if isinstance(sandbox, Sandbox) else None
        self._resolver: SandboxResolver | None = None
        if sandbox is not None and not isinstance(sandbox, Sandbox):
            OPTIONS.function("sandbox", sandbox, "a Sandbox, e.g. LocalSandbox('./work'), or a function of the context")
            self._resolver = sandbox
        if cache_key is not None:
            if self._resolver is None:
                raise ConfigError("sandbox_cache_key is for a sandbox that is a function of the context: give that")
            OPTIONS.plain_function("sandbox_cache_key", cache_key)
        self._cache_key = cache_key
        self._by_key: dict[str, Once[Sandbox]] = {}
        self._by_context = ByContext[Once[Sandbox]](lambda _: Once())

    @property
    def configured(self) -> bool:
        return self.static is not None or self._resolver is not None

    @property
    def dynamic(self) -> bool:
        return self._resolver is not None

    async def open(self, context: RequestContext) -> Sandbox | None:
        """The sandbox of one session: a resolver runs once a key, or without a key once a context object, and again
        only after it failed.
        """
        if self._resolver is None:
            return self.static
        return await self._place(context).get(partial(_called, self._resolver, context, Sandbox))

    def opened(self, context: RequestContext) -> Sandbox | None:
        """The sandbox of one session if it is there already; no resolver runs. A context without a key has none."""
        if self._resolver is None:
            return self.static
        try:
            return self._place(context).made
        except Exception:  # whose key cannot be told, for that no sandbox was opened either
            return None

    def forget(self, key: str | None = None) -> None:
        """Drop the sandboxes that are kept by key, one or all; none of them is stopped."""
        if not isinstance(cast("object", key), str | None):
            raise ARGUMENTS.wrong("key", "a text or None", key)
        if key is None:
            self._by_key.clear()
        else:
            self._by_key.pop(key, None)

    def _place(self, context: RequestContext) -> Once[Sandbox]:
        key = None if self._cache_key is None else cast("object", self._cache_key(context))
        if key is None:
            return self._by_context.get(context)
        if not isinstance(key, str):
            raise InvalidArgumentError(f"sandbox_cache_key returned {type(key).__name__}, not a str or None")
        return self._by_key.setdefault(key, Once())


def _opened(path: PathLike, value: Mountable) -> Filesystem | Resolver | LeasingResolver:
    if isinstance(value, Filesystem):
        return value
    return Filesystem(value) if isinstance(value, Provider) else _resolver(f"mounts[{str(path)!r}]", value)


def _resolver(where: str, value: Resolver | LeasingResolver) -> Resolver | LeasingResolver:
    if isinstance(value, type) or not isinstance(value, LeasingResolver):
        OPTIONS.function(where, value, "a Filesystem, e.g. LocalFilesystem('./files'), or a function of the context")
    return value


async def _called(
    resolver: Callable[[RequestContext], T | Awaitable[T]], context: RequestContext, kind: type[Any]
) -> T:
    answer = resolver(context)
    found = await answer if inspect.isawaitable(answer) else answer
    if not isinstance(found, kind):
        raise InvalidArgumentError(f"the resolver returned {type(found).__name__}, not a {kind.__name__}")
    return cast("T", found)
