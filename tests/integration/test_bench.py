"""The benchmark runs, prints every row, and leaves nothing behind. How fast things are is not looked at here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from scripts.benches.rows import Aim, Row, medians

ROOT = Path(__file__).parents[2]
BENCH = [sys.executable, str(ROOT / "scripts" / "bench.py")]

OTHERS = ("anyio.Path", "pathlib in a thread", "fsspec in a thread")
SMALL_FILES = [
    f"{operation} ×{concurrency} over {other}"
    for operation in ("read", "stat", "atomic write")
    for concurrency in (1, 32)
    for other in OTHERS
]
LARGE_FILE = [
    f"8 MiB {work}{what}"
    for what in ("", ": peak memory")
    for work in (
        "written over shutil.copyfileobj",
        "read over shutil.copyfileobj",
        "copied across mounts over shutil.copyfile",
    )
]
GAPS = [
    f"longest loop gap, {operation} ×32, over {other}"
    for operation in ("reads", "stats", "writes")
    for other in ("an idle loop's", "anyio.Path's")
]
ROWS = [
    "router: stat over the bare provider's, 300 paths",
    "tree: stat(str) over the bare provider's, 300 paths",
    "router: stat over the bare provider's, 600 paths",
    "tree: stat(str) over the bare provider's, 600 paths",
    *SMALL_FILES,
    *LARGE_FILE,
    "scan_dir 2,000: first entry over os.scandir in a thread",
    "scan_dir 2,000 over os.scandir + stat in a thread",
    "list_dir 2,000 over os.scandir + stat, sorted, in a thread",
    "scan_dir 2,000: peak memory over a tenth of the entries'",
    "list 200 files recursively over os.walk + stat in a thread",
    "remove 200 files over shutil.rmtree in a thread",
    *GAPS,
    "import moorage over import anyio, pluggy, CPU time",
    "from moorage import CompositeFilesystem over import anyio, pluggy",
]


def run(*arguments: str) -> str:
    done = subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_row_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    report: dict[str, Any] = json.loads(run("--quick", "--json", "--directory", str(tmp_path)))
    assert [row["what"] for row in report["rows"]] == ROWS
    assert all(row["ours"] >= 0 and row["theirs"] >= 0 for row in report["rows"])
    assert all((row["met"] is None) == (row["aim"] is None) for row in report["rows"])
    assert not list(tmp_path.iterdir())
    header = json.dumps(report["header"])
    assert "--quick" in header
    assert str(tmp_path) not in header
    assert os.uname().nodename not in header


def test_the_table_has_a_line_a_row_and_only_what_was_asked_for() -> None:
    lines = run("--quick", "--only", "router", "--only", "trees").splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert table[0] == ["what", "ours", "theirs", "ratio", "aim", "met"]
    assert [cells[0] for cells in table[2:]] == [*ROWS[:4], *[row for row in ROWS if "200 files" in row]]
    assert all(len(cells) == 6 for cells in table)
    assert {cells[5] for cells in table[2:]} <= {"yes", "no", ""}


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    command = [*BENCH, "--only", "many-entries", "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob("*/many-entries/many")) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_not_there_is_said() -> None:
    done = subprocess.run(
        [*BENCH, "--quick", "--directory", "/nowhere/at/all"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "no directory" in done.stderr


@pytest.mark.parametrize(
    ("aim", "met"),
    [
        (None, None),
        (Aim("ratio", "≥", 2), True),
        (Aim("ratio", "≥", 2.1), False),
        (Aim("ratio", "≤", 1.9), False),
        (Aim("more", "≤", 10), True),
        (Aim("more", "<", 10), False),
        (Aim("ours", "<", 20.1), True),
        (Aim("ours", "<", 20), False),
    ],
)
def test_an_aim_is_met_or_not(aim: Aim | None, met: bool | None) -> None:
    assert Row("", 20, 10, "MiB", aim).is_met is met


def test_nothing_is_no_yardstick() -> None:
    row = Row("", 20, 0, "MiB", Aim("ratio", "≥", 1))
    assert row.ratio is None
    assert row.is_met is False
    assert "×" in row.as_line()


def test_repetitions_are_interleaved_and_the_median_counts() -> None:
    order: list[str] = []
    values = {"a": [1.0, 9.0, 2.0], "b": [5.0, 4.0, 6.0]}

    async def sample(name: str, repetition: int) -> float:
        order.append(name)
        return values[name][repetition]

    found = anyio.run(medians, [partial(sample, "a"), partial(sample, "b")], 3)
    assert found == [2.0, 5.0]
    assert order == ["a", "b", "b", "a", "a", "b"]
