"""edit_file: exact, byte for byte, and helpful when it refuses."""

from __future__ import annotations

import os
import stat
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import (
    Filesystem,
    MemoryFilesystem,
    PathIsDirectoryError,
    PathNotFoundError,
    ReadOnly,
    ReadOnlyError,
    StaleFileError,
)
from moorage_local import LocalFilesystem
from moorage_workspace import reads
from moorage_workspace.errors import ChangedSinceReadError, FileReadRequiredError, Refusal, ToolRefusedError
from moorage_workspace.redaction import Gate
from moorage_workspace.text import editing
from moorage_workspace.text.diffs import unified_diff
from moorage_workspace.text.editing import MOST_PLACES
from moorage_workspace.tools import edit_file
from moorage_workspace.tools.edit_file import EDIT_FILE, EditFile
from moorage_workspace.tools.read_file import READ_FILE

pytestmark = pytest.mark.anyio

PEM = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAAS\n" * 20 + "-----END PRIVATE KEY-----\n"


@pytest.fixture
def agent() -> Agent:
    return Agent(MemoryFilesystem())


async def edit(agent: Agent, old: str, new: str, **more: Any) -> str:
    return (await agent.call(EDIT_FILE, path="/a", old_string=old, new_string=new, **more)).text


async def refused(agent: Agent, refusal: Refusal, old: str, new: str, **more: Any) -> str:
    before = await agent.fs.read_bytes("/a")
    with pytest.raises(ToolRefusedError) as caught:
        await edit(agent, old, new, **more)
    assert caught.value.refusal is refusal
    assert await agent.fs.read_bytes("/a") == before
    return caught.value.message


async def test_the_result_says_where_and_shows_the_diff(agent: Agent) -> None:
    await agent.fs.write_bytes("/a", b"one\r\ntwo\r\nthree")
    text = await edit(agent, "two\n", "2\n2.5\n")
    assert await agent.fs.read_bytes("/a") == b"one\r\n2\r\n2.5\r\nthree"
    assert text == (
        "Edited /a: 1 replacement at line 2\n--- /a\n+++ /a\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n"
        "\\ No newline at end of file"
    )


async def test_replace_all_says_how_often(agent: Agent) -> None:
    await agent.fs.write_text("/a", "x\n" * 30)
    text = await edit(agent, "x", "y", replace_all=True)
    assert text.startswith("Edited /a: 30 replacements at lines 1, 2, 3, ")
    assert "20 and on\n" in text
    assert await agent.fs.read_text("/a") == "y\n" * 30


async def test_the_plan_has_the_bytes_that_are_written(agent: Agent) -> None:
    await agent.fs.write_bytes("/a", b"\xef\xbb\xbfone\r\ntwo\nthree\r\n")
    plan = await agent.plan(EDIT_FILE, path="/a", old_string="one\ntwo\nthree", new_string="1\n2\n3")
    (change,) = plan.changes
    assert await agent.fs.read_bytes("/a") == change.before
    assert plan.basis == {"/a": change.version}
    text = await edit(agent, "one\ntwo\nthree", "1\n2\n3")
    assert change.after is not None
    after = bytes(change.after)
    assert await agent.fs.read_bytes("/a") == after == b"\xef\xbb\xbf1\r\n2\n3\r\n"
    assert unified_diff("/a", change.before, after).rstrip("\n") in text


async def test_the_diff_of_the_result_is_that_of_the_whole(agent: Agent) -> None:
    lines = [f"line {number} of many\n" for number in range(5_000)]
    for old, new in ((10, "x"), (2_500, "x\ny"), (4_999, ""), (0, "x\n\n")):
        await agent.fs.write_text("/a", "".join(lines))
        before = await agent.fs.read_bytes("/a")
        text = await edit(Agent(agent.fs), f"line {old} of many\n", f"{new}\n" if new else "")
        whole = unified_diff("/a", before, await agent.fs.read_bytes("/a"))
        assert text.partition("\n")[2] == whole.rstrip("\n")


