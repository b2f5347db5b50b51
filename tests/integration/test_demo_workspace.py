"""scripts/demo --workspace: every claim holds, a tool that errs is seen, said and returned, and nothing is left."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from scripts.demonstration import workspace_run
from scripts.demonstration.processes import Sleepers
from scripts.demonstration.workspace_run import STEPS, demonstrate_workspace

from moorage_workspace import detect_isolation
from moorage_workspace.redaction import Gate
from moorage_workspace.tools import freshness

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made."""
    place = tmp_path / "room"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def rows(output: str) -> dict[str, str]:
    """The verdict of each claim in the printed table."""
    lines = output.split("-  --\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return {line.split("  ")[0].strip(): line.rsplit("  ", 1)[1] for line in lines}


def wrong(output: str) -> list[str]:
    return [claim for claim, verdict in rows(output).items() if verdict == "NO"]


def test_every_claim_holds_and_nothing_is_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "demo.py", "--workspace"],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert set(rows(done.stdout).values()) == {"ok"}
    assert re.search(r"^all 17 claims hold \([\d.]+ s\)$", done.stdout, flags=re.MULTILINE)
    for number, (title, _) in enumerate(STEPS, 1):
        assert f"\n{number}. {title}\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert str(tmp_path) not in done.stdout.replace("removed: ", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(detect_isolation() == "none", reason="nothing to do without")
def test_holds_without_isolation_too(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workspace_run, "detect_isolation", lambda: "none")
    assert demonstrate_workspace() == 0, capsys.readouterr().out
    assert "none: shown" in capsys.readouterr().out
    assert list(room.iterdir()) == []


def test_sees_that_what_changed_is_overwritten(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def not_looking(*arguments: object) -> None:
        pass

    monkeypatch.setattr(freshness, "_compare", not_looking)
    assert demonstrate_workspace() == 1
    printed = capsys.readouterr().out
    assert wrong(printed) == ["what somebody changed since is not touched"]
    assert "1 of 17 claims do NOT hold" in printed
    assert list(room.iterdir()) == []


def test_sees_a_secret(room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(self: Gate, text: str) -> str:
        return text

    monkeypatch.setattr(Gate, "redact", shown)
    assert demonstrate_workspace() == 1
    assert "secrets are masked, the rest is shown" in wrong(capsys.readouterr().out)


def test_sees_a_process_that_stays(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = Sleepers()
    process = subprocess.Popen(left.one().split())
    try:
        monkeypatch.setattr(workspace_run, "Sleepers", lambda: left)
        assert demonstrate_workspace() == 1
    finally:
        process.kill()
        process.wait()
    assert wrong(capsys.readouterr().out) == ["a time limit ends the whole process tree", "no process is left"]
    assert left.running() == 0
