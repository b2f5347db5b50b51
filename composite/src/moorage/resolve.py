"""Who is asking, and which filesystem they get: request contexts, resolvers, and the cache of tenants' filesystems."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import anyio

from moorage.errors import (
    ClosedError,
    ContextRequiredError,
    InvalidArgumentError,
    InvalidPathError,
    OperationTimeoutError,
)
from moorage.filesystem import Filesystem
from moorage.paths import is_segment


class RequestContext(Mapping[str, object]):
    """What is known of one request: an immutable mapping, made from pairs, a mapping or keywords.

    ``RequestContext(tenant="acme")``, ``RequestContext({"agent-role": "admin"})``, ``RequestContext([("a", 1)])``.
    """

    __slots__ = ("__weakref__", "_values")

    def __init__(self, values: Mapping[str, object] | Iterable[tuple[str, object]] = (), /, **keywords: object) -> None:
        self._values: dict[str, object] = {**dict(values), **keywords}

    def __getitem__(self, key: str) -> object:
        try:
            return self._values[key]
        except KeyError:
            raise ContextRequiredError(f"the request's context has no {key!r}") from None

    def segment(self, key: str) -> str:
        """The value as the single segment of a path that it must be where a directory or prefix is named after it.

        Raises:
            ContextRequiredError: there is none.
            InvalidPathError: it is no text, or has a slash, is ``..``, or holds a control character.
        """
        value = self[key]
        if not isinstance(value, str) or not is_segment(value):
            raise InvalidPathError(f"the context's {key!r} cannot name a directory")
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def get(self, key: str, default: object = None) -> object:
        return self._values.get(key, default)

    def __repr__(self) -> str:
        return f"RequestContext({', '.join(sorted(self._values))})"


Resolver = Callable[[RequestContext], Filesystem | Awaitable[Filesystem]]
"""Chooses the filesystem of one request. What it returns is closed at the request's end unless it was open before, or
another holder keeps it open."""


@runtime_checkable
class LeasingResolver(Protocol):
    """A resolver that shares what it builds, and is told when a request no longer uses it."""

    async def acquire(self, context: RequestContext) -> Filesystem: ...

    async def release(self, filesystem: Filesystem) -> None: ...


class PerRequest:
    """A plain resolver as a leasing one: each request holds a lease of its own on what it got."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def acquire(self, context: RequestContext) -> Filesystem:
        filesystem = await call(self._resolver, context)
        await filesystem.lifecycle.lease()
        return filesystem

    async def release(self, filesystem: Filesystem) -> None:
        await filesystem.lifecycle.release()


async def call(resolver: Resolver, context: RequestContext) -> Filesystem:
    """Run a resolver, synchronous or not.

    Raises:
        InvalidArgumentError: it returned something else than a filesystem.
    """
    answer = resolver(context)
    return _filesystem(await answer if inspect.isawaitable(answer) else answer)


def _filesystem(answer: object) -> Filesystem:
    if not isinstance(answer, Filesystem):
        raise InvalidArgumentError(f"the resolver returned {type(answer).__name__}, not a Filesystem")
    return answer


def by_tenant(context: RequestContext) -> Hashable:
    """The default key: the context's ``tenant``."""
    tenant = context["tenant"]
    if tenant is None or tenant == "":
        raise ContextRequiredError("the request's tenant is empty")
    if not isinstance(tenant, Hashable):
        raise ContextRequiredError(f"a tenant must be hashable, not {type(tenant).__name__}")
    return tenant


@dataclass(slots=True, eq=False)
class _Seat:
    """One key's place in the cache; ``filesystem`` is ``None`` until it is built. Pins are leases and waiters."""

    lock: anyio.Lock
    filesystem: Filesystem | None = None
    pins: int = 0
    used_at: float = 0.0
    retiring: bool = False