async def test_what_is_wrong_with_the_texts_alone(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one\r\n")
    assert "empty" in await refused(agent, Refusal.INVALID_ARGUMENTS, "", "x")
    assert "same" in await refused(agent, Refusal.INVALID_ARGUMENTS, "one", "one")
    assert "change nothing" in await refused(agent, Refusal.INVALID_ARGUMENTS, "one\r\n", "one\n")


async def test_twice_is_refused_with_the_lines(agent: Agent) -> None:
    await agent.fs.write_text("/a", "x = 1\ny = 2\nx = 1\n")
    message = await refused(agent, Refusal.NOT_UNIQUE, "x = 1", "x = 2")
    assert message.startswith("old_string occurs 2 times, at lines 1, 3; ")


async def test_not_found_shows_the_nearest_lines_and_what_differs(agent: Agent) -> None:
    await agent.fs.write_text("/a", "import os\n\ndef f(x):\n\tif x:\n\t\treturn 1\n")
    message = await refused(agent, Refusal.NO_MATCH, "    if x:\n        return 1", "pass")
    assert "they differ in indentation:\n     4→\tif x:\n     5→\t\treturn 1\n" in message
    message = await refused(agent, Refusal.NO_MATCH, "def f(y):", "pass")
    assert "their words differ:\n     3→def f(x):\n" in message
    assert "nor is anything like it" in await refused(agent, Refusal.NO_MATCH, "quite another text", "x")
    assert "line numbers" in await refused(agent, Refusal.NO_MATCH, "     4→\tif x:", "x")


async def test_the_nearest_lines_are_masked_and_short(agent: Agent) -> None:
    await agent.fs.write_text("/a", f"top\n{PEM}bottom\n" + "word " * 100_000)
    message = await refused(agent, Refusal.NO_MATCH, "  MIIEvQIBADANBgkqhkiG9w0BAQEFAAS  \n  MIIEvQIBAD", "x")
    assert "MIIE" not in message
    message = await refused(agent, Refusal.NO_MATCH, "Word Word", "x")
    assert len(message) < 3_000


async def test_the_diff_masks_a_key_of_many_lines() -> None:
    agent = Agent(MemoryFilesystem(), Gate())
    await agent.fs.write_text("/a", f"top\n{PEM}bottom\n")
    for old in ("top", "bottom"):
        text = await edit(agent, old, "new")
        assert "MIIE" not in text
        assert "\n+new" in text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes(range(256)), "binary"),
        ("Grüße\nplain\n".encode("latin-1"), "latin-1"),
        ("你好\nplain\n".encode("gbk"), "GBK"),
        ("plain".encode("utf-16"), "UTF-16"),
        (b"plain\n" * 10_000 + "Grüße\n".encode("cp1252"), "latin-1"),
    ],
)
async def test_only_utf8_text_is_edited(agent: Agent, content: bytes, reason: str) -> None:
    await agent.fs.write_bytes("/a", content)
    assert reason in await refused(agent, Refusal.BINARY, "plain", "PLAIN", replace_all=True)


async def test_sizes_are_limited_before_and_after(agent: Agent) -> None:
    await agent.fs.write_text("/a", "x" * 100)
    options = {"max_edit_bytes": 99}
    assert "100 bytes" in await refused(agent, Refusal.TOO_LARGE, "x", "y", options=options)
    tracemalloc.start()
    try:
        await refused(agent, Refusal.TOO_LARGE, "x", "y" * 10_000_000, replace_all=True)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


