"""ls, tree, find and du; names that a terminal must not see; failed mounts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Runner

pytestmark = pytest.mark.usefixtures("files")


@pytest.fixture
def files(run: Runner) -> None:
    for path, size in {
        "/data/a.csv": 10,
        "/data/raw/b.csv": 20_000,
        "/data/raw/.hidden": 1,
        "/notes/[x].md": 5,
    }.items():
        assert run("write", path, stdin=b"x" * size).code == 0


def paths(run: Runner, *arguments: str) -> list[str]:
    found = run(*arguments)
    assert (found.code, found.err) == (0, "")
    return sorted(found.out.splitlines())


def test_ls(run: Runner) -> None:
    assert run("ls").out.split() == ["data/", "frozen/", "notes/"]
    assert run("ls", "/data").out.split() == ["a.csv", "raw/"]
    assert paths(run, "ls", "-U", "/data") == ["a.csv", "raw/"]
    assert paths(run, "ls", "-R", "/data") == ["/data/a.csv", "/data/raw", "/data/raw/.hidden", "/data/raw/b.csv"]
    assert run("ls", "/data/a.csv").out == "a.csv\n"


def test_ls_long_shows_size_time_and_mount(run: Runner) -> None:
    root = run("ls", "-l", "/").out
    assert "frozen/  [memory, read-only, ready]" in root
    line = run("ls", "-l", "/data/raw").out.splitlines()[1]
    assert "19.5 KiB" in line
    assert f"{datetime.now(UTC):%Y-%m-}" in line


def test_ls_json_is_a_document_a_line(run: Runner) -> None:
    mounts = {entry["path"]: entry["mount"] for entry in run("ls", "--json").documents}
    assert mounts["/frozen"]["read_only"]
    entries = run("ls", "/data", "--json").documents
    assert [(entry["name"], entry["kind"], entry["size"]) for entry in entries] == [
        ("a.csv", "file", 10),
        ("raw", "directory", 0),
    ]


def test_tree(run: Runner) -> None:
    drawn = run("tree", "/data").out.splitlines()
    assert drawn == ["/data", "├── a.csv", "└── raw/", "    ├── .hidden", "    └── b.csv"]
    assert run("tree", "/data", "--depth", "1").out.splitlines() == drawn[:3]
    assert "frozen/  [memory, read-only, ready]" in run("tree", "--depth", "1").out
    assert len(run("tree", "/data", "--json").documents) == 4


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (("--name", "*.csv"), ["/data/a.csv", "/data/raw/b.csv"]),
        (("--name", "{a,b}.*"), ["/data/a.csv", "/data/raw/b.csv"]),
        (("--name", ".*"), ["/data/raw/.hidden"]),
        (("--glob", "raw/*.csv"), ["/data/raw/b.csv"]),
        (("--glob", "**/*.csv"), ["/data/a.csv", "/data/raw/b.csv"]),
        (("--size", "+10k"), ["/data/raw/b.csv"]),
        (("--size", "-11"), ["/data/a.csv", "/data/raw/.hidden"]),
        (("--size", "10"), ["/data/a.csv"]),
        (("--type", "d"), ["/data/raw"]),
        (("--type", "f", "--depth", "1"), ["/data/a.csv"]),
        (("--newer", "1h", "--type", "d"), ["/data/raw"]),
        (("--older", "1h"), []),
        (("--older", "2999-01-01", "--name", "a*"), ["/data/a.csv"]),
        (("--newer", "2999-01-01T00:00:00+02:00"), []),
    ],
)
def test_find(run: Runner, conditions: tuple[str, ...], expected: list[str]) -> None:
    assert paths(run, "find", "/data", *conditions) == expected


@pytest.mark.parametrize(
    "conditions",
    [("--size", "big"), ("--newer", "soon"), ("--type", "x"), ("--depth", "0"), ("--older", "9" * 30 + "w")],
)
def test_a_wrong_condition_is_wrong_usage(run: Runner, conditions: tuple[str, ...]) -> None:
    assert run("find", "/data", *conditions).code == 2


def test_a_wrong_condition_says_what_is_taken(run: Runner) -> None:
    newer = run("find", "--newer", "foo", "--json").document["error"]["message"]
    assert "neither a duration like 2d or 3h" in newer
    assert "ISO 8601" in newer
    kinds = run("find", "--type", "x", "--json").document["error"]["message"]
    assert "none of f|d|l|o" in kinds
    assert "f|d|l|o" in run("find", "--help").out


def test_du(run: Runner) -> None:
    counted = run("du", "/data", "--json").document
    assert (counted["files"], counted["directories"], counted["size"]) == (3, 1, 20_011)
    assert "19.5 KiB" in run("du", "/data").out


def test_a_failed_mount_leaves_the_others(run: Runner) -> None:
    for command in ("find", "tree", "ls"):
        result = run(command, "/", "--mount", "/broken=kept://failing")
        assert result.code == 1, command
        assert "data" in result.out
        assert "the store cannot be reached" in result.err
    assert run("find", "--name", "a.csv", "--mount", "/broken=kept://failing").out.splitlines() == [
        "/data/a.csv",
        "/frozen/a.csv",
    ]


def test_a_failed_mount_in_json_is_in_the_stream(run: Runner) -> None:
    result = run("ls", "/", "--json", "--mount", "/broken=kept://failing")
    assert (result.code, result.err) == (1, "")
    [broken] = [entry for entry in result.documents if entry["path"] == "/broken"]
    assert "cannot be reached" in broken["mount"]["error"]


@pytest.mark.parametrize("command", [("ls",), ("ls", "-l"), ("tree",), ("find",), ("ls", "--json"), ("doctor",)])
def test_hostile_names_reach_no_terminal(run: Runner, command: tuple[str, ...]) -> None:
    place = () if command == ("doctor",) else ("/odd",)
    result = run(*command, *place, "--mount", "/odd=kept://hostile")
    printed = result.out + result.err
    assert "odd" in printed
    assert not {"\x1b", "\x9b", "\u202e"} & set(printed)


def test_a_hostile_argument_reaches_no_terminal(run: Runner) -> None:
    refused = run("cat", "/notes/\x9b31mred")
    assert "\x9b" not in refused.err
    assert "\\x9b31mred" in refused.err


def test_the_file_is_found_from_below(run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = workspace / "some" / "where"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run("ls", "/data").code == 0
