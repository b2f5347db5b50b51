"""grep beside secrets: neither what is found, nor how long it takes, nor in which order, tells what is under a mask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage import Filesystem, Limits, MemoryFilesystem, ObjectStoreProvider
from moorage.objects import MemoryObjectClient
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Workspace
from moorage_workspace.searching import places

pytestmark = pytest.mark.anyio

GREP = WORKSPACE_TOOLS.FILESYSTEM.GREP
LITERAL = "LITERALsecret77"
WAYS = ["memory", "ripgrep", "python", "listed", "objects"]
SHOWN = "a" * 40
"""A line that makes some patterns take for ever."""


def made(way: str, top: Path) -> Filesystem:
    match way:
        case "memory":
            return MemoryFilesystem()
        case "objects":
            return Filesystem(ObjectStoreProvider(MemoryObjectClient()))
        case "listed":
            return Filesystem(Limits(LocalFilesystem(str(top)).provider, max_file_size=1 << 30))
        case _:
            return LocalFilesystem(str(top))


@pytest.fixture(params=WAYS)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """Every way in which files are found."""
    tools = {GREP: {"ripgrep": request.param == "ripgrep", "pattern_timeout": 0.3}}
    return Workspace(filesystem=made(request.param, tmp_path), tools=tools, secrets=[LITERAL])


async def outcome(workspace: Workspace, pattern: str, **arguments: Any) -> tuple[Any, str]:
    result = await workspace.call_tool(GREP, {"pattern": pattern, "include_hidden": True, **arguments})
    return result.structured, result.text


async def write(workspace: Workspace, **contents: str) -> None:
    assert workspace.filesystem is not None
    for name, content in contents.items():
        await workspace.filesystem.write_text(name, content)


@pytest.mark.parametrize("workspace", ["memory", "ripgrep", "python"], indirect=True)
@pytest.mark.parametrize(
    ("form", "path", "more"),
    [
        pytest.param("^password = {}" + "[a-z0-9]*" * 22 + "!", ".env", "", id="a file"),
        pytest.param("^password = {}" + r"\w*" * 22 + "!", ".", "é", id="beyond ASCII"),
        pytest.param("^password = {}" + r"\w*" * 22 + "!", ".", "", id="a directory"),
        pytest.param("^password = {}|^(?:a|a)*b", ".", "", id="slow beside it, with alternatives"),
        pytest.param("(?:a|a)*b?{}unter2secret", ".", "", id="slow beside it"),
        pytest.param("(?:a|a)*b?LITERAL{}", ".", "", id="slow beside a secret known by value"),
    ],
)
async def test_how_long_a_pattern_takes_tells_nothing(workspace: Workspace, form: str, path: str, more: str) -> None:
    await write(workspace, **{".env": f"# {more}\npassword = hunter2secret9\n{LITERAL}s\n{SHOWN}\n"})
    right = await outcome(workspace, form.format("s" if "LITERAL" in form else "h"), path=path)
    wrong = await outcome(workspace, form.format("t" if "LITERAL" in form else "g"), path=path)
    assert right == wrong


@pytest.mark.parametrize("form", ["k-{}*", "/k-{}*", "k-{}*/", "!k-{}*", "in/*{}"])
async def test_whether_a_name_is_ignored_tells_nothing(workspace: Workspace, form: str) -> None:
    names = {f"k-{LITERAL}.txt": "hit", f"k-{LITERAL}/x": "hit", f"in/{LITERAL}": "hit", "plain": "hit"}
    outcomes: list[Any] = []
    for guess in (LITERAL[:9], "LITERALz", LITERAL[-2:], "78"):
        rules = ("k*\n" if form.startswith("!") else "") + form.format(guess)
        await write(workspace, **{".gitignore": rules + "\n", **names})
        outcomes.append([await outcome(workspace, pattern) for pattern in ("hit", "h[a-i]+t")])
    assert all(one == outcomes[0] for one in outcomes)
    assert outcomes[0][0][0]["files"] == (2 if form.startswith("!") else 4)


async def test_where_a_name_is_listed_tells_nothing(workspace: Workspace) -> None:
    await write(workspace, **{f"k-{LITERAL}.txt": "hit", f"z-{LITERAL}/x": "hit", "z-z": "hit"})
    orders: list[list[str]] = []
    for guess in ("LITERALs", "LITERALt"):
        await write(workspace, **{f"k-{guess}": "hit", f"z-{guess}": "hit"})
        _, text = await outcome(workspace, "hit")
        orders.append([line.replace(guess, "…") for line in text.splitlines() if "redacted" in line or guess in line])
        assert workspace.filesystem is not None
        for name in (f"k-{guess}", f"z-{guess}"):
            await workspace.filesystem.delete(name)
    assert orders[0] == orders[1]
    assert len(orders[0]) == 4


async def test_of_names_with_secrets_a_bounded_number_is_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_MOST_MASKED", 3)
    workspace = Workspace(filesystem=made("objects", Path()), secrets=[LITERAL])
    await write(workspace, **{f"{number}-{LITERAL}": "hit" for number in range(9)}, z="hit")
    structured, text = await outcome(workspace, "hit")
    assert [line[1] for line in text.splitlines()[2:]] == ["z", "0", "1", "2"]
    assert structured["skipped"]["unreadable"] == 1