async def test_what_would_be_too_large_is_refused_before_it_is_looked_for(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one\n")
    messages = {
        await refused(agent, Refusal.TOO_LARGE, old, "x" * length, options={"max_edit_bytes": 100})
        for old in ("one", "two")
        for length in (100, 101)
    }
    assert len(messages) == 2


async def test_very_many_places_are_refused(agent: Agent) -> None:
    await agent.fs.write_text("/a", "a" * (MOST_PLACES + 1))
    message = await refused(agent, Refusal.TOO_LARGE, "a", "b", replace_all=True)
    assert "more than 100,000 times" in message
    assert "more than 100,000 times" in await refused(agent, Refusal.NOT_UNIQUE, "a", "b")
    await agent.fs.write_text("/a", "a" * MOST_PLACES)
    assert "100,000 replacements" in await edit(agent, "a", "b", replace_all=True)


async def test_many_places_are_worked_on_beside_the_loop(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    busy: dict[str, bool] = {}

    def watched(function: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            busy[function.__name__] = threading.current_thread() is threading.main_thread()
            return function(*args, **more)

        return call

    for function in (editing.edit, editing.first_lines, reads.seen_after, unified_diff):
        monkeypatch.setattr(edit_file, function.__name__, watched(function))
    await agent.fs.write_text("/a", "a" * 1_001)
    await edit(agent, "a", "b", replace_all=True)
    assert busy == {"edit": False, "seen_after": False, "first_lines": False, "unified_diff": False}


async def test_what_is_not_there_is_named_and_not_created(agent: Agent) -> None:
    await agent.fs.write_text("/b/notes.md", "x")
    with pytest.raises(PathNotFoundError, match=r"/b/notes\.md"):
        await agent.call(EDIT_FILE, path="/b/note.md", old_string="x", new_string="y")
    assert not await agent.fs.exists("/b/note.md")
    with pytest.raises(PathIsDirectoryError):
        await agent.call(EDIT_FILE, path="/b", old_string="x", new_string="y")
    with pytest.raises(ReadOnlyError):
        sealed = Agent(Filesystem(ReadOnly(agent.fs.provider)))
        await sealed.plan(EDIT_FILE, path="/b/notes.md", old_string="x", new_string="y")


async def test_what_changed_since_it_was_read_is_stale(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one two\n")
    await agent.call(READ_FILE, path="/a")
    await agent.fs.write_text("/a", "one two three\n")
    with pytest.raises(ChangedSinceReadError):
        await edit(agent, "one", "1")
    assert await agent.fs.read_text("/a") == "one two three\n"


async def test_a_change_between_plan_and_write_is_stale(agent: Agent) -> None:
    await agent.fs.write_text("/a", "one two\n")
    call, arguments = agent.at(EDIT_FILE), EditFile(path="/a", old_string="one", new_string="1")
    plan = await EDIT_FILE.plan(call, arguments)
    await agent.fs.write_text("/a", "one two three\n")
    with pytest.raises(StaleFileError):
        await EDIT_FILE.act(call, arguments, plan)
    await agent.fs.delete("/a")
    with pytest.raises(StaleFileError):
        await EDIT_FILE.act(call, arguments, plan)
    assert not await agent.fs.exists("/a")


async def test_only_what_was_seen_is_edited_where_reading_is_required(agent: Agent) -> None:
    agent.read_required = True
    await agent.fs.write_text("/a", "one\ntwo\nthree\n")
    with pytest.raises(FileReadRequiredError):
        await edit(agent, "one", "1")
    await agent.call(READ_FILE, path="/a", offset=2, limit=1)
    with pytest.raises(FileReadRequiredError):
        await edit(agent, "one", "1")
    with pytest.raises(FileReadRequiredError):
        await edit(agent, "two\nthree", "x")
    await edit(agent, "two", "zwei\nzwo")
    await edit(agent, "zwo", "deux")
    with pytest.raises(FileReadRequiredError):
        await edit(agent, "three", "3")
    assert await agent.fs.read_text("/a") == "one\nzwei\ndeux\nthree\n"


async def test_a_failed_edit_keeps_the_record(agent: Agent) -> None:
    agent.read_required = True
    await agent.fs.write_text("/a", "one\n")
    await agent.call(READ_FILE, path="/a")
    await refused(agent, Refusal.NO_MATCH, "two", "2")
    await edit(agent, "one", "1")
    record = await agent.record("/a")
    assert record is not None
    assert record.whole
    assert record.version == (await agent.fs.stat("/a")).version


async def test_modes_and_links_survive_on_disk(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho one\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("run.sh")
    async with LocalFilesystem(tmp_path) as fs:
        await Agent(fs).call(EDIT_FILE, path="/link", old_string="one", new_string="two")
    assert (tmp_path / "run.sh").read_text() == "#!/bin/sh\necho two\n"
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o755
    assert os.readlink(tmp_path / "link") == "run.sh"


async def test_fifty_megabytes(tmp_path: Path) -> None:
    line = b"x" * 79 + b"\n"
    lines = 50_000_000 // len(line)
    (tmp_path / "big").write_bytes(line * (lines // 2) + b"needle\n" + line * (lines // 2))
    async with LocalFilesystem(tmp_path) as fs:
        result = await Agent(fs).call(EDIT_FILE, path="/big", old_string="needle", new_string="found\nit")
    assert (tmp_path / "big").read_bytes() == line * (lines // 2) + b"found\nit\n" + line * (lines // 2)
    at = lines // 2 + 1
    assert f"at line {at}\n" in result.text
    assert f"@@ -{at - 3},7 +{at - 3},8 @@\n" in result.text
    assert len(result.text) < 1_000


async def test_the_description_claims_only_what_is_on() -> None:
    assert "must have been read" not in EDIT_FILE.describe({**EDIT_FILE.options, "require_read_before_write": False})
    assert "must have been read" in EDIT_FILE.describe({**EDIT_FILE.options, "require_read_before_write": True})