class TenantCache:
    """A resolver that builds one filesystem a key, shares it between that key's requests, and closes it when idle.

    * One build a key at a time; the others wait. A cancelled or failed builder is succeeded by the next waiter, and
      a failure is not kept.
    * A lease lasts until the request's tree closes. A leased filesystem is never evicted; at the limit a request for
      a further key waits its turn, at most ``max_wait`` seconds; after half of that nobody joins the longest held one.
    * Every filesystem that was built is closed exactly once: when it makes room, when it was idle for ``idle_time``
      seconds (looked at whenever a lease is given or given back), or by :meth:`aclose`.

    Args:
        resolver: builds a filesystem for a context; two keys must never get the same one.
        key: what distinguishes tenants; by default ``context["tenant"]``.
        size: filesystems open at once.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        key: Callable[[RequestContext], Hashable] = by_tenant,
        size: int = 64,
        idle_time: float = 300.0,
        max_wait: float = 30.0,
    ) -> None:
        if size < 1:
            raise InvalidArgumentError(f"size must be at least 1, not {size}")
        for name, value in (("idle_time", idle_time), ("max_wait", max_wait)):
            if not value >= 0:
                raise InvalidArgumentError(f"{name} must not be below 0, not {value}")
        self._resolver = resolver
        self._key = key
        self._size = size
        self._idle_time = idle_time
        self._max_wait = max_wait
        self._seats: dict[Hashable, _Seat] = {}
        self._keys: dict[Filesystem, Hashable] = {}
        self._closing = 0
        self._closed = False
        self._waiting: deque[anyio.Event] = deque()
        self._woken = 0

    async def acquire(self, context: RequestContext) -> Filesystem:
        """The filesystem of this context's key, leased until :meth:`release`.

        Raises:
            OperationTimeoutError: every seat stayed leased for ``max_wait`` seconds.
            ContextRequiredError: the context has no key.
            ClosedError: the cache was closed.
            MoorageError: why the filesystem could not be built or opened.
        """
        chosen = self._key(context)
        if chosen is None:
            raise ContextRequiredError("the key function gave None: a tenant's filesystem needs a key")
        key = (type(chosen), chosen)  # 1, 1.0 and True are equal, and three tenants
        seat = await self._take_seat(key)
        try:
            if seat.filesystem is None:
                await self._build_once(key, seat, context)
            return _filesystem(seat.filesystem)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._unpin(key, seat)
            raise

    async def release(self, filesystem: Filesystem) -> None:
        """Give a lease back. It stays open for the next request of its key until it makes room or was idle."""
        key = self._keys.get(filesystem)
        if key is None or self._seats[key].pins == 0:
            raise InvalidArgumentError("this filesystem is not leased from here")
        with anyio.CancelScope(shield=True):
            await self._unpin(key, self._seats[key])

    async def aclose(self) -> None:
        """Close what is not leased; what is leased closes when its last lease is given back. Idempotent.

        Raises:
            ExceptionGroup: the errors of those that failed to close; all were tried.
        """
        self._closed = True
        while self._waiting:
            self._wake_next()
        errors: list[Exception] = []
        with anyio.CancelScope(shield=True):
            for key, seat in list(self._seats.items()):
                if seat.pins > 0 or self._seats.get(key) is not seat:
                    continue
                try:
                    await self._evict(key, seat)
                except Exception as error:
                    errors.append(error)
        if errors:
            raise ExceptionGroup("some tenants' filesystems failed to close", errors)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _build_once(self, key: Hashable, seat: _Seat, context: RequestContext) -> None:
        """Build what the seat needs, or wait while another request of this key does."""
        with anyio.move_on_after(self._max_wait) as waiting:
            await seat.lock.acquire()
        if waiting.cancelled_caught:
            raise OperationTimeoutError(f"another request took more than {self._max_wait:g} s to build this filesystem")
        try:
            if seat.filesystem is None:
                seat.filesystem = await self._build(key, context)
        finally:
            seat.lock.release()

    async def _build(self, key: Hashable, context: RequestContext) -> Filesystem:
        filesystem = await call(self._resolver, context)
        if filesystem in self._keys:
            raise InvalidArgumentError("the resolver returned one filesystem for two keys; tenants would meet in it")
        try:
            await filesystem.lifecycle.lease()
        except BaseException:
            await filesystem.lifecycle.close_if_unused()
            raise
        self._keys[filesystem] = key
        return filesystem

    async def _take_seat(self, key: Hashable) -> _Seat:
        """Pin the seat of ``key``, making room for a new one if need be."""
        await self._close_idle()
        waited = False
        impatient_at = anyio.current_time() + self._max_wait / 2
        with anyio.move_on_after(self._max_wait):
            while not self._closed:
                seat = self._seats.get(key)
                first = waited or not (self._waiting or self._woken)
                if seat is None and first and len(self._seats) + self._closing < self._size:
                    seat = self._seats[key] = _Seat(anyio.Lock())
                if seat is not None and not seat.retiring:
                    seat.pins += 1
                    if waited:
                        self._wake_next()
                    return seat
                unused = [item for item in self._seats.items() if item[1].pins == 0]
                if unused and first:
                    await self._make_room(*min(unused, key=lambda item: item[1].used_at))
                else:
                    await self._wait_for_room(impatient_at, again=waited)
                    waited = True
        if self._closed:
            raise ClosedError("the tenants' cache is closed")
        raise OperationTimeoutError(f"all {self._size} filesystems stayed in use for {self._max_wait:g} s")

    async def _wait_for_room(self, impatient_at: float, *, again: bool) -> None:
        event = anyio.Event()
        if again:
            self._waiting.appendleft(event)
        else:
            self._waiting.append(event)
        try:
            with anyio.CancelScope(deadline=impatient_at):
                await event.wait()
            if not event.is_set():
                self._retire_longest_held()
                await event.wait()
        except BaseException:
            if event.is_set():
                self._wake_next()
            else:
                self._waiting.remove(event)
            raise
        finally:
            self._woken -= event.is_set()

    def _retire_longest_held(self) -> None:
        """Let nobody join the seat that was taken first, so that it falls free once those who have it are done."""
        for seat in self._seats.values():
            if not seat.retiring:
                seat.retiring = True
                return

    def _wake_next(self) -> None:
        if self._waiting:
            self._woken += 1
            self._waiting.popleft().set()

    async def _unpin(self, key: Hashable, seat: _Seat) -> None:
        seat.pins -= 1
        seat.used_at = time.monotonic()
        if seat.pins == 0 and (seat.filesystem is None or self._closed):
            await self._evict(key, seat)
        if seat.pins == 0:
            self._wake_next()
        await self._close_idle()

    async def _close_idle(self) -> None:
        oldest = time.monotonic() - self._idle_time
        for key, seat in [item for item in self._seats.items() if item[1].pins == 0 and item[1].used_at < oldest]:
            if seat.pins == 0 and self._seats.get(key) is seat:
                await self._make_room(key, seat)

    async def _make_room(self, key: Hashable, seat: _Seat) -> None:
        """Evict on behalf of somebody else, whom a failure to close is no business of."""
        with anyio.CancelScope(shield=True):
            try:
                await self._evict(key, seat)
            except Exception:
                import logging

                logging.getLogger(__name__).exception("a filesystem of the tenants' cache failed to close")

    async def _evict(self, key: Hashable, seat: _Seat) -> None:
        """Close what sits there; until it is closed, its place stays taken."""
        del self._seats[key]
        if seat.filesystem is None:
            return
        self._closing += 1
        try:
            del self._keys[seat.filesystem]
            await seat.filesystem.lifecycle.release()
        finally:
            self._closing -= 1
            self._wake_next()
