"""The file-tool safety battery: 27 plain cases, through an agent's tools, on every storage where the case can exist.

X is somebody else: a second filesystem over the same storage, which shares nothing with the agent's.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.servers.gcs import LocalGCSServer
from tests.servers.s3_server import S3Server

from moorage import Filesystem, MemoryFilesystem
from moorage_gcs import GCSFilesystem
from moorage_local import LocalFilesystem
from moorage_s3 import S3Filesystem
from moorage_workspace import WORKSPACE_TOOLS, Session, ToolResult, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
READ_FIRST = {key: {"require_read_before_write": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}


@dataclass
class Agent:
    """An agent's session, and somebody else at the same storage."""

    session: Session
    x: Filesystem
    host: Path | None

    async def call(self, name: str, **arguments: object) -> ToolResult:
        result = await self.session.call_tool(f"workspace_{name}", arguments)
        assert self.host is None or str(self.host.parent) not in f"{result.text}{result.structured}"
        return result

    async def done(self, name: str, **arguments: object) -> ToolResult:
        result = await self.call(name, **arguments)
        assert result.ok, result.text
        return result

    async def refused(self, code: str, name: str, **arguments: object) -> ToolResult:
        result = await self.call(name, **arguments)
        assert result.error is not None, result.text
        assert result.error.code == code, result.text
        return result

    async def edit(self, path: str, old: str, new: str, **more: object) -> ToolResult:
        return await self.done("edit_file", path=path, old_string=old, new_string=new, **more)

    async def has(self, path: str) -> bytes:
        return await self.x.read_bytes(path)


Make = Callable[[], Filesystem]


