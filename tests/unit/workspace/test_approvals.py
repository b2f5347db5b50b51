"""What a person approves is what happens: nothing else, nowhere else, and nothing that was not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import MemoryFilesystem
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Approval, ApprovalRequest, CommandResult, ExecuteOptions, Workspace
from moorage_workspace.redaction import Gate

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
EXECUTE = WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND
ASK = {"require_approval": True}


class Person:
    """Says yes, once or for the session, after ``meanwhile`` happened."""

    def __init__(self, answer: Approval | None = None, meanwhile: Callable[[], None] | None = None) -> None:
        self.asked: list[ApprovalRequest] = []
        self.answer = answer or Approval.once()
        self.meanwhile = meanwhile

    async def __call__(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is None:
            return self.answer if len(self.asked) == 1 else Approval.refused()
        meanwhile()
        return self.answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("out/sub", "prod"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "prod/conf").write_text("prod\n")
    return tmp_path


def turned(root: Path) -> None:
    (root / "out/sub").rmdir()
    (root / "out/sub").symlink_to("../prod")


async def test_a_directory_that_becomes_a_link_meanwhile_is_asked_about_again(root: Path) -> None:
    person = Person(meanwhile=lambda: turned(root))
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        result = await workspace.call_tool(FILES.WRITE_FILE, {"path": "out/sub/new", "content": "x"})
    assert not result.ok
    assert [request.summary for request in person.asked] == [
        "create /out/sub/new with 1 byte",
        "create /out/sub/new with 1 byte; /out/sub is a link to ../prod",
    ]
    assert not (root / "prod/new").exists()


async def test_what_is_copied_does_not_come_from_elsewhere(root: Path) -> None:
    (root / "out/sub/conf").write_text("prod\n")

    def swap() -> None:
        (root / "out/sub/conf").unlink()
        turned(root)

    person = Person(meanwhile=swap)
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        result = await workspace.call_tool(FILES.COPY, {"source": "out/sub", "destination": "new", "recursive": True})
    assert (result.ok, len(person.asked)) == (False, 2)
    assert not (root / "new").exists()


async def test_a_kept_rule_is_checked_again_under_the_lock(root: Path) -> None:
    person = Person(Approval.for_session())

    def turn(event: Any) -> None:
        if event.input["path"] == "out/sub/new":
            turned(root)

    async with (
        Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace,
        workspace.session(hooks={"before_tool_call": turn}) as session,
    ):
        assert (await session.call_tool(FILES.WRITE_FILE, {"path": "out/a", "content": "x"})).ok
        result = await session.call_tool(FILES.WRITE_FILE, {"path": "out/sub/new", "content": "x"})
    assert (result.ok, len(person.asked)) == (False, 2)
    assert not (root / "prod/new").exists()


async def test_a_rule_does_not_follow_its_own_directory_elsewhere(root: Path) -> None:
    person = Person(Approval.for_session())
    async with (
        Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        assert (await session.call_tool(FILES.WRITE_FILE, {"path": "out/sub/a", "content": "x"})).ok
        (root / "out/sub/a").unlink()
        turned(root)
        result = await session.call_tool(FILES.WRITE_FILE, {"path": "out/sub/b", "content": "x"})
    assert (result.ok, len(person.asked)) == (False, 2)


@pytest.mark.parametrize("tool", [FILES.DELETE, FILES.COPY, FILES.MOVE])
async def test_a_directory_whose_files_changed_meanwhile_is_asked_about_again(root: Path, tool: str) -> None:
    (root / "out/sub/x").write_text("junk")

    def change() -> None:
        (root / "out/sub/x").write_text("precious")

    person = Person(meanwhile=change)
    ends = {"path": "out/sub"} if tool == FILES.DELETE else {"source": "out/sub", "destination": "new"}
    more = {} if tool == FILES.MOVE else {"recursive": True}
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        result = await workspace.call_tool(tool, {**ends, **more})
    assert (result.ok, len(person.asked)) == (False, 2)
    assert (root / "out/sub/x").read_text() == "precious"
    assert not (root / "new").exists()


async def test_a_directory_that_rests_is_deleted_as_approved(root: Path) -> None:
    (root / "out/sub/x").write_text("junk")
    person = Person()
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        assert (await workspace.call_tool(FILES.DELETE, {"path": "out", "recursive": True})).ok
    assert not (root / "out").exists()


async def test_a_link_to_a_file_is_told(root: Path) -> None:
    (root / "out/l").symlink_to("../prod/conf")
    person = Person(Approval.refused())
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        await workspace.call_tool(FILES.WRITE_FILE, {"path": "out/l", "content": "x"})
    assert "; /out/l is a link" in person.asked[0].summary


async def test_a_mount_is_no_link(root: Path) -> None:
    person = Person(Approval.for_session())
    mounts = {"/a/b": LocalFilesystem(root), "/c": MemoryFilesystem()}
    async with (
        Workspace(mounts=mounts, approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        for name in ("1", "2"):
            assert (await session.call_tool(FILES.WRITE_FILE, {"path": f"/a/b/{name}", "content": "x"})).ok
    assert [request.summary for request in person.asked] == ["create /a/b/1 with 1 byte"]


async def test_a_rule_for_a_command_is_for_its_directory_and_its_way_of_running() -> None:
    person = Person(Approval.for_session())
    async with (
        Workspace(sandbox=ToySandbox(), approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        asked = {"command": "rm -f x*", "cwd": "sub"}
        assert (await session.call_tool(EXECUTE, asked)).ok
        assert (await session.call_tool(EXECUTE, asked)).ok
        for other in ({"cwd": "."}, {"cwd": None}, {"background": True}):
            assert not (await session.call_tool(EXECUTE, {**asked, **other})).ok
    assert [request.rule for request in person.asked] == [
        'workspace_execute_command in "sub": rm -f x*',
        'workspace_execute_command in ".": rm -f x*',
        "workspace_execute_command: rm -f x*",
        'workspace_execute_command in "sub" in the background: rm -f x*',
    ]


async def test_a_rule_to_delete_files_deletes_no_directory() -> None:
    files, person = MemoryFilesystem(), Person(Approval.for_session())
    for path in ("/out/a", "/out/b", "/out/d/x", "/out/e/x"):
        await files.write_text(path, "x")
    async with Workspace(filesystem=files, approver=person, tools=ASK) as workspace, workspace.session() as session:
        assert (await session.call_tool(FILES.DELETE, {"path": "/out/a"})).ok
        assert (await session.call_tool(FILES.DELETE, {"path": "/out/b", "recursive": True})).ok
        for path in ("/out/d", "/out"):
            assert not (await session.call_tool(FILES.DELETE, {"path": path, "recursive": True})).ok
        person.asked.clear()
        assert (await session.call_tool(FILES.DELETE, {"path": "/out/d", "recursive": True})).ok
        assert (await session.call_tool(FILES.DELETE, {"path": "/out/e", "recursive": True})).ok
        assert not (await session.call_tool(FILES.DELETE, {"path": "/out", "recursive": True})).ok
    assert [request.rule for request in person.asked] == [
        "workspace_delete under /out/**, directories with all that is in them too",
        "workspace_delete of /out only, directories with all that is in them too",
    ]


async def test_a_rule_to_copy_below_a_directory_lets_nothing_in_from_elsewhere() -> None:
    files, person = MemoryFilesystem(), Person(Approval.for_session())
    for path in ("/out/a", "/private/key"):
        await files.write_text(path, "x")
    async with Workspace(filesystem=files, approver=person, tools=ASK) as workspace, workspace.session() as session:
        assert (await session.call_tool(FILES.COPY, {"source": "/out/a", "destination": "/out/b"})).ok
        assert not (await session.call_tool(FILES.COPY, {"source": "/private/key", "destination": "/out/c"})).ok
    assert person.asked[1].paths == ("/private/key", "/out/c")


UNSEEN = "\u202e\u061c\u2066\u2069\u200b\u200f\u3164\u00ad\u180e\U000e0041"


async def test_no_character_deceives_who_is_asked() -> None:
    person = Person(Approval.refused())
    async with Workspace(filesystem=MemoryFilesystem(), approver=person, tools=ASK) as workspace:
        content = f"a{UNSEEN}\x1b[2K\rb\n\tc\n"
        await workspace.call_tool(FILES.WRITE_FILE, {"path": f"/out{UNSEEN}/a{UNSEEN}", "content": content})
    (request,) = person.asked
    texts = (*request.paths, request.summary, request.rule, request.diff, *map(str, request.arguments.values()))
    assert not any(character in text for text in texts for character in f"{UNSEEN}\x1b\r")
    spelled = "\\u{202e}\\u{61c}\\u{2066}\\u{2069}\\u{200b}\\u{200f}\\u{3164}\\u{ad}\\u{180e}\\u{e0041}"
    assert request.paths == (f"/out{spelled}/a{spelled}",)
    assert all(spelled in text for text in (request.summary, request.rule, request.diff, request.arguments["content"]))  # type: ignore[operator]
    assert f"+a{spelled}\\u{{1b}}[2K\\u{{d}}b\n+\tc\n" in request.diff


async def test_a_long_command_says_how_much_of_it_is_not_in_the_summary() -> None:
    person = Person(Approval.refused())
    command = "echo hi #" + " " * 1_200 + "\n\x1b[2Krm -rf sub\r"
    async with Workspace(sandbox=ToySandbox(), approver=person, tools=ASK) as workspace:
        await workspace.call_tool(EXECUTE, {"command": command})
    (request,) = person.asked
    assert request.summary.endswith(f"[and {len(command) - 1_000:,} more characters]")
    assert str(request.arguments["command"]).endswith("\n\\u{1b}[2Krm -rf sub\\u{d}")


async def test_a_large_question_is_drawn_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    redact = Gate.redact

    def noting(gate: Gate, text: str) -> str:
        if "ordinary" in text:
            threads.add(get_ident())
        return redact(gate, text)

    monkeypatch.setattr(Gate, "redact", noting)
    person = Person(Approval.refused())
    async with Workspace(filesystem=MemoryFilesystem(), approver=person, tools=ASK) as workspace:
        await workspace.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "ordinary line of text\n" * 90_000})
    assert threads
    assert get_ident() not in threads
    assert person.asked[0].diff.count("\n") < 500


class Printing(ToySandbox):
    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        return CommandResult(exit_code=0, stdout=f"in {self.host}/x\n", stderr="", duration=0)


async def test_a_file_that_names_the_hosts_directory_comes_back_as_it_is() -> None:
    files, sandbox = MemoryFilesystem(), Printing()
    content = f"root={sandbox.host}/x\n"
    await files.write_text("/cfg", content)
    async with Workspace(filesystem=files, sandbox=sandbox) as workspace, workspace.session() as session:
        read = await session.call_tool(FILES.READ_FILE, {"path": "/cfg", "show_line_numbers": False})
        assert content.rstrip() in read.text
        assert (await session.call_tool(FILES.WRITE_FILE, {"path": "/cfg", "content": content})).ok
        assert await files.read_text("/cfg") == content
        assert "in /workspace/x" in (await session.call_tool(EXECUTE, {"command": "pwd"})).text
