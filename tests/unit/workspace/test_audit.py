"""Audit events: what they hold, where they go, and that no sink can fail a call."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from moorage import UnsupportedError
from moorage_workspace.audit import AuditEvent, JsonLinesSink, LoggingSink, Outcome, TelemetrySink, emit

pytestmark = pytest.mark.anyio

ENDED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EVENT = AuditEvent("write", "workspace_write_file", True, Outcome.REFUSED, "stale", 1.5, ENDED)
FINE = AuditEvent("read", "workspace_read_file", None, Outcome.OK, None, 0.25)
AS_JSON = {
    "tool": "write",
    "action": "workspace_write_file",
    "approved": True,
    "outcome": "refused",
    "error_code": "stale",
    "duration": 1.5,
    "at": "2026-01-02T03:04:05+00:00",
}


def test_an_event_has_no_place_for_a_path_or_an_argument() -> None:
    assert {field.name for field in fields(AuditEvent)} == set(AS_JSON)
    assert json.loads(EVENT.as_json()) == AS_JSON
    assert datetime.now(UTC) - FINE.at < timedelta(days=1)


async def test_every_sink_gets_it_whatever_the_others_do(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[tuple[str, AuditEvent]] = []

    def plain(event: AuditEvent) -> None:
        seen.append(("plain", event))

    async def later(event: AuditEvent) -> None:
        await asyncio.sleep(0)
        seen.append(("async", event))

    def failing(event: AuditEvent) -> None:
        raise OSError("/srv/secret/audit.jsonl: disk full")

    async def failing_later(event: AuditEvent) -> None:
        raise ValueError("hunter2")

    await emit([failing, plain, failing_later, later], EVENT)
    assert seen == [("plain", EVENT), ("async", EVENT)]
    assert [record.getMessage() for record in caplog.records] == [
        "audit sink function failed: OSError",
        "audit sink function failed: ValueError",
    ]
    assert "secret" not in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_cancelled_call_is_cancelled_in_a_sink_too() -> None:
    async def cancelled(event: AuditEvent) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await emit([cancelled], EVENT)


async def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("tests.audit")
    with caplog.at_level(logging.INFO, logger="tests.audit"):
        await emit([LoggingSink(logger)], EVENT)
        await emit([LoggingSink(logger)], FINE)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert json.loads(caplog.records[0].getMessage()) == AS_JSON


async def test_json_lines_are_appended_to_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    before = os.umask(0)
    try:
        await emit([JsonLinesSink(path)], EVENT)
    finally:
        os.umask(before)
    await emit([JsonLinesSink(path)], FINE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = path.read_text().splitlines()
    assert [json.loads(line)["tool"] for line in lines] == ["write", "read"]


async def test_json_lines_do_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="audit"):
        await JsonLinesSink(tmp_path / "audit.jsonl")(EVENT)
    assert not (tmp_path / "elsewhere").exists()


WRITER = """
import sys, asyncio
from moorage_workspace.audit import *

async def main():
    sink = JsonLinesSink(sys.argv[1])
    for number in range(200):
        await sink(AuditEvent(sys.argv[2] * 500, str(number), None, Outcome.OK, None, 0.0))

asyncio.run(main())
"""


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [writer.wait(timeout=240) for writer in writers] == [0, 0, 0]
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for name in "abc":
        own = [event["action"] for event in events if event["tool"] == name * 500]
        assert own == [str(number) for number in range(200)]
    assert len(events) == 600


def test_telemetry() -> None:
    spans, metrics = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    sink = TelemetrySink(tracer_provider=tracing, meter_provider=MeterProvider([metrics]))
    sink(EVENT)
    sink(FINE)
    refused, fine = spans.get_finished_spans()
    assert dict(refused.attributes or {}) == {
        "moorage.tool": "write",
        "moorage.action": "workspace_write_file",
        "moorage.outcome": "refused",
        "moorage.approved": True,
        "error.type": "stale",
    }
    assert (refused.status.is_ok, fine.status.is_ok) == (False, True)
    assert refused.start_time is not None
    assert refused.end_time == refused.start_time + 1_500_000_000
    data = metrics.get_metrics_data()
    assert data is not None
    points = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
    assert sorted(str(dict(point.attributes or {})) for point in points) == [
        "{'moorage.action': 'workspace_read_file', 'moorage.outcome': 'ok'}",
        "{'moorage.action': 'workspace_write_file', 'moorage.outcome': 'refused', 'error.type': 'stale'}",
    ]


def test_telemetry_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UnsupportedError, match="pip install"):
        TelemetrySink()
