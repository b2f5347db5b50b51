"""write_file: creates, replaces what it knows, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from threading import get_ident

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import (
    CompositeFilesystem,
    Filesystem,
    MemoryFilesystem,
    NoMountError,
    PathEscapeError,
    PathExistsError,
    PathIsDirectoryError,
    ReadOnly,
    ReadOnlyError,
    StaleFileError,
    StoragePath,
)
from moorage_local import LocalFilesystem
from moorage_workspace.errors import ChangedSinceReadError, FileReadRequiredError, Refusal, ToolRefusedError
from moorage_workspace.results import Change
from moorage_workspace.tools import write_file
from moorage_workspace.tools.read_file import READ_FILE
from moorage_workspace.tools.write_file import WRITE_FILE, WriteFile, encoded

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent() -> Agent:
    return Agent(MemoryFilesystem())


async def test_it_creates_with_parents_and_replaces(agent: Agent) -> None:
    created = await agent.call(WRITE_FILE, path="a/b/c.txt", content="größe\n")
    assert created.text == "Created /a/b/c.txt (8 bytes)"
    assert created.structured == {"path": "/a/b/c.txt", "size": 8, "created": True}
    assert await agent.fs.read_text("/a/b/c.txt") == "größe\n"
    replaced = await agent.call(WRITE_FILE, path="/a/b/c.txt", content="")
    assert replaced.text == "Replaced /a/b/c.txt (0 bytes)"
    assert await agent.fs.read_bytes("/a/b/c.txt") == b""


async def test_line_ends_are_written_as_given(agent: Agent) -> None:
    await agent.call(WRITE_FILE, path="/a", content="one\r\ntwo\nthree")
    assert await agent.fs.read_bytes("/a") == b"one\r\ntwo\nthree"


async def test_without_overwrite_what_is_there_stays(agent: Agent) -> None:
    await agent.call(WRITE_FILE, path="/a", content="one", overwrite=False)
    with pytest.raises(PathExistsError):
        await agent.call(WRITE_FILE, path="/a", content="two", overwrite=False)
    assert await agent.fs.read_text("/a") == "one"


async def test_the_cap_counts_bytes(agent: Agent) -> None:
    options = {"max_write_bytes": 4}
    await agent.call(WRITE_FILE, path="/a", content="öö", options=options)
    with pytest.raises(ToolRefusedError) as caught:
        await agent.call(WRITE_FILE, path="/a", content="ööö", options=options)
    assert caught.value.refusal is Refusal.TOO_LARGE
    assert await agent.fs.read_text("/a") == "öö"


@pytest.mark.parametrize(("characters", "beside"), [(3, False), (1 << 20, False), ((1 << 20) + 1, True)])
async def test_a_long_content_is_encoded_beside_the_loop(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, characters: int, beside: bool
) -> None:
    threads: list[int] = []

    def noting(text: str, what: str) -> bytes:
        threads.append(get_ident())
        return encoded(text, what)

    monkeypatch.setattr(write_file, "encoded", noting)
    await agent.call(WRITE_FILE, path="/a", content="ö" * characters)
    assert [thread != get_ident() for thread in threads] == [beside]
    assert (await agent.fs.stat("/a")).size == 2 * characters


async def test_half_a_character_is_refused(agent: Agent) -> None:
    call = agent.at(WRITE_FILE)
    with pytest.raises(ToolRefusedError, match="position 1"):
        await WRITE_FILE.plan(call, WriteFile.model_construct(path="/a", content="x\ud800", overwrite=True))


async def test_its_own_write_counts_as_read(agent: Agent) -> None:
    agent.read_required = True
    await agent.call(WRITE_FILE, path="/a", content="one")
    await agent.call(WRITE_FILE, path="/a", content="two")
    record = await agent.record("/a")
    assert record is not None
    assert record.whole
    assert record.version == (await agent.fs.stat("/a")).version


async def test_what_was_not_read_to_its_end_is_not_replaced(agent: Agent) -> None:
    agent.read_required = True
    await agent.fs.write_text("/a", "one\ntwo\n")
    with pytest.raises(FileReadRequiredError):
        await agent.call(WRITE_FILE, path="/a", content="x")
    await agent.call(READ_FILE, path="/a", limit=1)
    with pytest.raises(FileReadRequiredError, match="only a part"):
        await agent.call(WRITE_FILE, path="/a", content="x")
    await agent.call(READ_FILE, path="/a", offset=2)
    await agent.call(WRITE_FILE, path="/a", content="x")


async def test_what_changed_or_went_since_it_was_read_stays_so(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one")
    await agent.call(READ_FILE, path="/a")
    await agent.fs.write_text("/a", "theirs")
    with pytest.raises(ChangedSinceReadError):
        await agent.call(WRITE_FILE, path="/a", content="mine")
    assert await agent.fs.read_text("/a") == "theirs"
    await agent.fs.delete("/a")
    with pytest.raises(StaleFileError):
        await agent.call(WRITE_FILE, path="/a", content="mine")
    assert not await agent.fs.exists("/a")


async def test_a_change_between_plan_and_write_is_stale(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one")
    call, arguments = agent.at(WRITE_FILE), WriteFile(path="/a", content="mine")
    plan = await WRITE_FILE.plan(call, arguments)
    await agent.fs.write_text("/a", "theirs")
    with pytest.raises(StaleFileError):
        await WRITE_FILE.act(call, arguments, plan)
    assert await agent.fs.read_text("/a") == "theirs"
    await agent.fs.delete("/a")
    with pytest.raises(StaleFileError):
        await WRITE_FILE.act(call, arguments, plan)
    assert not await agent.fs.exists("/a")


async def test_what_appears_between_plan_and_write_is_stale_or_exists(agent: Agent) -> None:
    call = agent.at(WRITE_FILE)
    for overwrite, error in ((True, StaleFileError), (False, PathExistsError)):
        arguments = WriteFile(path="/a", content="mine", overwrite=overwrite)
        plan = await WRITE_FILE.plan(call, arguments)
        await agent.fs.write_text("/a", "theirs")
        with pytest.raises(error):
            await WRITE_FILE.act(call, arguments, plan)
        assert await agent.fs.read_text("/a") == "theirs"
        await agent.fs.delete("/a")


async def test_the_plan_is_what_will_be_written(agent: Agent) -> None:
    plan = await agent.plan(WRITE_FILE, path="/a", content="one\n")
    assert plan.changes == (Change(StoragePath("/a"), None, b"one\n", None),)
    assert plan.basis == {"/a": None}
    assert not await agent.fs.exists("/a")
    version = (await agent.fs.write_text("/a", "old\n")).version
    plan = await agent.plan(WRITE_FILE, path="/a", content="one\n")
    assert plan.changes == (Change(StoragePath("/a"), b"old\n", b"one\n", version),)
    assert plan.basis == {"/a": version}
    assert plan.summary == "replace /a, 4 bytes, with 4 bytes"


async def test_a_large_old_content_is_not_read_for_a_diff(agent: Agent) -> None:
    version = (await agent.fs.write_bytes("/a", b"x" * (1 << 20) + b"y")).version
    plan = await agent.plan(WRITE_FILE, path="/a", content="one\n")
    assert plan.changes == (Change(StoragePath("/a"), None, b"one\n", version),)
    assert (await agent.call(WRITE_FILE, path="/a", content="one\n")).structured["created"] is False


async def test_nobody_is_asked_about_what_cannot_be_written() -> None:
    agent = Agent(MemoryFilesystem(read_only=True))
    with pytest.raises(ReadOnlyError):
        await agent.plan(WRITE_FILE, path="/a", content="x")
    memory = MemoryFilesystem()
    await memory.make_dir("/d")
    await memory.write_text("/a", "one")
    with pytest.raises(ReadOnlyError):
        await Agent(Filesystem(ReadOnly(memory.provider))).plan(WRITE_FILE, path="/a", content="x")
    agent = Agent(CompositeFilesystem({"/m": memory}))
    with pytest.raises(NoMountError):
        await agent.plan(WRITE_FILE, path="/elsewhere/a", content="x")
    with pytest.raises(PathIsDirectoryError):
        await agent.plan(WRITE_FILE, path="/m/d", content="x")


async def test_links_and_modes_on_disk(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "run.sh").write_text("one")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    (root / "dangling").symlink_to("later.txt")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    async with LocalFilesystem(root) as fs:
        agent = Agent(fs)
        await agent.call(WRITE_FILE, path="/link", content="two")
        assert (root / "run.sh").read_text() == "two"
        assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755
        assert os.readlink(root / "link") == "run.sh"
        await agent.call(WRITE_FILE, path="/dangling", content="new")
        assert (root / "later.txt").read_text() == "new"
        assert os.readlink(root / "dangling") == "later.txt"
        with pytest.raises(PathEscapeError):
            await agent.call(WRITE_FILE, path="/out", content="x")
    assert not (tmp_path / "outside.txt").exists()


async def test_the_description_claims_only_what_is_on() -> None:
    options = {**WRITE_FILE.options, "require_read_before_write": False}
    assert "must have been read" not in WRITE_FILE.describe(options)
    assert "At most" not in WRITE_FILE.describe(options)
    strict = WRITE_FILE.describe({**options, "require_read_before_write": True, "max_write_bytes": 262_144})
    assert "must have been read" in strict
    assert "At most 262,144 bytes." in strict
