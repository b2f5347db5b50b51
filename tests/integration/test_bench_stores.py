"""The benchmark of stores runs and measures everybody. How fast they are is not looked at here."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from scripts.benches.rows import Row, Setting
from scripts.benches.stores.comparing import Comparison, WrongResultError
from scripts.benches.stores.reference import NodeError, find_node, running_reference
from scripts.benches.stores.works import Calls, Cost, InProcess, Place, Work

ROOT = Path(__file__).parents[2]
BENCH = [sys.executable, str(ROOT / "scripts" / "bench.py")]

WORKS = [
    *(f"{operation} 1 KiB ×1" for operation in ("PUT", "GET", "HEAD")),
    *(f"{operation} 1 KiB ×32{what}" for operation in ("PUT", "GET", "HEAD") for what in ("", ": CPU a request")),
    "1 MiB up",
    "1 MiB down",
    "list 20",
    "delete 20",
    "copy a tree of 10",
]
TENANT = ("a further tenant's memory", "a further tenant opened, first write,")


def rows_of(others: tuple[str, ...]) -> list[str]:
    works = [f"{work}{names} over {other}" for work in WORKS for other in others for names in ("", ", names checked,")]
    return [f"{what} over {other}" for other in others for what in TENANT] + works


@pytest.mark.parametrize(("kind", "others"), [("s3", ("s3fs", "aiobotocore", "obstore")), ("gcs", ("gcsfs",))])
def test_every_row_is_measured(kind: str, others: tuple[str, ...], tmp_path: Path) -> None:
    command = [*BENCH, f"--{kind}", "--quick", "--json", "--directory", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert [row["what"] for row in report["rows"]] == rows_of(others)
    assert all(row["theirs"] >= 0 and row["ours"] >= 0 for row in report["rows"])
    aimed = [row for row in report["rows"] if row["aim"] is not None]
    assert aimed
    assert not any("names checked" in row["what"] for row in aimed)
    assert report["header"][f"@mastra/{kind}"].startswith("not measured")
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Idle:
    """Says that it did nothing."""

    name: str

    async def do(self, work: Work) -> Cost:
        return Cost(1.0, 1.0, 0)


def test_a_contender_that_does_nothing_is_not_fast(tmp_path: Path) -> None:
    field = [Idle("ours"), Idle("ours, names checked"), Idle("theirs")]
    emitted: list[Row] = []
    with pytest.raises(WrongResultError, match="put found 0, 4 are wanted"):
        anyio.run(Comparison(Setting(tmp_path, True, emitted.append), field, {}).run)
    assert emitted == []


def test_what_is_found_adds_up_whatever_the_order() -> None:
    async def later(key: str) -> int:
        await anyio.sleep(0.001 * (3 - len(key)))
        return len(key)

    async def nothing(*_: object) -> int:
        return 0

    contender = InProcess("", Calls(nothing, later, nothing, nothing, nothing, nothing))
    cost = anyio.run(contender.do, Work("get", ("a", "bb", "ccc"), concurrency=3))
    assert cost.found == 6


def test_a_reference_that_does_not_start_is_said(tmp_path: Path) -> None:
    async def start() -> None:
        async with running_reference(sys.executable, tmp_path, "s3", Place("http://127.0.0.1:1", "bucket")):
            pass

    with pytest.raises(NodeError, match="ended"):
        anyio.run(start)
    (tmp_path / "node_modules/node/bin").mkdir(parents=True)
    (tmp_path / "node_modules/node/bin/node").touch()
    assert find_node(tmp_path) == str(tmp_path / "node_modules/node/bin/node")
