"""A provider whose calls fail on purpose, over any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Literal

from moorage import (
    Body,
    Capabilities,
    DeleteOptions,
    Entry,
    MakeDirOptions,
    Provider,
    Reader,
    Stat,
    StoragePath,
    UnavailableError,
    WriteOptions,
)
from moorage.testing.iterating import closing


def unavailable() -> Exception:
    """The error of a fault that names no other."""
    return UnavailableError("injected fault")


@dataclass(frozen=True, slots=True)
class Fault:
    """Which call fails, and how.

    Attributes:
        primitive: the kind of call that is counted, e.g. ``"write"``; ``None`` counts all that touch the store.
        call: which of them fails, counted from 1.
        when: ``before`` the effect, or ``after`` it (the answer is lost).
        passes: how many bytes of the body (of ``list``: entries) pass before it is cut; ``when`` plays no role then.
        error: makes the exception.
    """

    primitive: str | None = None
    call: int = 1
    when: Literal["before", "after"] = "before"
    passes: int | None = None
    error: Callable[[], Exception] = unavailable


class FaultProvider(Provider):
    """Hands everything to ``inner``, except where a :class:`Fault` says otherwise.

    Attributes:
        calls: how often each primitive was called.
    """

    def __init__(self, inner: Provider, *faults: Fault) -> None:
        self.inner = inner
        self.scheme = inner.scheme
        self.faults = faults
        self.calls: Counter[str] = Counter()

    async def start(self) -> None:
        await self.inner.start()

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return replace(await self.inner.capabilities(path), native_path=None)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(path)

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(prefix)
        return None if inner is None else FaultProvider(inner, *self.faults)

    async def stat(self, path: StoragePath) -> Stat:
        fault = self._next("stat")
        stat = await self.inner.stat(path)
        _lose_answer(fault)
        return stat

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        fault = self._next("list")
        passed = 0
        async with closing(self.inner.list(path, recursive=recursive)) as entries:
            async for entry in entries:
                if fault is not None and fault.passes == passed:
                    raise fault.error()
                yield entry
                passed += 1
        _lose_answer(fault)

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        fault = self._next("read")
        reader = await self.inner.read(path, start=start, end=end)
        if fault is None:
            return reader
        if fault.passes is None:
            await reader.aclose()
            raise fault.error()
        return Reader(reader.stat, _Cut(reader, fault.passes, fault.error), reader.aclose)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WriteOptions()) -> Stat:
        fault = self._next("write")
        stat = await self.inner.write(path, _cut(body, fault), options)
        _lose_answer(fault)
        return stat

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WriteOptions()) -> Stat:
        fault = self._next("append")
        stat = await self.inner.append(path, _cut(body, fault), options)
        _lose_answer(fault)
        return stat

    async def delete(self, path: StoragePath, options: DeleteOptions = DeleteOptions()) -> None:
        fault = self._next("delete")
        await self.inner.delete(path, options)
        _lose_answer(fault)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WriteOptions()) -> Stat:
        fault = self._next("copy")
        stat = await self.inner.copy(src, dst, options)
        _lose_answer(fault)
        return stat

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WriteOptions()) -> Stat:
        fault = self._next("move")
        stat = await self.inner.move(src, dst, options)
        _lose_answer(fault)
        return stat

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MakeDirOptions()) -> None:
        fault = self._next("make_dir")
        await self.inner.make_dir(path, options)
        _lose_answer(fault)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        fault = self._next("remove_dir")
        await self.inner.remove_dir(path, recursive=recursive)
        _lose_answer(fault)

    async def sweep_leftovers(self, older_than: float) -> int:
        return await self.inner.sweep_leftovers(older_than)

    def _next(self, primitive: str) -> Fault | None:
        """Count this call; raise if it fails before its effect, or return the fault that comes later."""
        self.calls[primitive] += 1
        for fault in self.faults:
            count = self.calls.total() if fault.primitive is None else self.calls[primitive]
            if fault.primitive in (None, primitive) and fault.call == count:
                if fault.when == "before" and fault.passes is None:
                    raise fault.error()
                return fault
        return None


class _Cut:
    """A stream that fails once so many bytes have passed."""

    def __init__(self, chunks: AsyncIterator[bytes], passes: int, error: Callable[[], Exception]) -> None:
        self._chunks = chunks
        self._left = passes
        self._error = error

    def __aiter__(self) -> _Cut:
        return self

    async def __anext__(self) -> bytes:
        if self._left <= 0:
            raise self._error()
        try:
            chunk = await self._chunks.__anext__()
        except StopAsyncIteration:
            raise self._error() from None
        passing, self._left = chunk[: self._left], self._left - len(chunk)
        return passing


class _Whole:
    """Bytes as a stream of one chunk."""

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data

    def __aiter__(self) -> _Whole:
        return self

    async def __anext__(self) -> bytes:
        data, self._data = self._data, None
        if data is None:
            raise StopAsyncIteration
        return data


def _cut(body: Body, fault: Fault | None) -> Body:
    if fault is None or fault.passes is None:
        return body
    return _Cut(_Whole(body) if isinstance(body, bytes) else aiter(body), fault.passes, fault.error)


def _lose_answer(fault: Fault | None) -> None:
    if fault is not None:
        raise fault.error()
