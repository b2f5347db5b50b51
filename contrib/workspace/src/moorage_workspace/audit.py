"""What is written down about every tool call, and where."""

from __future__ import annotations

import inspect
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, cast

import anyio.to_thread

from moorage import UnsupportedError
from moorage_workspace.checks import OPTIONS

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

_LOGGER: Final = logging.getLogger("moorage.audit")


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    REFUSED = "refused"
    """Nothing was done: invalid, not allowed, not approved, stale."""
    FAILED = "failed"
    """It was tried."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One call of a tool. It has no path, argument, content or secret.

    Attributes:
        tool: the exposed name that was called.
        action: the tool's key, whatever it is called; empty where there is no such tool.
        approved: what the person said who was asked; ``None`` where nobody was.
        outcome: how it ended.
        error_code: the stable code of a call that did not end well.
        duration: seconds, the wait for an approval included.
        at: when it ended.
    """

    tool: str
    action: str
    approved: bool | None
    outcome: Outcome
    error_code: str | None
    duration: float
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def as_json(self) -> str:
        """One line, without its end."""
        return json.dumps(asdict(self) | {"at": self.at.isoformat()})


AuditSink = Callable[[AuditEvent], Awaitable[None] | None]
"""Takes events; may be async."""


def checked_sinks(value: object) -> tuple[AuditSink, ...]:
    """Raises: ConfigError, where it is no list, or a member cannot take events."""
    sinks = OPTIONS.listed("audit", value)
    for number, sink in enumerate(sinks):
        OPTIONS.function(f"audit[{number}]", sink, "a function of an AuditEvent, or a sink such as LoggingSink()")
    return sinks


async def emit(sinks: Iterable[AuditSink], event: AuditEvent) -> None:
    """Hand the event to every sink. One that fails is logged, without what it said, and keeps no other from it."""
    for sink in sinks:
        try:
            answer = sink(event)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:
            failure = (type(sink).__name__, type(error).__name__)
            _LOGGER.error("audit sink %s failed: %s", *failure)  # noqa: TRY400 (a traceback may show a path)


class LoggingSink:
    """Logs every event as a line of JSON, at ``INFO``, or ``WARNING`` where the outcome is not ``ok``."""

    def __init__(self, logger: logging.Logger = _LOGGER) -> None:
        """Raises: ConfigError, where it is none."""
        if not isinstance(cast("object", logger), logging.Logger | logging.LoggerAdapter):
            raise OPTIONS.wrong("logger", "a logging.Logger", logger)
        self._logger = logger

    def __call__(self, event: AuditEvent) -> None:
        level = logging.INFO if event.outcome is Outcome.OK else logging.WARNING
        self._logger.log(level, "%s", event.as_json())


class JsonLinesSink:
    """Appends every event to a file as a line of JSON.

    The file is made with mode 0600. A line is one write in append mode, so that the lines of several processes do not
    mix; the file is opened for each, so that it may be rotated. A link in the file's place is refused.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises: ConfigError, where it is no path."""
        self._path = OPTIONS.path("path", path)

    async def __call__(self, event: AuditEvent) -> None:
        """Raises: OSError: the line could not be written."""
        await anyio.to_thread.run_sync(self._append, f"{event.as_json()}\n".encode())

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self._path, flags, 0o600)
        try:
            written = os.write(file, line)
        finally:
            os.close(file)
        if written != len(line):
            raise OSError("the line was cut short")


class TelemetrySink:
    """An OpenTelemetry span ``moorage.tool`` and a count in ``moorage.tool_calls`` for every event.

    Attributes are ``moorage.action``, ``moorage.outcome``, where there is one ``error.type``, and of the span alone
    ``moorage.tool`` and, where somebody was asked, ``moorage.approved``. Needs ``opentelemetry-api``
    (``pip install "moorage-workspace[tracing]"``).

    Raises:
        UnsupportedError: the API package is not installed.
    """

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise UnsupportedError('telemetry needs opentelemetry: pip install "moorage-workspace[tracing]"') from error
        self._failed = trace.StatusCode.ERROR
        self._tracer = trace.get_tracer("moorage", tracer_provider=tracer_provider)
        self._counter = metrics.get_meter("moorage", meter_provider=meter_provider).create_counter(
            "moorage.tool_calls", description="Calls of tools"
        )

    def __call__(self, event: AuditEvent) -> None:
        attributes: dict[str, str | bool] = {"moorage.action": event.action, "moorage.outcome": str(event.outcome)}
        if event.error_code is not None:
            attributes["error.type"] = event.error_code
        self._counter.add(1, attributes)
        attributes["moorage.tool"] = event.tool
        if event.approved is not None:
            attributes["moorage.approved"] = event.approved
        began = event.at - timedelta(seconds=event.duration)
        span = self._tracer.start_span("moorage.tool", attributes=attributes, start_time=_nanoseconds(began))
        if event.outcome is not Outcome.OK:
            span.set_status(self._failed)
        span.end(_nanoseconds(event.at))


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000_000)
