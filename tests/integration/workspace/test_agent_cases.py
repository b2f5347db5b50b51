"""Public bug reports about agents' file tools, each as the operations it reduces to: paths, links and names.

The other files of this name have those about edits, mounts, bounds and the shell. Not here, since nothing of ours has
the feature: codex's protection of ``.git`` (#27354, #37318, #20716, #9112, #19786, #23661, #7071). ``.git`` is an
ordinary directory for the tools that name it, and is left out of listings and searches; what its protection broke, a
commit in a worktree whose ``.git`` is a file, is among the shell's cases.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.workspace.case_agents import EVERY, ON_DISK, Agent, opened

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem, temporaries
from moorage_workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EVERY)
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with opened(request.param, tmp_path) as agent:
        yield agent


@pytest.fixture(params=ON_DISK)
async def linked(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    """Where there are links, and ``outside`` beside the workspace."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("secret\n")
    async with opened(request.param, tmp_path) as agent:
        yield agent


def all_below(directory: Path) -> dict[str, str]:
    """Every path below it, with the content of files."""
    return {
        str(path.relative_to(directory)): path.read_text() if path.is_file() else "" for path in directory.rglob("*")
    }


def calls_on(path: str, own: str) -> list[tuple[str, dict[str, Any]]]:
    """A call of every file tool that reaches for what is at ``path``; ``own`` is a file of the workspace."""
    return [
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "mine"}),
        ("write_file", {"path": path, "content": "mine", "overwrite": False}),
        ("edit_file", {"path": path, "old_string": "secret", "new_string": "mine"}),
        ("list_files", {"path": path}),
        ("grep", {"pattern": "secret", "path": path}),
        ("mkdir", {"path": path}),
        ("copy", {"source": path, "destination": f"{own}-copy", "recursive": True}),
        ("copy", {"source": own, "destination": path, "overwrite": True}),
        ("move", {"source": own, "destination": f"{path}/moved"}),
    ]


@pytest.mark.parametrize("path", ["/file", "/directory", "/directory/x", "/directory/new", "/directory/new/deeper"])
async def test_servers_1845_cve_2025_53109_nothing_is_reached_through_a_link_that_leads_out(
    linked: Agent, path: str
) -> None:
    outside = linked.host.with_name("outside")
    (linked.host / "file").symlink_to(outside / "x")
    (linked.host / "directory").symlink_to(outside)
    await linked.x.write_text("/own", "mine\n")
    for name, arguments in calls_on(f"{linked.at}{path}", f"{linked.at}/own"):
        result = await linked.call(name, **arguments)
        assert result.error is not None, (name, result.text)
        assert result.error.code == "path_escape", (name, result.text)
        assert "secret\n" not in result.text
    assert all_below(outside) == {"x": "secret\n"}
    assert sorted(os.listdir(linked.host)) == ["directory", "file", "own"]


async def test_servers_1845_a_link_that_turns_around_meanwhile_is_never_followed_out(linked: Agent) -> None:
    outside = linked.host.with_name("outside")
    (linked.host / "inside").mkdir()
    (linked.host / "inside" / "x").write_text("public\n")
    link, spare, over = linked.host / "l", linked.host / "spare", threading.Event()

    def turn() -> None:
        while not over.is_set():
            for target in ("inside", outside):
                spare.symlink_to(target)
                os.replace(spare, link)

    link.symlink_to("inside")
    turner = threading.Thread(target=turn)
    turner.start()
    try:
        for number in range(60):
            read = await linked.call("read_file", path=f"{linked.at}/l/x")
            assert "secret" not in read.text
            await linked.call("write_file", path=f"{linked.at}/l/{number}", content="mine")
    finally:
        over.set()
        turner.join()
    assert all_below(outside) == {"x": "secret\n"}


