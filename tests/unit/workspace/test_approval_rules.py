"""The rule that a question offers: no wider than what is asked about, and applied once it is kept."""

from __future__ import annotations

import pytest
from tests.unit.workspace.asked_person import Person
from tests.unit.workspace.on_memory import ASK, workspace

from moorage import Filesystem, InvalidArgumentError, MemoryFilesystem, StoragePath
from moorage_workspace import WORKSPACE_TOOLS, ApprovalRule, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


async def filled(*paths: str) -> MemoryFilesystem:
    memory = MemoryFilesystem()
    for path in paths:
        await memory.write_text(path, "x")
    return memory


async def test_a_move_at_the_top_is_kept_for_these_two_paths_in_this_order() -> None:
    memory, person = await filled("/top1", "/a/x", "/top2"), Person()
    async with workspace(memory, tools=ASK, approver=person) as space, space.session() as session:
        for source, destination in (
            ("/top1", "/top3"),
            ("/top3", "/top1"),
            ("/top1", "/top3"),
            ("/top3", "/top1"),
            ("/top1", "/other"),
            ("/a/x", "/top2"),
        ):
            arguments = {"source": source, "destination": destination, "overwrite": True}
            assert (await session.call_tool(FILES.MOVE, arguments)).ok
    assert person.rules == [
        "workspace_move of /top1, /top3 in this order only",
        "workspace_move of /top3, /top1 in this order only",
        "workspace_move of /top1, /other in this order only",
        "workspace_move of /a/x, /top2 in this order only",
    ]


async def test_into_the_directory_above_the_rule_covers_both_ends() -> None:
    memory, person = await filled("/p/d/e/x", "/p/d/f/y"), Person()
    async with workspace(memory, tools=ASK, approver=person) as space, space.session() as session:
        for name in ("e", "f"):
            arguments = {"source": f"/p/d/{name}", "destination": "/p/d", "recursive": True, "overwrite": True}
            assert (await session.call_tool(FILES.COPY, arguments)).ok
    assert person.rules == ["workspace_copy under /p/**, directories with all that is in them too"]


@pytest.mark.parametrize("above", ["", "/m"])
async def test_across_mounts_what_is_kept_is_applied(above: str) -> None:
    one, two, person = await filled("/x", "/y"), MemoryFilesystem(), Person()
    mounts = {f"{above}/a": Filesystem(one.provider), f"{above}/b": two}
    async with Workspace(mounts=mounts, tools=ASK, approver=person) as space, space.session() as session:
        again = {"source": f"{above}/a/x", "destination": f"{above}/b/x", "overwrite": True}
        other = {"source": f"{above}/a/y", "destination": f"{above}/b/y"}
        for arguments in (again, again, other):
            assert (await session.call_tool(FILES.COPY, arguments)).ok
    if above:
        assert person.rules == ["workspace_copy under /m/**"]
    else:
        assert person.rules == [
            "workspace_copy of /a/x, /b/x in this order only",
            "workspace_copy of /a/y, /b/y in this order only",
        ]


async def test_a_rule_of_the_applications_own_covers_the_mounts_below_its_directory() -> None:
    mounts = {"/m/a": await filled("/x"), "/m/a/b": MemoryFilesystem(), "/n": MemoryFilesystem()}
    space = Workspace(mounts=mounts, nested_mounts=True, tools=ASK)
    async with space, space.session() as session:
        session.rules.keep(ApprovalRule(FILES.WRITE_FILE, below=StoragePath("/m/a")))
        session.rules.keep(ApprovalRule(FILES.LIST_FILES, below=StoragePath("/m")))
        written = [
            (await session.call_tool(FILES.WRITE_FILE, {"path": path, "content": "y"})).ok
            for path in ("/m/a/x", "/m/a/b/x", "/n/x")
        ]
        listed = [(await session.call_tool(FILES.LIST_FILES, {"path": path})).ok for path in ("/m/a", "/m/a/b", "/m")]
    assert written == [True, True, False]
    assert listed == [True, True, False]


def test_further_paths_come_after_a_first_one() -> None:
    path = StoragePath("/a")
    assert str(ApprovalRule("t", path=path, further=(StoragePath("/b"),))) == "t of /a, /b in this order only"
    with pytest.raises(InvalidArgumentError, match="after the first one"):
        ApprovalRule("t", below=path, further=(path,))
    with pytest.raises(InvalidArgumentError, match="further must be a list of StoragePath"):
        ApprovalRule("t", path=path, further=("/b",))  # type: ignore[arg-type]
