"""OpenTelemetry spans and counters for every primitive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from moorage.errors import MoorageError, UnsupportedError
from moorage.models import Body, Capabilities, DeleteOptions, Entry, MakeDirOptions, Reader, Stat, WriteOptions
from moorage.paths import StoragePath
from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
from moorage.streams import closing

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider


class Tracing(Provider):
    """A span ``moorage.<primitive>`` and a count in ``moorage.operations`` for each call; outcome is an error's code.

    Attributes are ``moorage.provider`` and ``moorage.outcome``; paths only with ``paths=True``, since they may name
    people and projects. Needs ``opentelemetry-api`` (``pip install "moorage-core[tracing]"``).

    Raises:
        UnsupportedError: the API package is not installed.
    """

    def __init__(
        self,
        inner: Provider,
        *,
        paths: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise UnsupportedError('tracing needs opentelemetry: pip install "moorage-core[tracing]"') from error
        self.inner = inner
        self.scheme = inner.scheme
        self._providers = (tracer_provider, meter_provider)
        self._paths = paths
        self._tracer = trace.get_tracer("moorage", tracer_provider=tracer_provider)
        self._counter = metrics.get_meter("moorage", meter_provider=meter_provider).create_counter(
            "moorage.operations", description="Primitives called on a provider"
        )

    async def start(self) -> None:
        with self._span("start"):
            await self.inner.start()

    async def aclose(self) -> None:
        with self._span("aclose"):
            await self.inner.aclose()

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return await self.inner.capabilities(path)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        return await self.inner.lineage(path)

    def subtree(self, prefix: StoragePath) -> Provider | None:
        inner = self.inner.subtree(prefix)
        if inner is None:
            return None
        tracer_provider, meter_provider = self._providers
        return Tracing(inner, paths=self._paths, tracer_provider=tracer_provider, meter_provider=meter_provider)

    async def stat(self, path: StoragePath) -> Stat:
        with self._span("stat", path):
            return await self.inner.stat(path)

    async def list(self, path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
        entries = self.inner.list(path, recursive=recursive)
        async with closing(entries):
            with self._span("list", path):
                first = await anext(entries, None)
            if first is None:
                return
            yield first
            async for entry in entries:
                yield entry

    async def read(self, path: StoragePath, *, start: int = 0, end: int | None = None) -> Reader:
        with self._span("read", path):
            return await self.inner.read(path, start=start, end=end)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        with self._span("write", path):
            return await self.inner.write(path, body, options)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        with self._span("append", path):
            return await self.inner.append(path, body, options)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        with self._span("delete", path):
            await self.inner.delete(path, options)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        with self._span("copy", src, dst):
            return await self.inner.copy(src, dst, options)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        with self._span("move", src, dst):
            return await self.inner.move(src, dst, options)

    async def make_dir(self, path: StoragePath, options: MakeDirOptions = MAKE_DIR) -> None:
        with self._span("make_dir", path):
            await self.inner.make_dir(path, options)

    async def remove_dir(self, path: StoragePath, *, recursive: bool = False) -> None:
        with self._span("remove_dir", path):
            await self.inner.remove_dir(path, recursive=recursive)

    async def sweep_leftovers(self, older_than: float) -> int:
        with self._span("sweep_leftovers"):
            return await self.inner.sweep_leftovers(older_than)

    @contextmanager
    def _span(
        self, operation: str, path: StoragePath | None = None, target: StoragePath | None = None
    ) -> Generator[None]:
        attributes = {"moorage.provider": self.scheme}
        if self._paths:
            attributes |= {
                key: str(value)
                for key, value in (("moorage.path", path), ("moorage.target", target))
                if value is not None
            }
        with self._tracer.start_as_current_span(
            f"moorage.{operation}", attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            outcome = "ok"
            try:
                yield
            except MoorageError as error:
                outcome = error.code
                _mark_failed(span)
                raise
            except BaseException as error:
                outcome = type(error).__name__
                _mark_failed(span)
                raise
            finally:
                span.set_attribute("moorage.outcome", outcome)
                self._counter.add(
                    1, {"moorage.provider": self.scheme, "moorage.operation": operation, "moorage.outcome": outcome}
                )


def _mark_failed(span: Span) -> None:
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
