"""scripts/demo: the report holds on the real standard library, and a difference is seen, said and returned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from scripts.demonstration.disk import files_below
from scripts.demonstration.run import STEPS, demonstrate

from moorage import Body, MemoryProvider, NoSpaceError, ReadOnly, Stat, StoragePath, WriteOptions
from moorage.provider import WRITE

ROOT = Path(__file__).resolve().parents[2]
STDLIB = Path(sysconfig.get_paths()["stdlib"])


def run(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """The program that scripts/demo runs, with a temporary directory of its own."""
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "demo.py", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TMPDIR": str(directory)},
        check=False,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small part of the standard library."""
    copied = tmp_path / "source"
    for package in ("json", "email", "wsgiref"):
        shutil.copytree(STDLIB / package, copied / package)
    shutil.copy(STDLIB / "argparse.py", copied)
    return copied


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


def test_holds_on_the_standard_library(tmp_path: Path) -> None:
    done = run(directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert set(rows(done.stdout).values()) == {"ok"}
    assert f"{len(files_below(STDLIB, wanted_only=True)):,} files" in done.stdout
    assert re.search(r"^all \d\d claims hold \([\d.]+ s\)$", done.stdout, flags=re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_draws_nothing_in_a_pipe(tmp_path: Path) -> None:
    done = run("--help", directory=tmp_path)
    assert done.returncode == 0
    assert "Example: scripts/demo" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout


def test_takes_no_arguments(tmp_path: Path) -> None:
    assert run("more", directory=tmp_path).returncode == 2


def test_leaves_its_source_alone(source: Path, room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: (st.st_mtime_ns, st.st_ino) for path, st in files_below(source).items()}
    assert demonstrate(source) == 0, capsys.readouterr().out
    assert {path: (st.st_mtime_ns, st.st_ino) for path, st in files_below(source).items()} == before
    assert list(room.iterdir()) == []
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert [line for line in printed.splitlines() if line.startswith(tuple("123456789"))] == [
        f"{number}. {title}" for number, (title, _) in enumerate(STEPS, 1)
    ]


def test_sees_a_store_that_garbles(
    source: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = MemoryProvider.write

    async def garble(self: MemoryProvider, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if path.name == "decoder.py" and isinstance(body, bytes):
            body = body[:-1] + b"?"
        return await write(self, path, body, options)

    monkeypatch.setattr(MemoryProvider, "write", garble)
    assert demonstrate(source) == 1
    printed = capsys.readouterr().out
    wrong = [claim for claim, verdict in rows(printed).items() if verdict == "NO"]
    assert wrong == ["a tree crosses from disk to memory, whole"]
    assert "1 of " in printed
    assert list(room.iterdir()) == []


def test_sees_that_read_only_is_not(
    source: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def let_through(self: ReadOnly, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await self.inner.write(path, body, options)

    monkeypatch.setattr(ReadOnly, "write", let_through)
    assert demonstrate(source) == 1
    wrong = [claim for claim, verdict in rows(capsys.readouterr().out).items() if verdict == "NO"]
    assert wrong == ["the read-only mount refuses every change", "and is as it was"]


def test_says_which_step_failed(
    source: Path, room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def refuse(self: MemoryProvider, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        raise NoSpaceError("the store is full", path=str(path))

    monkeypatch.setattr(MemoryProvider, "write", refuse)
    assert demonstrate(source) == 1
    printed = capsys.readouterr().out
    assert rows(printed)["copy that tree from the directory to memory"] == "NO"
    assert "the store is full" in printed
    assert rows(printed)["no link leads out"] == "ok", "the other steps were not taken"
    assert list(room.iterdir()) == []