async def test_cyanheads_21_a_linked_directory_outside_is_not_listed(linked: Agent) -> None:
    (linked.host / "link").symlink_to(linked.host.with_name("outside"))
    await linked.refused("path_escape", "list_files", path=f"{linked.at}/link")
    listed = (await linked.done("list_files", path=f"{linked.at}/", max_depth=5)).text
    assert "link -> (outside)" in listed
    assert "\tx" not in listed
    assert "0 matches" in (await linked.done("grep", pattern="secret", path=f"{linked.at}/")).text


async def test_openai_agents_4830_deleting_a_link_deletes_the_link(linked: Agent) -> None:
    outside = linked.host.with_name("outside")
    await linked.x.write_text("/directory/kept", "kept\n")
    for target in ("directory", "directory/kept", outside, outside / "x", "nowhere", "l"):
        (linked.host / "l").symlink_to(target)
        await linked.done("delete", path=f"{linked.at}/l", recursive=True)
        assert not os.path.lexists(linked.host / "l")
    assert all_below(outside) == {"x": "secret\n"}
    (linked.host / "directory" / "inner").symlink_to(outside)
    await linked.done("delete", path=f"{linked.at}/directory", recursive=True)
    assert all_below(outside) == {"x": "secret\n"}
    assert os.listdir(linked.host) == []


