"""Who gets which filesystem and sandbox, and for how long."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import anyio
import pytest
from tests.unit.workspace.toys import ToySandbox, Watched, choose_memory, choose_sandbox

from moorage import (
    Filesystem,
    InvalidArgumentError,
    MemoryFilesystem,
    MemoryProvider,
    RequestContext,
    TenantCache,
)
from moorage_workspace import WORKSPACE_TOOLS, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_static_ones_are_given_as_they_are() -> None:
    filesystem, sandbox = MemoryFilesystem(), ToySandbox()
    workspace = Workspace(filesystem=filesystem, sandbox=sandbox)
    assert workspace.filesystem is filesystem
    assert workspace.sandbox is sandbox
    assert await workspace.resolve_filesystem(RequestContext()) is filesystem
    assert await workspace.resolve_sandbox(RequestContext()) is sandbox


async def test_a_provider_is_as_good_as_a_filesystem() -> None:
    provider = MemoryProvider()
    workspace = Workspace(filesystem=provider)
    assert workspace.filesystem is not None
    assert workspace.filesystem.provider is provider


async def test_what_is_not_configured_is_none() -> None:
    files, shell = Workspace(filesystem=MemoryFilesystem()), Workspace(sandbox=ToySandbox())
    assert (files.has_filesystem_config, files.has_sandbox_config) == (True, False)
    assert (shell.has_filesystem_config, shell.has_sandbox_config) == (False, True)
    assert (files.sandbox, shell.filesystem) == (None, None)
    assert await files.resolve_sandbox() is None
    assert await shell.resolve_filesystem() is None


async def test_with_resolvers_nothing_is_static() -> None:
    workspace = Workspace(filesystem=choose_memory, sandbox=choose_sandbox)
    assert (workspace.filesystem, workspace.sandbox) == (None, None)
    assert (workspace.has_filesystem_config, workspace.has_sandbox_config) == (True, True)


async def test_resolvers_run_once_a_context_object_however_many_ask() -> None:
    asked: list[object] = []

    async def files(context: RequestContext) -> Filesystem:
        asked.append(context)
        await anyio.wait_all_tasks_blocked()
        return MemoryFilesystem()

    async def shell(context: RequestContext) -> ToySandbox:
        asked.append(context)
        await anyio.wait_all_tasks_blocked()
        return ToySandbox()

    workspace = Workspace(filesystem=files, sandbox=shell)
    one, equal = RequestContext(tenant="a"), RequestContext(tenant="a")
    found: list[object] = []

    async def ask(context: RequestContext) -> None:
        found.append(await workspace.resolve_filesystem(context))
        found.append(await workspace.resolve_sandbox(context))

    async with anyio.create_task_group() as tasks:
        for context in (one, one, one, equal):
            tasks.start_soon(ask, context)
    async with workspace.session(one) as session:
        found += [await session.filesystem(), await session.sandbox()]
    assert len(asked) == 4
    assert sum(context is one for context in asked) == 2
    assert len(set(map(id, found))) == 4


async def test_a_failure_of_a_resolver_is_not_kept() -> None:
    left = [ValueError("files"), ValueError("shell")]

    def files(context: RequestContext) -> Filesystem:
        if len(left) > 1:
            raise left.pop(0)
        return MemoryFilesystem()

    def shell(context: RequestContext) -> ToySandbox:
        if left:
            raise left.pop(0)
        return ToySandbox()

    workspace = Workspace(filesystem=files, sandbox=shell, sandbox_cache_key=lambda context: "key")
    context = RequestContext()
    with pytest.raises(ValueError, match="files"):
        await workspace.resolve_filesystem(context)
    assert await workspace.resolve_filesystem(context) is not None
    with pytest.raises(ValueError, match="shell"):
        await workspace.resolve_sandbox(context)
    assert await workspace.resolve_sandbox(context) is not None


@pytest.mark.parametrize("answer", [None, 3, "/srv"])
async def test_a_resolver_must_return_what_it_is_for(answer: Any) -> None:
    workspace = Workspace(filesystem=lambda context: answer, sandbox=lambda context: answer)
    with pytest.raises(InvalidArgumentError, match="not a Filesystem"):
        await workspace.resolve_filesystem(RequestContext())
    with pytest.raises(InvalidArgumentError, match="not a Sandbox"):
        await workspace.resolve_sandbox(RequestContext())


async def test_requests_of_one_key_share_a_sandbox_until_the_cache_is_cleared() -> None:
    workspace = Workspace(sandbox=choose_sandbox, sandbox_cache_key=lambda context: context.get("thread"))  # type: ignore[arg-type,return-value]
    a = await workspace.resolve_sandbox(RequestContext(thread="a"))
    b = await workspace.resolve_sandbox(RequestContext(thread="b"))
    assert a is not b
    assert await workspace.resolve_sandbox(RequestContext(thread="a")) is a

    workspace.clear_sandbox_cache("a")
    assert await workspace.resolve_sandbox(RequestContext(thread="a")) is not a
    assert await workspace.resolve_sandbox(RequestContext(thread="b")) is b
    workspace.clear_sandbox_cache()
    assert await workspace.resolve_sandbox(RequestContext(thread="b")) is not b
    workspace.clear_sandbox_cache("unknown")
    assert isinstance(a, ToySandbox)
    assert a.log == []

    keyless = RequestContext()
    assert await workspace.resolve_sandbox(keyless) is await workspace.resolve_sandbox(keyless)
    assert await workspace.resolve_sandbox(keyless) is not await workspace.resolve_sandbox(RequestContext())


async def test_a_key_must_be_a_text() -> None:
    workspace = Workspace(sandbox=choose_sandbox, sandbox_cache_key=lambda context: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidArgumentError, match="sandbox_cache_key"):
        await workspace.resolve_sandbox(RequestContext())


async def test_nothing_keeps_a_context_or_what_was_resolved_for_it() -> None:
    kept: list[weakref.ref[object]] = []

    def files(context: RequestContext) -> Filesystem:
        filesystem = MemoryFilesystem()
        kept.extend([weakref.ref(context), weakref.ref(filesystem)])
        return filesystem

    def shell(context: RequestContext) -> ToySandbox:
        sandbox = ToySandbox()
        kept.append(weakref.ref(sandbox))
        return sandbox

    workspace = Workspace(filesystem=files, sandbox=shell)

    async def request() -> None:
        context = RequestContext(tenant="a")
        await workspace.resolve_filesystem(context)
        await workspace.resolve_sandbox(context)
        await workspace.call_tool(FILES.FILE_STAT, {"path": "/"}, context)

    for _ in range(50):
        await request()
    await workspace.tools()
    gc.collect()
    assert len(kept) == 150
    assert [one for one in kept if one() is not None] == []


async def test_what_a_resolver_returned_is_neither_started_nor_closed() -> None:
    log: list[str] = []
    filesystem, sandbox = Filesystem(Watched(log)), ToySandbox(log)
    workspace = Workspace(filesystem=lambda context: filesystem, sandbox=lambda context: sandbox)
    async with workspace, workspace.session() as session:
        assert await session.filesystem() is filesystem
        assert await session.sandbox() is sandbox
    assert log == []


async def test_a_tenants_cache_gives_leases_that_last_as_long_as_sessions() -> None:
    log: list[str] = []
    cache = TenantCache(lambda context: Filesystem(Watched(log)))
    workspace = Workspace(filesystem=cache)
    async with workspace.session({"tenant": "a"}) as session, workspace.session({"tenant": "a"}) as other:
        assert (await session.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "one"})).ok
        assert (await other.call_tool(FILES.READ_FILE, {"path": "/a"})).text.endswith("one")
        await cache.aclose()
        await session.aclose()
        assert log == ["filesystem start"]
    assert log == ["filesystem start", "filesystem close"]
    await workspace.destroy()


async def test_mounts_may_be_chosen_per_request() -> None:
    tenants: dict[object, MemoryFilesystem] = {"a": MemoryFilesystem(), "b": MemoryFilesystem()}
    shared = MemoryFilesystem()
    workspace = Workspace(mounts={"/shared": shared, "/me": lambda context: tenants[context["tenant"]]})
    assert workspace.filesystem is not None
    one, other = RequestContext(tenant="a"), RequestContext(tenant="b")
    async with workspace:
        assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/me/x", "content": "a's"}, one)).ok
        assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/shared/x", "content": "all"}, one)).ok
        assert "all" in (await workspace.call_tool(FILES.READ_FILE, {"path": "/shared/x"}, other)).text
        missing = await workspace.call_tool(FILES.READ_FILE, {"path": "/me/x"}, other)
        assert missing.error is not None
        assert missing.error.code == "not_found"
        tree = await workspace.resolve_filesystem(one)
        assert tree is await workspace.resolve_filesystem(one)
        assert tree is not None
        assert await tree.read_text("/me/x") == "a's"


async def test_a_mount_that_was_chosen_is_closed_once_its_context_is_gone() -> None:
    log: list[str] = []
    workspace = Workspace(mounts={"/me": lambda context: Filesystem(Watched(log))})
    context = RequestContext()
    assert (await workspace.call_tool(FILES.WRITE_FILE, {"path": "/me/x", "content": "a"}, context)).ok
    assert log == ["filesystem start"]
    del context
    gc.collect()
    await workspace.tools()
    assert log == ["filesystem start", "filesystem close"]
    await workspace.destroy()
