"""One piece of work on a bucket, what it costs, and who does it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from scripts.benches.contenders import drive

Operation = Literal["put", "get", "head", "list", "delete", "copy"]


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket on a server."""

    endpoint_url: str
    bucket: str
    key: str = ""
    secret: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """An operation on each key, by so many tasks.

    Attributes:
        keys: for list and delete one prefix; for copy two, source and destination.
        size: bytes of each body.
    """

    operation: Operation
    keys: tuple[str, ...]
    concurrency: int = 1
    size: int = 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the clock and of this client's processor, and the sum of what was found: objects put or listed, bytes
    read, sizes that HEAD told.
    """

    seconds: float
    cpu: float
    found: int


class Contender(Protocol):
    """One way to reach the bucket."""

    @property
    def name(self) -> str: ...

    async def do(self, work: Work) -> Cost: ...


@dataclass(frozen=True, slots=True)
class Calls:
    """What a client in this process is asked to do; each returns its share of what :class:`Cost` calls found."""

    put: Callable[[str, bytes], Awaitable[int]]
    get: Callable[[str], Awaitable[int]]
    head: Callable[[str], Awaitable[int]]
    list_tree: Callable[[str], Awaitable[int]]
    delete_tree: Callable[[str], Awaitable[int]]
    copy_tree: Callable[[str, str], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class InProcess:
    """A client in this process, on this event loop."""

    name: str
    calls: Calls

    async def do(self, work: Work) -> Cost:
        found = 0
        action = self._action(work)

        async def counted(key: str) -> None:
            nonlocal found
            share = await action(key)
            found += share

        keys = work.keys[:1] if work.operation == "copy" else work.keys
        started, spent = time.perf_counter(), time.process_time()
        await drive(counted, keys, work.concurrency)
        return Cost(time.perf_counter() - started, time.process_time() - spent, found)

    def _action(self, work: Work) -> Callable[[str], Awaitable[int]]:
        calls, content = self.calls, body(work.size)
        actions: dict[Operation, Callable[[str], Awaitable[int]]] = {
            "put": lambda key: calls.put(key, content),
            "get": calls.get,
            "head": calls.head,
            "list": calls.list_tree,
            "delete": calls.delete_tree,
            "copy": lambda key: calls.copy_tree(key, work.keys[1]),
        }
        return actions[work.operation]


@lru_cache(maxsize=2)
def body(size: int) -> bytes:
    """So many bytes."""
    return (b"moorage " * (size // 8 + 1))[:size]