async def test_cve_2026_46406_a_temporary_that_is_foreseen_is_not_written_through(
    linked: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker who knows the name, which is random, gets nothing from having a link there."""
    random, names = temporaries.temporary_name, [b".moorage-tmp-0000000000000000"] * 3
    monkeypatch.setattr(temporaries, "temporary_name", lambda: names.pop() if names else random())
    target = linked.host.with_name("outside") / "x"
    (linked.host / ".moorage-tmp-0000000000000000").symlink_to(target)
    content = "mine\n" * 100_000
    await linked.done("write_file", path=f"{linked.at}/f", content=content)
    assert names == []
    assert (linked.host / "f").read_text() == content
    assert target.read_text() == "secret\n"


async def test_cve_2026_25724_a_link_is_no_way_around_a_read_only_mount(tmp_path: Path) -> None:
    protected = LocalFilesystem(tmp_path / "protected", read_only=True)
    mounts = {"/rw": LocalFilesystem(tmp_path / "rw"), "/ro": protected}
    (tmp_path / "protected").mkdir()
    (tmp_path / "protected" / ".env").write_text("KEY=1\n")
    async with Workspace(mounts=mounts) as workspace, workspace.session() as session:
        (tmp_path / "rw").mkdir(exist_ok=True)
        (tmp_path / "rw" / "up").symlink_to(tmp_path / "protected")
        (tmp_path / "rw" / "env").symlink_to("../protected/.env")
        for path, code in (("/ro/.env", "read_only"), ("/rw/up/.env", "path_escape"), ("/rw/env", "path_escape")):
            for name, more in (
                ("write_file", {"content": "KEY=2\n"}),
                ("edit_file", {"old_string": "1", "new_string": "2"}),
            ):
                result = await session.call_tool(f"workspace_{name}", {"path": path, **more})
                assert result.error is not None
                assert result.error.code == code, result.text
    assert all_below(tmp_path / "protected") == {".env": "KEY=1\n"}


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "//etc/cron.d/x", "/proc/self/cwd/x", "/tmp/x-of-an-agent"])
async def test_skales_147_an_absolute_path_is_the_workspaces_own(agent: Agent, path: str) -> None:
    await agent.done("write_file", path=f"{agent.at}{path}", content="* * * * * root true\n")
    assert "root true" in await agent.read(path)
    assert not Path("/etc/cron.d/x").exists()
    assert not Path("/tmp/x-of-an-agent").exists()
    assert await agent.x.exists(path.replace("//", "/"))


async def test_skales_147_or_it_is_refused(tmp_path: Path) -> None:
    files = LocalFilesystem(tmp_path / "ws")
    async with Workspace(filesystem=files, path_policy="relative") as workspace, workspace.session() as session:
        for name, arguments in calls_on("/etc/cron.d/x", "/own"):
            result = await session.call_tool(f"workspace_{name}", arguments)
            assert result.error is not None
            assert result.error.code == "policy", result.text
        assert (await session.call_tool("workspace_write_file", {"path": "etc/cron.d/x", "content": ""})).ok
    assert all_below(tmp_path / "ws") == {"etc": "", "etc/cron.d": "", "etc/cron.d/x": ""}


async def test_pydantic_ai_harness_617_a_link_loop_is_not_called_missing(linked: Agent) -> None:
    (linked.host / "l").symlink_to("l")
    (linked.host / "a").symlink_to("b")
    (linked.host / "b").symlink_to("a")
    await linked.x.write_text("/own", "mine\n")
    for path in ("/l", "/a", "/a/below", "/l/x"):
        for name, arguments in calls_on(f"{linked.at}{path}", f"{linked.at}/own"):
            result = await linked.refused("link_loop", name, **arguments)
            assert "loop" in result.text
    listed = (await linked.done("list_files", path=f"{linked.at}/")).text
    assert "l -> l" in listed
    assert "1 match" in (await linked.done("grep", pattern="mine", path=f"{linked.at}/")).text


async def test_deepagents_6285_5789_two_dots_in_a_name_are_ordinary(agent: Agent) -> None:
    for path in ("/notes..md", "/..hidden", "/a..b/x.md", "/a../y.md", "/.../z.md"):
        await agent.done("write_file", path=f"{agent.at}{path}", content="hello\n")
        assert "hello" in await agent.read(path)
        await agent.edit(path, "hello", "bye")
    found = (await agent.done("list_files", path=f"{agent.at}/", pattern="a..b/*", max_depth=3)).text
    assert "x.md" in found
    assert "y.md" not in found
    assert "1 match " in (await agent.done("grep", pattern="bye", path=f"{agent.at}/", glob="a..b/*")).text


INVALID = ["..", "../x", "a/../../x", "/..", "\0", "a\0b", "\x1b[2J", "\ud800", "\n"]
TOO_LONG = ["x" * 5_000, "/".join(["x" * 200] * 30)]


@pytest.mark.parametrize("path", INVALID, ids=[ascii(path) for path in INVALID])
async def test_deepagents_6285_5789_a_bad_path_is_an_answer(agent: Agent, path: str) -> None:
    await agent.x.write_text("/own", "mine\n")
    for name, arguments in calls_on(path, f"{agent.at}/own"):
        result = await agent.call(name, **arguments)
        assert result.error is not None, (name, result.text)
        assert result.error.code in {"invalid_path", "invalid_arguments"}, (name, result.text)
    assert "mine" in await agent.read("/own")


@pytest.mark.parametrize("path", TOO_LONG, ids=["name", "path"])
async def test_deepagents_6285_5789_so_is_one_that_the_store_may_not_take(agent: Agent, path: str) -> None:
    await agent.x.write_text("/own", "mine\n")
    for name, arguments in calls_on(f"{agent.at}/{path}", f"{agent.at}/own"):
        result = await agent.call(name, **arguments)
        assert "unexpectedly" not in result.text, name
        assert len(result.text) < 4 * len(path)
    assert "mine" in await agent.read("/own")


@pytest.mark.parametrize("arguments", ["", "[]", "{", '{"path": 7}', '{"path": {"a": 1}}', '{"path": "/x", "more": 1}'])
async def test_deepagents_6285_5789_so_are_bad_arguments(agent: Agent, arguments: str) -> None:
    for tool in await agent.session.tools():
        result = await agent.session.call_tool(tool.name, arguments)
        assert result.error is not None, tool.name
        assert result.error.code == "invalid_arguments", result.text


async def test_deepagents_6285_5789_and_a_name_that_no_tool_has() -> None:
    async with Workspace(filesystem=MemoryFilesystem()) as workspace, workspace.session() as session:
        for name in ("", "workspace_reed_file", "../x", "\x1b[2J"):
            result = await session.call_tool(name, {})
            assert result.error is not None
            assert result.error.code == "unknown_tool"
