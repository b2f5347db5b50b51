"""Public bug reports about agents' file tools, each as the operations it reduces to: stale files, edits, approvals."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.integration.workspace.case_agents import EVERY, FILES, ON_DISK, READ_FIRST, Agent, opened

from moorage import MemoryFilesystem
from moorage_workspace import Approval, ApprovalRequest, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EVERY)
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with opened(request.param, tmp_path) as agent:
        yield agent


@pytest.fixture(params=ON_DISK)
async def careful(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    """On disk, and what changes must have been read."""
    async with opened(request.param, tmp_path, READ_FIRST) as agent:
        yield agent


class Person:
    """Keeps what was asked, and answers with ``answer``."""

    def __init__(self, answer: Approval) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return self.answer


ASKING = {key: {"require_approval": True} for key in (FILES.WRITE_FILE, FILES.EDIT_FILE)}


async def test_claude_code_7443_21201_11976_14516_12330_10882_15887_13456_the_same_bytes_are_no_change(
    careful: Agent,
) -> None:
    file = careful.host / "f"
    file.write_text("one two three\n")
    await careful.read("/f")

    os.utime(file)
    await careful.edit("/f", "one", "1")

    os.utime(file, (1, 1))  # a synchronised drive, which sets times of its own
    await careful.edit("/f", "two", "2")

    file.write_bytes(file.read_bytes())  # a formatter that had nothing to do
    await careful.edit("/f", "three", "3")

    (careful.host / "new").write_bytes(file.read_bytes())
    os.replace(careful.host / "new", file)
    await careful.done("write_file", path=f"{careful.at}/f", content="4\n")
    assert file.read_text() == "4\n"


@pytest.mark.parametrize("name", ["write_file", "edit_file"])
async def test_mastra_14354_what_was_deleted_since_is_not_made_again(careful: Agent, name: str) -> None:
    (careful.host / "f").write_text("one\n")
    await careful.read("/f")
    (careful.host / "f").unlink()
    more = {"content": "mine\n"} if name == "write_file" else {"old_string": "one", "new_string": "1"}
    await careful.refused("stale", name, path=f"{careful.at}/f", **more)
    assert os.listdir(careful.host) == []


@pytest.mark.parametrize("seconds", [-3600.0, 0.0])
async def test_mastra_24122_a_change_counts_also_where_its_time_is_older_or_the_same(
    careful: Agent, seconds: float
) -> None:
    file = careful.host / "f"
    file.write_text("one\n")
    await careful.read("/f")
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + int(seconds * 1e9)))
    await careful.refused("stale", "write_file", path=f"{careful.at}/f", content="mine\n")
    assert file.read_text() == "two\n"


async def test_gemini_cli_29078_29244_cherry_studio_20695_two_edits_at_once_are_both_there(agent: Agent) -> None:
    await agent.x.write_text("/f", "one\ntwo\n")
    async with agent.session.workspace.session(agent.session.context) as other, anyio.create_task_group() as group:

        async def edit(old: str, new: str) -> None:
            session = agent.session if old == "one" else other
            arguments = {"path": f"{agent.at}/f", "old_string": old, "new_string": new}
            result = await session.call_tool(FILES.EDIT_FILE, arguments)
            assert result.ok, result.text

        group.start_soon(edit, "one", "1")
        group.start_soon(edit, "two", "2")
    assert await agent.x.read_text("/f") == "1\n2\n"


async def test_llxprt_3239_the_mode_stays(careful: Agent) -> None:
    script = careful.host / "run.sh"
    script.write_text("echo one\n")
    for mode in (0o755, 0o600, 0o444):
        script.chmod(mode)
        await careful.read("/run.sh")
        await careful.done("write_file", path=f"{careful.at}/run.sh", content=f"echo {mode}\n")
        await careful.edit("/run.sh", "echo", "printf")
        assert stat.S_IMODE(script.stat().st_mode) == mode


WRITER = """
import sys, anyio
from moorage_local import LocalFilesystem
from moorage_workspace import Workspace

async def main():
    async with Workspace(filesystem=LocalFilesystem(sys.argv[1])) as workspace:
        for turn in range(1_000_000):
            content = f"{turn % 10}" * 3_000_000
            await workspace.call_tool("workspace_write_file", {"path": "/f", "content": content})
            print("written", flush=True)

