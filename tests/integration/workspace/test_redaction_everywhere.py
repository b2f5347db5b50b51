"""One secret in every place from which it could reach a model, a person or a log: found in none of them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from moorage_local import LocalFilesystem
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRequest,
    LocalSandbox,
    Session,
    ToolResult,
    Workspace,
)
from moorage_workspace.audit import AuditEvent, JsonLinesSink, LoggingSink
from moorage_workspace.redaction import MASK

pytestmark = pytest.mark.anyio

SHAPED = "glpat-AbCdEfGhIjKlMnOpQrSt"
LITERAL = "correct-horse-battery-staple"
INHERITED = "from-the-environment-42"
KEY = "\n".join(
    ["-----BEGIN PRIVATE KEY-----", *(f"MIIEvQIBADANBgkqhkiG9w0BAQEFAAS{number:030}" for number in range(40))]
)
SECRETS = (SHAPED, LITERAL, INHERITED, "MIIEvQIBADANBgkqhkiG9w0BAQEFAAS")


class Watched:
    """A session of which everything that comes out is looked at."""

    def __init__(self, session: Session, room: Path) -> None:
        self.session = session
        self.room = room
        self.asked: list[ApprovalRequest] = []
        self.events: list[AuditEvent] = []

    async def call(self, name: str, **arguments: object) -> ToolResult:
        result = await self.session.call_tool(f"workspace_{name}", arguments)
        clean(f"{result!r}")
        clean(result.text)
        clean(str(dict(result.structured)))
        return result

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return Approval.once()


def clean(text: str) -> None:
    assert [secret for secret in SECRETS if secret in text] == []
    assert str(Path.cwd()) not in text


@pytest.fixture
async def agent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Watched]:
    caplog.set_level(logging.DEBUG)
    events: list[AuditEvent] = []
    trail = tmp_path / "audit.jsonl"
    files = WORKSPACE_TOOLS.FILESYSTEM
    workspace = Workspace(
        filesystem=LocalFilesystem(tmp_path / "ws"),
        sandbox=LocalSandbox(tmp_path / "ws", env={"INHERITED": SecretStr(INHERITED)}),
        secrets=[LITERAL],
        audit=[events.append, JsonLinesSink(trail), LoggingSink()],
        tools={key: {"require_approval": True} for key in (files.WRITE_FILE, files.EDIT_FILE, files.DELETE)},
    )
    async with workspace, workspace.session() as session:
        watched = Watched(session, tmp_path / "ws")
        watched.events = events
        session.approver = watched.approve
        yield watched
    clean(repr(watched.asked))
    clean(repr(events))
    clean(trail.read_text())
    clean(caplog.text)
    assert len(trail.read_text().splitlines()) == len(events) > 0


@pytest.mark.parametrize("secret", [SHAPED, LITERAL])
async def test_in_a_file(agent: Watched, secret: str) -> None:
    (agent.room / "a.txt").write_text(f"before\nkey {secret}\nafter\n")
    result = await agent.call("read_file", path="/a.txt")
    assert MASK in result.text
    assert "     3→after" in result.text
    found = await agent.call("grep", pattern="key", path="/", context_lines=1)
    assert MASK in found.text
    assert not (await agent.call("grep", pattern=secret[:12] + "zz", path="/")).structured.get("error")


async def test_in_a_private_key_whichever_lines_are_read(agent: Watched) -> None:
    (agent.room / "key.pem").write_text(f"top\n{KEY}\n-----END PRIVATE KEY-----\nbottom\n")
    for offset in (1, 2, 3, 20):
        await agent.call("read_file", path="/key.pem", offset=offset, limit=5)
    assert "bottom" in (await agent.call("read_file", path="/key.pem", offset=40)).text
    await agent.call("grep", pattern="MIIE", path="/")
    await agent.call("grep", pattern="0{20}", path="/", context_lines=2)


@pytest.mark.parametrize("secret", [SHAPED, LITERAL])
async def test_in_a_name(agent: Watched, secret: str) -> None:
    (agent.room / f"{secret}.txt").write_text("one\n")
    await agent.call("list_files")
    await agent.call("grep", pattern="one", path="/")
    for path in (f"/{secret}.txt", f"/{secret}.tx", f"/{secret}.txt/below"):
        await agent.call("read_file", path=path)
        await agent.call("file_stat", path=path)
        await agent.call("edit_file", path=path, old_string="zero", new_string="two")
    await agent.call("edit_file", path=f"/{secret}.txt", old_string="one", new_string="two")
    assert agent.asked
    await agent.call("delete", path=f"/{secret}.txt")


@pytest.mark.parametrize("secret", [SHAPED, LITERAL])
async def test_in_a_diff_an_approval_and_an_argument(agent: Watched, secret: str) -> None:
    (agent.room / "a.txt").write_text(f"one\n{secret}\ntwo\n")
    result = await agent.call("edit_file", path="/a.txt", old_string="one", new_string="1")
    assert result.ok
    assert (agent.room / "a.txt").read_text() == f"1\n{secret}\ntwo\n"
    assert MASK in agent.asked[0].diff
    assert (await agent.call("write_file", path="/new.txt", content=f"mine: {secret}\n")).ok
    assert (agent.room / "new.txt").read_text() == f"mine: {secret}\n"
    await agent.call("edit_file", path="/a.txt", old_string=f"nothing {secret}", new_string="x")
    await agent.call(f"no-such-{secret}", path=secret)
    await agent.call("read_file", path="/a.txt", **{secret: 1})


async def test_in_the_output_of_a_command_split_across_chunks(agent: Watched) -> None:
    for secret in (SHAPED, LITERAL):
        half = len(secret) // 2
        parts = f"printf %s {secret[:half]}; sleep 0.2; printf '%s\\n' {secret[half:]}"
        result = await agent.call("execute_command", command=f"{parts}; {parts} >&2; echo after")
        assert "after" in result.text
        started = await agent.call("execute_command", command=f"{parts}; echo end; exec sleep 100", background=True)
        pid = started.structured["pid"]
        with anyio.fail_after(60):
            while "end" not in (await agent.call("get_process_output", pid=pid)).text:  # noqa: ASYNC110 (another process)
                await anyio.sleep(0.05)
        await agent.call("kill_process", pid=pid)
    await agent.call("execute_command", command="env; echo $INHERITED | rev | rev")
    await agent.call("execute_command", command="$INHERITED")
    assert str(agent.room.parent) not in (await agent.call("execute_command", command="pwd; ls -d $PWD/*")).text


async def test_at_the_edge_of_what_is_cut_off(agent: Watched) -> None:
    for secret in (SHAPED, LITERAL):
        for before in range(7_960, 8_010, 7):
            (agent.room / "edge.txt").write_text("x" * before + " " + secret + " " + "y" * 9_000)
            for beginning in (SHAPED[6:12], LITERAL[:9]):
                assert beginning not in (await agent.call("read_file", path="/edge.txt")).text
            shown = await agent.call("execute_command", command="cat edge.txt")
            assert LITERAL[:9] not in shown.text


async def test_writing_the_mask_back_is_refused(agent: Watched) -> None:
    (agent.room / "a.txt").write_text(f"one\n{SHAPED}\n")
    seen = (await agent.call("read_file", path="/a.txt", show_line_numbers=False)).text
    body = seen.partition("\n")[2]
    assert MASK in body
    for name, arguments in (
        ("write_file", {"path": "/a.txt", "content": body}),
        ("edit_file", {"path": "/a.txt", "old_string": "one", "new_string": f"one {MASK}"}),
    ):
        result = await agent.call(name, **arguments)
        assert result.error is not None
        assert result.error.code == "masked_content"
    assert (agent.room / "a.txt").read_text() == f"one\n{SHAPED}\n"
    assert agent.asked == []
