"""What a call does only once, or not at all, and what stays safe though it is not done."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import Filesystem, MemoryFilesystem, MemoryProvider, StaleFileError, StoragePath
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Workspace
from moorage_workspace.reads import DIGESTED, digest_of
from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.tools.edit_file import EDIT_FILE, EditFile
from moorage_workspace.tools.read_file import READ_FILE

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
MIB = 1 << 20


class Counting(MemoryProvider):
    """Counts how often it is asked which object a path is."""

    asked = 0

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        self.asked += 1
        return await super().lineage(path)


async def test_an_edit_asks_twice_which_file_it_is_before_and_under_the_lock() -> None:
    provider = Counting()
    await provider.write(StoragePath("/a"), b"one\n")
    async with Workspace(filesystem=Filesystem(provider)) as space, space.session() as session:
        assert (await session.call_tool(FILES.READ_FILE, {"path": "/a"})).ok
        provider.asked = 0
        arguments = {"path": "/a", "old_string": "one", "new_string": "two"}
        assert (await session.call_tool(FILES.EDIT_FILE, arguments)).ok
        assert provider.asked == 2


async def test_a_path_that_leads_elsewhere_under_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "read").write_text("one\n")
    (tmp_path / "unread").write_text("one\ntwo\n")
    (tmp_path / "link").symlink_to("read")

    def turn(_: object) -> None:
        os.unlink(tmp_path / "link")
        (tmp_path / "link").symlink_to("unread")

    async with (
        Workspace(filesystem=LocalFilesystem(tmp_path)) as space,
        space.session(hooks={"before_tool_call": turn}) as session,
    ):
        await Agent(LocalFilesystem(tmp_path), reads=session.reads).call(READ_FILE, path="/link")
        result = await session.call_tool(FILES.EDIT_FILE, {"path": "/link", "old_string": "one", "new_string": "1"})
    assert result.error is not None
    assert result.error.code == "stale"
    assert (tmp_path / "read").read_text() + (tmp_path / "unread").read_text() == "one\none\ntwo\n"


async def test_what_was_written_into_new_directories_is_known(tmp_path: Path) -> None:
    tools = {FILES.WRITE_FILE: {"require_read_before_write": True}}
    async with Workspace(filesystem=LocalFilesystem(tmp_path), tools=tools) as space, space.session() as session:
        for content in ("one\n", "two\n"):
            assert (await session.call_tool(FILES.WRITE_FILE, {"path": "/new/deep/file", "content": content})).ok


def test_what_a_gate_knows_in_addition_is_prepared_once() -> None:
    gate = Gate(["one-secret"])
    more = gate.knowing(["another-secret"], {"/srv/host": "/"})
    assert gate.knowing(["another-secret"], {"/srv/host": "/"}) is more
    other = gate.knowing(["third-secret"], {"/srv/host": "/"})
    assert (other.redact("third-secret"), other.redact("another-secret")) == (MASK, "another-secret")
    assert more.redact("another-secret") == MASK


async def test_a_large_edit_is_never_copied_whole(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"old\n" + (b"x" * 63 + b"\n") * (32 * MIB // 64))
    async with LocalFilesystem(tmp_path) as fs:
        agent = Agent(fs)
        tracemalloc.start()
        try:
            await agent.call(EDIT_FILE, path="/large", old_string="old", new_string="new")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (tmp_path / "large").read_bytes().startswith(b"new\nxxx")
    assert peak < 56 * MIB


@pytest.mark.parametrize("size", [1_000, 9 * MIB])
@pytest.mark.parametrize("storage", ["memory", "local"])
async def test_an_edit_of_any_size_expects_what_it_was_planned_with(tmp_path: Path, storage: str, size: int) -> None:
    async with LocalFilesystem(tmp_path) if storage == "local" else MemoryFilesystem() as fs:
        await fs.write_bytes("/a", b"old" + b"\n" * size)
        agent = Agent(fs)
        plan = await agent.plan(EDIT_FILE, path="/a", old_string="old", new_string="new")
        await fs.write_text("/a", "somebody else's\n")
        with pytest.raises(StaleFileError):
            await EDIT_FILE.act(agent.at(EDIT_FILE), EditFile(path="/a", old_string="old", new_string="new"), plan)
        assert await fs.read_text("/a") == "somebody else's\n"
        assert [str(entry.path) for entry in await fs.list_dir("/")] == ["/a"]


@pytest.mark.parametrize(("size", "code"), [(DIGESTED, None), (DIGESTED + 1, "stale")])
@pytest.mark.parametrize("how", ["read", "edited"])
async def test_beyond_what_is_digested_a_touch_counts_as_a_change(size: int, code: str | None, how: str) -> None:
    fs = MemoryFilesystem()
    await fs.write_bytes("/a", b"old\n" + b"x" * (size - 4))
    async with Workspace(filesystem=fs) as space, space.session() as session:
        if how == "read":
            assert (await session.call_tool(FILES.READ_FILE, {"path": "/a"})).ok
        else:
            change = {"path": "/a", "old_string": "old", "new_string": "was"}
            assert (await session.call_tool(FILES.EDIT_FILE, change)).ok
        change = {"path": "/a", "old_string": "old" if how == "read" else "was", "new_string": "new"}
        await fs.write_bytes("/a", await fs.read_bytes("/a"))
        result = await session.call_tool(FILES.EDIT_FILE, change)
        assert (None if result.error is None else result.error.code) == code
        if code is not None:
            assert (await session.call_tool(FILES.READ_FILE, {"path": "/a"})).ok
            assert (await session.call_tool(FILES.EDIT_FILE, change)).ok
        assert (await fs.read_bytes("/a", 0, 4)) == b"new\n"


def test_the_digest_stops_at_its_limit() -> None:
    assert digest_of(bytes(DIGESTED)) is not None
    assert digest_of(bytes(DIGESTED + 1)) is None
