"""A kept approval does not follow a link, not even to a neighbour in the same directory; the question names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.unit.workspace.asked_person import Person
from tests.unit.workspace.on_memory import ASK

from moorage import Entry, Kind, MemoryFilesystem, PermissionDeniedError, Stat, StoragePath
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ApprovalRule, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
WRITE = FILES.WRITE_FILE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("out", "prod"):
        (tmp_path / name).mkdir()
    (tmp_path / "prod/conf").write_text("prod\n")
    (tmp_path / "deploy.sh").write_text("important\n")
    return tmp_path


async def test_a_file_that_becomes_a_link_to_its_neighbour_is_asked_about(root: Path) -> None:
    person = Person()
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        async with workspace.session() as session:
            for content in ("1\n", "2\n"):
                assert (await session.call_tool(WRITE, {"path": "notes", "content": content})).ok
        async with workspace.session() as session:
            session.rules.keep(ApprovalRule(WRITE, path=StoragePath("/notes")))
            (root / "notes").unlink()
            (root / "notes").symlink_to("deploy.sh")
            await session.call_tool(WRITE, {"path": "notes", "content": "3\n"})
    assert person.summaries == [
        "create /notes with 2 bytes",
        "replace /notes, 10 bytes, with 2 bytes; /notes is a link to deploy.sh",
    ]


@pytest.mark.parametrize("below", ["/out", "/out/sub"])
async def test_a_directory_that_becomes_a_link_to_its_neighbour_is_asked_about(root: Path, below: str) -> None:
    (root / "prod/sub").mkdir()
    person = Person()
    async with (
        Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        session.rules.keep(ApprovalRule(WRITE, below=StoragePath(below)))
        assert (await session.call_tool(WRITE, {"path": f"{below}/a", "content": "1"})).ok
        assert person.asked == []
        for path in sorted((root / "out").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (root / "out").rmdir()
        (root / "out").symlink_to("prod")
        await session.call_tool(WRITE, {"path": f"{below}/b", "content": "1"})
    assert person.summaries == [f"create {below}/b with 1 byte; /out is a link to prod"]


async def test_a_link_in_the_place_of_a_directory_with_an_absolute_target_is_one(root: Path) -> None:
    (root / "lnk").symlink_to(root / "prod")
    person = Person()
    async with Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace:
        await workspace.call_tool(WRITE, {"path": "lnk/new", "content": "1"})
    assert person.summaries == ["create /lnk/new with 1 byte; /lnk is a link to /prod"]


async def test_no_rule_is_offered_where_none_would_apply(root: Path) -> None:
    (root / "lnk").symlink_to("prod")
    person = Person()
    async with (
        Workspace(filesystem=LocalFilesystem(root), approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        for content in ("1", "2"):
            assert (await session.call_tool(WRITE, {"path": "lnk/new", "content": content})).ok
        assert list(session.rules) == []
    assert person.rules == ["", ""]


async def unlistable(path: StoragePath, recursive: bool = False) -> AsyncGenerator[Entry]:
    if path.is_root:
        raise PermissionDeniedError("not to be listed", path=str(path))
    yield Entry(path, Stat(Kind.DIRECTORY))


@pytest.mark.parametrize("listing", [unlistable, MemoryFilesystem().scan_dir])
async def test_a_directory_that_is_not_among_the_names_there_is_asked_about(
    root: Path, listing: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, person = LocalFilesystem(root), Person()
    async with (
        Workspace(filesystem=files, approver=person, tools=ASK) as workspace,
        workspace.session() as session,
    ):
        session.rules.keep(ApprovalRule(WRITE, below=StoragePath("/out")))
        assert (await session.call_tool(WRITE, {"path": "out/a", "content": "1"})).ok
        monkeypatch.setattr(files, "scan_dir", listing)
        assert (await session.call_tool(WRITE, {"path": "out/b", "content": "1"})).ok
    assert person.summaries == ["create /out/b with 1 byte; /out may lead elsewhere"]