def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Clients of one fresh storage, made as often as wished."""
    match request.param:
        case "local":
            return lambda: LocalFilesystem(tmp_path / "ws")
        case "memory":
            memory = MemoryFilesystem()
            return lambda: Filesystem(memory.provider)
        case "s3":
            s3: S3Server = request.getfixturevalue("moto")
            bucket = s3.make_bucket()
            return lambda: S3Filesystem(bucket, endpoint_url=s3.endpoint_url, access_key_id="k", secret_access_key="s")
        case _:
            gcs: LocalGCSServer = request.getfixturevalue("gcs_server")
            place = gcs.make_bucket()
            return lambda: GCSFilesystem(place, endpoint_url=gcs.endpoint_url, token="t")


async def agents(make: Make, host: Path | None, tools: dict[str, Any]) -> AsyncIterator[Agent]:
    async with make() as x, Workspace(filesystem=make(), tools=tools) as workspace, workspace.session() as session:
        yield Agent(session, x, host)


@pytest.fixture(params=["local", "memory", "s3", "gcs"])
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    """Where files need not have been read."""
    make = stores(request, tmp_path)
    async for one in agents(make, tmp_path / "ws" if request.param == "local" else None, {}):
        yield one


@pytest.fixture(params=["local", "memory", "s3", "gcs"])
async def careful(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    """Where they need to."""
    make = stores(request, tmp_path)
    async for one in agents(make, None, READ_FIRST):
        yield one


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Agent]:
    """Where there are links, modes and FIFOs."""
    async for one in agents(lambda: LocalFilesystem(tmp_path / "ws"), tmp_path / "ws", {}):
        yield one


def host(agent: Agent) -> Path:
    assert agent.host is not None
    return agent.host


async def test_01_single_line_edit_in_a_crlf_file(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\r\ntwo\r\nthree\r\n")
    await agent.edit("/a.txt", "two", "2")
    assert await agent.has("/a.txt") == b"one\r\n2\r\nthree\r\n"


async def test_02_multi_line_old_text_with_lf_matches_crlf(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\r\ntwo\r\nthree\r\nfour\n")
    await agent.edit("/a.txt", "two\nthree\n", "2\n2.5\n3\n")
    assert await agent.has("/a.txt") == b"one\r\n2\r\n2.5\r\n3\r\nfour\n"


async def test_03_bom_is_kept_never_needed_never_added(agent: Agent) -> None:
    await agent.x.write_bytes("/bom.txt", b"\xef\xbb\xbffirst\nlast\n")
    await agent.edit("/bom.txt", "first\n", "1st\n")
    assert await agent.has("/bom.txt") == b"\xef\xbb\xbf1st\nlast\n"
    await agent.x.write_bytes("/none.txt", b"first\n")
    await agent.edit("/none.txt", "first", "1st")
    assert await agent.has("/none.txt") == b"1st\n"


@pytest.mark.parametrize("content", ["caf\xe9\nplain\n".encode("latin-1"), "你好\nplain\n".encode("gbk")])
async def test_04_edit_in_a_file_of_another_encoding(agent: Agent, content: bytes) -> None:
    await agent.x.write_bytes("/old.txt", content)
    result = await agent.call("edit_file", path="/old.txt", old_string="plain", new_string="PLAIN")
    after = await agent.has("/old.txt")
    if result.ok:
        assert after == content.replace(b"plain", b"PLAIN")
    else:
        assert after == content
        assert "UTF-8" in result.text


async def test_05_two_dots_in_a_name_are_ordinary(agent: Agent) -> None:
    await agent.done("write_file", path="notes..md", content="hello")
    assert "hello" in (await agent.done("read_file", path="notes..md")).text
    assert "notes..md" in (await agent.done("list_files", pattern="notes..*")).text


@pytest.mark.parametrize("path", ["../secret", "/../secret", "a/../../secret", "a/.."])
async def test_06_the_parent_is_refused(agent: Agent, path: str) -> None:
    for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("delete", {}), ("list_files", {})):
        await agent.refused("invalid_path", name, path=path, **more)


async def test_07_a_sibling_with_the_same_beginning_is_outside(local: Agent) -> None:
    evil = host(local).with_name("ws-evil")
    evil.mkdir()
    (evil / "secret").write_text("s")
    await local.refused("invalid_path", "read_file", path="../ws-evil/secret")
    (host(local) / "l").symlink_to(evil)
    await local.refused("path_escape", "read_file", path="l/secret")


async def test_08_read_through_a_link_to_outside(local: Agent) -> None:
    outside = host(local).with_name("outside.txt")
    outside.write_text("secret")
    (host(local) / "l").symlink_to(outside)
    result = await local.refused("path_escape", "read_file", path="/l")
    assert "secret" not in result.text


async def test_09_create_through_a_linked_directory_that_leads_outside(local: Agent) -> None:
    outside = host(local).with_name("outside")
    outside.mkdir()
    (host(local) / "d").symlink_to(outside)
    await local.refused("path_escape", "write_file", path="/d/new.txt", content="x")
    await local.refused("path_escape", "mkdir", path="/d/new")
    assert list(outside.iterdir()) == []


async def test_10_write_to_a_dangling_link_whose_target_is_outside(local: Agent) -> None:
    outside = host(local).with_name("nowhere.txt")
    link = host(local) / "l"
    link.symlink_to(outside)
    await local.refused("path_escape", "write_file", path="/l", content="x")
    assert (outside.exists(), link.is_symlink(), os.readlink(link)) == (False, True, str(outside))


async def test_11_no_host_path_in_any_error(local: Agent) -> None:
    root = host(local)
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("/etc/passwd")
    (root / "closed").mkdir(mode=0o000)
    (root / "file").write_text("x")
    for path in ("missing", "loop", "out", "closed/x", "file/below", "x" * 300, "\x01"):
        for name, more in (
            ("read_file", {}),
            ("write_file", {"content": "x", "overwrite": False}),
            ("edit_file", {"old_string": "a", "new_string": "b"}),
            ("list_files", {}),
            ("grep", {"pattern": "x"}),
            ("delete", {"recursive": False}),
            ("mkdir", {}),
        ):
            result = await local.call(name, path=path, **more)
            assert str(root) not in f"{result!r}"


async def test_12_edit_after_somebody_changed_it(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one two\n")
    await agent.done("read_file", path="/a.txt")
    await agent.x.write_bytes("/a.txt", b"one two three\n")
    await agent.refused("stale", "edit_file", path="/a.txt", old_string="one", new_string="1")
    assert await agent.has("/a.txt") == b"one two three\n"


async def test_13_overwrite_after_somebody_changed_it(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\n")
    await agent.done("read_file", path="/a.txt")
    await agent.x.write_bytes("/a.txt", b"theirs\n")
    await agent.refused("stale", "write_file", path="/a.txt", content="mine\n")
    assert await agent.has("/a.txt") == b"theirs\n"


async def test_14_overwrite_of_what_was_never_read(careful: Agent) -> None:
    await careful.x.write_bytes("/a.txt", b"one\n")
    result = await careful.refused("read_required", "write_file", path="/a.txt", content="mine\n")
    assert "read" in result.text
    assert await careful.has("/a.txt") == b"one\n"
    await careful.done("write_file", path="/new.txt", content="mine\n")
    await careful.done("read_file", path="/a.txt")
    await careful.done("write_file", path="/a.txt", content="mine\n")
    assert await careful.has("/a.txt") == b"mine\n"


async def test_15_old_text_that_occurs_twice(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"x = 1\ny = 2\nx = 1\n")
    result = await agent.refused("not_unique", "edit_file", path="/a.txt", old_string="x = 1", new_string="x = 2")
    assert "1" in result.text
    assert "3" in result.text
    assert await agent.has("/a.txt") == b"x = 1\ny = 2\nx = 1\n"


async def test_16_empty_old_text(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\n")
    result = await agent.call("edit_file", path="/a.txt", old_string="", new_string="x")
    assert not result.ok
    assert await agent.has("/a.txt") == b"one\n"


async def test_17_a_single_line_of_5_mb(agent: Agent) -> None:
    await agent.x.write_bytes("/long.txt", b"x" * 5_000_000)
    result = await agent.done("read_file", path="/long.txt")
    assert len(result.text) < 50_000
    assert "5000000 bytes" in result.text


async def test_18_200_000_lines(agent: Agent) -> None:
    await agent.x.write_bytes("/many.txt", b"".join(b"line %d\n" % number for number in range(1, 200_001)))
    result = await agent.done("read_file", path="/many.txt")
    assert len(result.text) < 50_000
    assert "of 200000" in result.text
    assert "offset" in result.text
    assert "line 150000\n" in (await agent.done("read_file", path="/many.txt", offset=150_000, limit=2)).text + "\n"


async def test_19_a_binary_file(agent: Agent) -> None:
    await agent.x.write_bytes("/blob.bin", bytes(range(256)) * 40)
    result = await agent.done("read_file", path="/blob.bin")
    assert "10240 bytes" in result.text
    assert "binary" in result.text
    assert "\x00" not in result.text
    assert "�" not in result.text


async def test_20_a_fifo_is_refused_at_once(local: Agent) -> None:
    os.mkfifo(host(local) / "pipe")
    (host(local) / "a.txt").write_text("needle\n")
    with anyio.fail_after(30):
        await local.refused("not_regular", "read_file", path="/pipe")
        assert "pipe" in (await local.done("list_files")).text
        assert "a.txt:1:1: needle" in (await local.done("grep", pattern="needle", path="/")).text


async def test_21_the_mode_is_kept(local: Agent) -> None:
    script = host(local) / "run.sh"
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o755)
    await local.edit("/run.sh", "one", "two")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


async def test_22_edit_through_a_link_inside(local: Agent) -> None:
    (host(local) / "target.txt").write_text("one\n")
    (host(local) / "l").symlink_to("target.txt")
    await local.edit("/l", "one", "two")
    assert (host(local) / "target.txt").read_text() == "two\n"
    assert os.readlink(host(local) / "l") == "target.txt"


async def test_23_twenty_edits_at_once(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"".join(b"line %02d\n" % number for number in range(20)))
    await agent.done("read_file", path="/a.txt")
    succeeded: list[int] = []

    async def edit(number: int) -> None:
        arguments = {"path": "/a.txt", "old_string": f"line {number:02}\n", "new_string": f"done {number:02}\n"}
        if (await agent.call("edit_file", **arguments)).ok:
            succeeded.append(number)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(edit, number)
    after = (await agent.has("/a.txt")).decode().splitlines()
    wanted = [f"{'done' if number in succeeded else 'line'} {number:02}" for number in range(20)]
    assert after == wanted
    assert succeeded


async def test_24_nfd_is_not_nfc(agent: Agent) -> None:
    stored, asked = unicodedata.normalize("NFD", "caf\xe9.md"), unicodedata.normalize("NFC", "caf\xe9.md")
    await agent.x.write_bytes(f"/{stored}", b"hello\n")
    result = await agent.refused("not_found", "read_file", path=f"/{asked}")
    assert stored in result.text
    assert stored in (await agent.done("list_files")).text
    assert "hello" in (await agent.done("read_file", path=f"/{stored}")).text


async def test_25_dollar_and_backslash_are_literal(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\n")
    await agent.edit("/a.txt", "one", r"$& \1 \g<0> $1 \n")
    assert await agent.has("/a.txt") == rb"$& \1 \g<0> $1 \n" + b"\n"


async def test_26_a_missing_final_newline_stays_missing(agent: Agent) -> None:
    await agent.x.write_bytes("/a.txt", b"one\ntwo")
    await agent.edit("/a.txt", "two", "2")
    assert await agent.has("/a.txt") == b"one\n2"


async def test_27_separators_that_are_no_line_ends(agent: Agent) -> None:
    text = "one\u2028still one\x0cand\x85one\x0bmore\u2029end\ntwo\n"
    await agent.x.write_bytes("/a.txt", text.encode())
    result = await agent.done("read_file", path="/a.txt")
    assert "     2→two" in result.text
    assert "     3→" not in result.text
    found = await agent.done("grep", pattern="two", path="/a.txt")
    assert "a.txt:2:1: two" in found.text
    await agent.edit("/a.txt", "two", "2")
    assert await agent.has("/a.txt") == text.replace("two", "2").encode()
