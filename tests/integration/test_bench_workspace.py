"""The benchmark of an agent's tools runs, prints every row, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROWS = [
    "grep 500 files over rg, with ripgrep",
    "grep 500 files over rg, in pure Python",
    "list_files 500 files over rg --files",
    "one call: file_stat over stat",
    "one call: read_file over read_text",
    "one call: write_file over write_text",
    "edit a line in 1 MiB over a plain read and write",
]


def test_every_row_is_measured_and_nothing_is_left(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench.py"), "--workspace", "--quick", "--json"]
    done = subprocess.run(
        [*command, "--directory", str(tmp_path)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert [row["what"] for row in report["rows"]] == ROWS
    assert all(row["ours"] > 0 and row["theirs"] > 0 for row in report["rows"])
    assert {row["what"]: row["aim"] for row in report["rows"] if row["aim"]} == {
        ROWS[0]: "≤ 1.5 ×",
        ROWS[1]: "≤ 5 ×",
        ROWS[6]: "≤ 2 ×",
    }
    assert not list(tmp_path.iterdir())
