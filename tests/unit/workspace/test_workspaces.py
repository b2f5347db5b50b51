"""The registry of workspaces."""

from __future__ import annotations

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import ConfigError, MemoryFilesystem
from moorage_workspace import Workspace, Workspaces, WorkspaceStatus

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def workspace(id: str) -> Workspace:  # noqa: A002
    return Workspace(id=id, filesystem=MemoryFilesystem())


async def test_an_agent_without_its_own_has_the_global_one() -> None:
    registry, shared, own = Workspaces(), workspace("shared"), workspace("own")
    registry.register(own, agent="writer")
    assert registry.get_workspace() is None
    assert registry.get_workspace("reader") is None
    registry.register(shared)
    assert registry.get_workspace() is shared
    assert registry.get_workspace("reader") is shared
    assert registry.get_workspace("writer") is own
    assert registry.get_workspace_by_id("own") is own
    assert registry.get_workspace_by_id("other") is None


async def test_each_is_listed_once() -> None:
    registry, shared, own = Workspaces(), workspace("shared"), workspace("own")
    for agent in (None, "a", "b"):
        registry.register(shared, agent=agent)
    registry.register(own, agent="c")
    assert registry.list_workspaces() == (shared, own)


async def test_one_id_is_of_one_workspace() -> None:
    registry = Workspaces()
    registry.register(workspace("docs"))
    with pytest.raises(ConfigError, match="docs"):
        registry.register(workspace("docs"), agent="a")


async def test_removing_forgets_and_destroys_only_when_asked_to() -> None:
    registry, shared, own = Workspaces(), workspace("shared"), workspace("own")
    registry.register(shared)
    registry.register(own, agent="writer")
    assert await registry.remove_workspace("own") is True
    assert own.status is WorkspaceStatus.PENDING
    assert registry.get_workspace("writer") is shared
    assert await registry.remove_workspace("own") is False
    assert await registry.remove_workspace("shared", destroy=True) is True
    assert shared.status is WorkspaceStatus.DESTROYED
    assert registry.get_workspace() is None
    assert registry.list_workspaces() == ()


async def test_shutdown_destroys_what_it_owns_and_reports_all_errors() -> None:
    registry, shared, borrowed = Workspaces(), workspace("shared"), workspace("borrowed")
    broken = []
    for number in range(2):
        sandbox = ToySandbox()
        sandbox.failing = ValueError(f"broken {number}")
        broken.append(Workspace(sandbox=sandbox))
        registry.register(broken[-1], agent=str(number))
    registry.register(shared)
    registry.register(borrowed, agent="b", owned=False)
    with pytest.raises(ExceptionGroup) as caught:
        await registry.shutdown()
    assert caught.value.subgroup(lambda error: str(error) == "broken 0") is not None
    assert caught.value.subgroup(lambda error: str(error) == "broken 1") is not None
    assert shared.status is WorkspaceStatus.DESTROYED
    assert borrowed.status is WorkspaceStatus.PENDING
    assert registry.list_workspaces() == ()
    await registry.shutdown()