anyio.run(main)
"""


async def test_netclaw_1057_stella_5502_a_killed_write_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("0" * 3_000_000)
    for wanted in (1, 2, 4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(wanted):
            assert writer.stdout.readline() == "written\n"
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        content = (tmp_path / "f").read_text()
        assert len(content) == 3_000_000
        assert len(set(content)) == 1
        assert [name for name in os.listdir(tmp_path) if not name.startswith(".moorage-tmp-")] == ["f"]


async def test_acp_gateway_42_nothing_is_approved_without_its_diff(tmp_path: Path) -> None:
    person = Person(Approval.once())
    async with opened("mounted", tmp_path, ASKING, person) as agent:
        await agent.x.write_text("/f", "one\ntwo\n")
        await agent.edit("/f", "two", "2")
        await agent.done("write_file", path="/m/g", content="new\n")
        await agent.done("write_file", path="/m/f", content="all\n")
    assert [request.diff.splitlines()[2:] for request in person.asked] == [
        ["@@ -1,2 +1,2 @@", " one", "-two", "+2"],
        ["@@ -0,0 +1 @@", "+new"],
        ["@@ -1,2 +1 @@", "-one", "-2", "+all"],
    ]
    assert [request.byte_count for request in person.asked] == [6, 4, 4]


async def test_claude_code_86151_11380_88919_66525_a_kept_rule_is_applied_as_it_was_shown(tmp_path: Path) -> None:
    person = Person(Approval.for_session())
    async with opened("local", tmp_path, ASKING, person) as agent:
        for path in ("/out/a", "/out/a", "/out/b", "/out/deeper/c"):
            await agent.done("write_file", path=path, content=path)
        assert [request.rule for request in person.asked] == ["workspace_write_file under /out/**"]

        (agent.host / "out" / "l").symlink_to("../elsewhere")
        (agent.host / "elsewhere").mkdir()
        person.answer = Approval.refused()
        for path in ("/other", "/outer/a", "/out-b", "/out/l/x"):
            await agent.refused("approval_refused", "write_file", path=path, content="mine")
        await agent.refused("approval_refused", "edit_file", path="/out/a", old_string="out", new_string="in")
        assert len(person.asked) == 6
    assert sorted(os.listdir(agent.host)) == ["elsewhere", "out"]


async def test_claude_code_88114_30290_8660_the_preview_of_a_crlf_file_is_what_is_applied(tmp_path: Path) -> None:
    person = Person(Approval.once())
    async with opened("local", tmp_path, ASKING, person) as agent:
        (agent.host / "f").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        await agent.edit("/f", "two\nthree\n", "2\n3\n")
        assert (agent.host / "f").read_bytes() == b"one\r\n2\r\n3\r\n"
        removed = [line for line in person.asked[0].diff.splitlines() if line.startswith("-") and "---" not in line]
        added = [line for line in person.asked[0].diff.splitlines() if line.startswith("+") and "+++" not in line]
        assert ([line[1:4] for line in removed], [line[1:] for line in added]) == (["two", "thr"], ["2", "3"])
        assert person.asked[0].byte_count == len(b"one\r\n2\r\n3\r\n")


async def test_claude_code_54876_opencode_37090_codex_4003_lf_in_old_text_matches_crlf_and_keeps_it(
    agent: Agent,
) -> None:
    await agent.x.write_bytes("/f", b"one\r\ntwo\r\nthree\nfour\r\n")
    await agent.edit("/f", "one\ntwo\n", "1\n1.5\n2\n")
    await agent.edit("/f", "2\nthree\nfour", "2\n3\n4")
    assert (await agent.x.read_bytes("/f")).startswith(b"1\r\n1.5\r\n2\r\n3")
    assert (await agent.x.read_bytes("/f")).endswith(b"4\r\n")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["without", "with"])
async def test_claude_code_13363_copilot_cli_3389_a_byte_order_mark_neither_comes_nor_goes(
    agent: Agent, mark: bytes
) -> None:
    await agent.x.write_bytes("/f", mark + b"first\nlast\n")
    assert "\ufeff" not in await agent.read("/f")
    await agent.edit("/f", "first\n", "1st\n")
    await agent.edit("/f", "last", "end")
    assert await agent.x.read_bytes("/f") == mark + b"1st\nend\n"


async def test_servers_2034_4501_3752_a_mismatch_is_explained_and_nothing_is_applied(agent: Agent) -> None:
    content = "def f():\n\tif x:\n\t\treturn 1\n"
    await agent.x.write_text("/f.py", content)
    edit = {"path": f"{agent.at}/f.py", "old_string": "    if x:\n        return 1\n", "new_string": "pass\n"}
    result = await agent.refused("no_match", "edit_file", **edit)
    assert "     2→\tif x:" in result.text
    assert "     3→\t\treturn 1" in result.text
    assert "indentation" in result.text
    assert await agent.x.read_text("/f.py") == content


async def test_opencode_31768_30376_a_description_claims_no_check_that_is_off() -> None:
    on = {FILES.EDIT_FILE: {"require_read_before_write": True}, FILES.READ_FILE: {"max_output_tokens": 77}}
    said: list[dict[str, str]] = []
    for tools in (None, on):
        async with Workspace(filesystem=MemoryFilesystem(), tools=tools) as workspace:
            said.append({tool.name: tool.description for tool in await workspace.tools()})
    without, with_checks = said
    assert "must have been read" not in without[FILES.EDIT_FILE]
    assert "must have been read" in with_checks[FILES.EDIT_FILE]
    assert "2,000 tokens" in without[FILES.READ_FILE]
    assert "77 tokens" in with_checks[FILES.READ_FILE]
