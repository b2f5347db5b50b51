"""What a model is told of where its files are and what its shell is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import MemoryFilesystem, RequestContext
from moorage_local import LocalFilesystem
from moorage_workspace import InstructionOptions, LocalSandbox, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_files_and_shell_are_joined_without_host_paths() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(display_name="Scratch"), sandbox=ToySandbox(host="/srv/x/work"))
    text = await workspace.get_instructions()
    assert "Scratch" in text
    assert "unsandboxed in /workspace" in text
    assert "/srv/x" not in text
    assert "does not see those of the file tools" in text


async def test_one_part_alone() -> None:
    assert await Workspace(filesystem=MemoryFilesystem(instructions="Files!")).get_instructions() == "Files!"
    assert await Workspace(sandbox=ToySandbox()).get_instructions() == "Commands run unsandboxed in /workspace."


@pytest.mark.parametrize(
    ("below", "place"), [("", "/workspace/name"), ("part", "/workspace/part/name"), ("../works", None)]
)
async def test_a_shell_in_the_same_directory_is_told_apart_from_one_elsewhere(
    tmp_path: Path, below: str, place: str | None
) -> None:
    (tmp_path / "work").mkdir()
    files = LocalFilesystem((tmp_path / "work" / below).resolve())
    async with Workspace(filesystem=files, sandbox=ToySandbox(host=str(tmp_path / "work"))) as workspace:
        text = await workspace.get_instructions()
    assert str(tmp_path) not in text
    if place is None:
        assert "does not see those of the file tools" in text
    else:
        assert f"their /name is {place} in the shell" in text
        assert "Read-only" not in text


async def test_of_two_directories_that_the_shell_shows_the_inner_one_counts(tmp_path: Path) -> None:
    class Two(ToySandbox):
        @property
        def host_paths(self) -> Mapping[str, str]:
            return {str(tmp_path): "/workspace", str(tmp_path / "inner"): "/inner"}

    async with Workspace(filesystem=LocalFilesystem(tmp_path / "inner" / "a"), sandbox=Two()) as workspace:
        assert "their /name is /inner/a/name in the shell" in await workspace.get_instructions()


async def test_it_says_openly_that_read_only_does_not_bind_a_shell_in_the_same_directory(tmp_path: Path) -> None:
    files = LocalFilesystem(tmp_path, read_only=True)
    async with Workspace(filesystem=files, sandbox=ToySandbox(host=str(tmp_path))) as workspace:
        assert "Read-only holds for the file tools alone." in await workspace.get_instructions()


async def test_mounts_that_the_shell_shows_are_told_apart_from_those_of_the_tools(tmp_path: Path) -> None:
    mounts: dict[str, Any] = {
        "/notes": LocalFilesystem(tmp_path / "notes"),
        "/manual": LocalFilesystem(tmp_path / "manual", read_only=True),
        "/data": MemoryFilesystem(),
    }
    async with Workspace(mounts=mounts, sandbox=ToySandbox()) as workspace:
        text = await workspace.get_instructions()
    _, _, shown = text.partition("at the same paths unless it says so:\n")
    assert shown.startswith("- /manual (read-only)\n- /notes\nOnly the file tools reach these;")
    assert shown.splitlines()[-1].startswith("- /data: ")


@pytest.mark.parametrize(
    ("of_files", "of_commands", "said"),
    [
        ("work/a", "work", "- /mine as {home}/a{start}; read-only holds for the file tools alone"),
        ("work", "work/b", "- /mine/b as {home}{start}; read-only holds for the file tools alone"),
    ],
)
@pytest.mark.parametrize("isolation", ["none", "bwrap"])
async def test_what_commands_reach_by_another_path_is_not_said_to_be_out_of_their_reach(
    tmp_path: Path, isolation: Any, of_files: str, of_commands: str, said: str
) -> None:
    for directory in (of_files, of_commands):
        (tmp_path / directory).mkdir(parents=True, exist_ok=True)
    (tmp_path / "work" / "b").mkdir(exist_ok=True)
    mounts: dict[str, Any] = {"/mine": LocalFilesystem(tmp_path / of_files, read_only=True)}
    sandbox = LocalSandbox(tmp_path / of_commands, isolation=isolation)
    async with Workspace(mounts=mounts, sandbox=sandbox) as workspace:
        text = await workspace.get_instructions()
    home, start = ("/workspace", "") if isolation == "bwrap" else (".", ", from the directory that commands start in,")
    assert "The shell has the same directories as the file tools here, at paths of its own:" in text
    assert said.format(home=home, start=start) in text
    assert "does not see" not in text
    assert str(tmp_path) not in text


async def test_a_read_only_mount_within_another_is_no_way_around_it(tmp_path: Path) -> None:
    for directory in ("work", "manual/part"):
        (tmp_path / directory).mkdir(parents=True)
    mounts: dict[str, Any] = {
        "/manual": LocalFilesystem(tmp_path / "manual", read_only=True),
        "/part": LocalFilesystem(tmp_path / "manual/part", read_only=True),
    }
    async with Workspace(mounts=mounts, sandbox=LocalSandbox(tmp_path / "work", isolation="bwrap")) as workspace:
        text = await workspace.get_instructions()
    assert "- /manual (read-only)\n- /part (read-only)" in text
    assert "file tools alone" not in text


async def test_where_mounts_are_links_the_shell_has_other_paths(tmp_path: Path) -> None:
    for part in ("work", "notes", "files"):
        (tmp_path / part).mkdir()
    mounts: dict[str, Any] = {"/notes": LocalFilesystem(tmp_path / "notes")}
    sandbox = LocalSandbox(tmp_path / "work")
    async with Workspace(mounts=mounts, sandbox=sandbox) as workspace:
        assert (await workspace.call_tool("workspace_write_file", {"path": "/notes/a", "content": "hello"})).ok
        text = await workspace.get_instructions()
        assert "- /notes as ./notes, from the directory that commands start in" in text
        assert (await sandbox.execute_command("cat ./notes/a")).stdout == "hello"
    files = LocalFilesystem(tmp_path / "files")
    async with Workspace(filesystem=files, sandbox=LocalSandbox(tmp_path)) as workspace:
        text = await workspace.get_instructions()
        assert "their /name is ./files/name, from the directory that commands start in, in the shell" in text
    assert str(tmp_path) not in text


async def test_of_mounts_without_a_shell_only_the_tree_is_told() -> None:
    text = await Workspace(mounts={"/data": MemoryFilesystem()}).get_instructions()
    assert "/data" in text
    assert "shell" not in text


async def test_a_filesystem_that_is_chosen_is_resolved_and_gets_the_context() -> None:
    def choose(context: RequestContext) -> MemoryFilesystem:
        return MemoryFilesystem(instructions=lambda default, asked: f"For {context['user']}.")

    assert await Workspace(filesystem=choose).get_instructions({"user": "Ada"}) == "For Ada."


async def test_of_a_sandbox_that_is_chosen_a_fixed_text_is_said_without_choosing_it() -> None:
    def choose(context: RequestContext) -> ToySandbox:
        raise AssertionError

    default = await Workspace(sandbox=choose).get_instructions()
    assert "chosen for each request" in default
    options = InstructionOptions(dynamic_sandbox="placeholder")
    assert await Workspace(sandbox=choose, instructions=options).get_instructions() == default

    async def say(context: RequestContext) -> str:
        return f"Ask {context['user']}."

    for said in (lambda context: f"Ask {context['user']}.", say):
        workspace = Workspace(sandbox=choose, instructions={"dynamic_sandbox": said})
        assert await workspace.get_instructions({"user": "Ada"}) == "Ask Ada."


async def test_or_it_is_chosen() -> None:
    workspace = Workspace(sandbox=lambda context: ToySandbox(), instructions={"dynamic_sandbox": "resolve"})
    assert await workspace.get_instructions() == "Commands run unsandboxed in /workspace."


async def test_a_model_is_told_that_absolute_paths_are_refused() -> None:
    text = await Workspace(
        filesystem=MemoryFilesystem(instructions="Files!"), path_policy="relative"
    ).get_instructions()
    assert text.startswith("Files!\n\nWrite the paths of files relative")


async def test_no_secret_is_told() -> None:
    workspace = Workspace(filesystem=MemoryFilesystem(instructions="Use hunter2hunter2."), secrets=["hunter2hunter2"])
    assert "hunter2" not in await workspace.get_instructions()
