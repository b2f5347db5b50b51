"""Public bug reports about agents' file tools, each as the operations it reduces to: mounts, tenants and resuming."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.workspace.case_agents import EVERY, READ_FIRST, Agent, opened
from tests.servers.gcs import LocalGCSServer
from tests.servers.s3_server import S3Server

from moorage import Filesystem, MemoryFilesystem, Prefix, ReadOnly, RequestContext, Tracing
from moorage_gcs import GCSFilesystem
from moorage_local import LocalFilesystem
from moorage_s3 import S3Filesystem
from moorage_workspace import Session, ToolResult, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EVERY)
async def careful(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    """Where a file must have been read before it is changed."""
    async with opened(request.param, tmp_path, READ_FIRST) as agent:
        yield agent


async def call(session: Session, name: str, **arguments: object) -> ToolResult:
    return await session.call_tool(f"workspace_{name}", arguments)


async def code(session: Session, name: str, **arguments: object) -> str | None:
    result = await call(session, name, **arguments)
    return None if result.error is None else result.error.code


async def test_deepagentsjs_241_572_the_root_shows_each_mount_once_and_a_search_finds_each_line_once() -> None:
    shared = MemoryFilesystem()
    await shared.write_text("/f", "needle\n")
    mounts: dict[str, Any] = {
        "/a": shared,
        "/b": lambda context: shared,
        "/deep/c": Filesystem(ReadOnly(shared.provider)),
    }
    async with Workspace(mounts=mounts) as workspace, workspace.session() as session:
        for path in ("/", ".", "//"):
            listed = (await call(session, "list_files", path=path, max_depth=5)).text.splitlines()
            assert listed == [
                ".",
                "\ta",
                "\t\tf",
                "\tb",
                "\t\tf",
                "\tdeep",
                "\t\tc",
                "\t\t\tf",
                "",
                "4 directories, 3 files",
            ]
        found = (await call(session, "grep", pattern="needle", path="/")).text
        assert [found.count(f"{path}:1:1: needle") for path in ("a/f", "b/f", "deep/c/f")] == [1, 1, 1]
        assert "3 matches" in found


async def test_pyfilesystem2_486_a_mount_is_in_its_parents_listing() -> None:
    mounts = {"/a/b": MemoryFilesystem(), "/a/c/d": MemoryFilesystem()}
    async with Workspace(mounts=mounts) as workspace, workspace.session() as session:
        listed = (await call(session, "list_files", path="/a", max_depth=1)).text.splitlines()
        assert listed[:3] == [".", "\tb", "\tc"]
        assert await code(session, "write_file", path="/a/hidden", content="nowhere to go") == "no_mount"
        for path in ("/", "/a", "/a/b", "/a/c"):
            assert await code(session, "delete", path=path, recursive=True) is not None


async def test_mastra_17213_a_resolver_stands_beside_plain_mounts() -> None:
    own = {name: MemoryFilesystem() for name in ("one", "two")}
    shared = MemoryFilesystem()
    mounts: dict[str, Any] = {"/shared": shared, "/me": lambda context: own[context["tenant"]]}
    async with Workspace(mounts=mounts) as workspace:
        for name, files in own.items():
            await files.init()
            async with workspace.session({"tenant": name}) as session:
                assert await code(session, "write_file", path="/me/f", content=name) is None
                assert await code(session, "copy", source="/me/f", destination=f"/shared/{name}") is None
            assert await files.read_text("/f") == name
        assert sorted([entry.name for entry in await shared.list_dir("/")]) == ["one", "two"]


@pytest.mark.parametrize("wrap", ["composite", "prefix", "read-only", "tracing", "resolver", "all"])
async def test_mastra_17027_17034_what_is_missing_is_missing_through_every_wrapping(wrap: str) -> None:
    memory = MemoryFilesystem()
    await memory.write_text("/p/there", "1")
    prefixed = Filesystem(Prefix(memory.provider, "/p"))
    every = Filesystem(Tracing(ReadOnly(Prefix(memory.provider, "/p"))))
    grounds: dict[str, dict[str, Any]] = {
        "composite": {"mounts": {"/m": prefixed}},
        "prefix": {"filesystem": prefixed},
        "read-only": {"filesystem": Filesystem(ReadOnly(prefixed.provider))},
        "tracing": {"filesystem": Filesystem(Tracing(prefixed.provider))},
        "resolver": {"filesystem": lambda context: prefixed},
        "all": {"mounts": {"/m": lambda context: every}},
    }
    ground = grounds[wrap]
    at = "/m" if "mounts" in ground else ""
    async with Workspace(**ground) as workspace, workspace.session() as session:
        for path in (f"{at}/missing", f"{at}/missing/below"):
            assert await code(session, "read_file", path=path) == "not_found"
            assert await code(session, "list_files", path=path) == "not_found"
            stated = await call(session, "file_stat", path=path)
            assert stated.ok
            assert stated.structured["exists"] is False
        assert await code(session, "read_file", path=f"{at}/there/below") in {"not_found", "not_a_directory"}


async def test_openai_agents_3899_4255_a_record_holds_no_secret_and_opens_nothing(s3_like: Filesystem) -> None:
    await s3_like.write_text("/f", "one\n")
    workspace = Workspace(filesystem=s3_like, tools=READ_FIRST, secrets=["hunter2-hunter2"])
    async with workspace.session() as session:
        assert (await call(session, "read_file", path="/f")).ok
        dumped = session.dump()
    text = json.dumps(dumped)
    for secret in ("testkey", "testsecret", "hunter2-hunter2"):
        assert secret not in text
    assert list(dumped) == ["reads"]
    async with workspace.session() as resumed:
        resumed.load({**json.loads(text), "filesystem": "s3://elsewhere", "mounts": {"/x": "local:///"}})
        assert await resumed.filesystem() is s3_like
        assert await code(resumed, "write_file", path="/f", content="mine\n") is None


@pytest.fixture
def s3_like(moto: S3Server) -> Filesystem:
    bucket = moto.make_bucket()
    return S3Filesystem(bucket, endpoint_url=moto.endpoint_url, access_key_id="testkey", secret_access_key="testsecret")


async def test_openai_agents_js_1501_a_record_of_another_bucket_or_prefix_is_no_record(moto: S3Server) -> None:
    buckets = [moto.make_bucket(), moto.make_bucket()]
    places = [(buckets[0], "a/"), (buckets[0], "b/"), (buckets[1], "a/")]
    async with AsyncExitStack() as stack:
        sessions: list[Session] = []
        for bucket, prefix in places:
            files = S3Filesystem(
                bucket, prefix=prefix, endpoint_url=moto.endpoint_url, access_key_id="k", secret_access_key="s"
            )
            await files.write_text("/f", "the same bytes\n")
            workspace = await stack.enter_async_context(Workspace(filesystem=files, tools=READ_FIRST))
            sessions.append(await stack.enter_async_context(workspace.session()))
        assert (await call(sessions[0], "read_file", path="/f")).ok
        dumped = json.loads(json.dumps(sessions[0].dump()))
        for other in sessions[1:]:
            other.load(dumped)
            assert await code(other, "write_file", path="/f", content="mine\n") == "read_required"
        assert await code(sessions[0], "write_file", path="/f", content="mine\n") is None


async def test_mastra_24122_read_records_survive_a_resumption(careful: Agent) -> None:
    await careful.x.write_text("/a", "one\n")
    await careful.x.write_text("/b", "one\n")
    for path in ("/a", "/b"):
        await careful.read(path)
    dumped = json.loads(json.dumps(careful.session.dump()))
    await careful.x.write_text("/b", "two\n")
    async with careful.session.workspace.session(RequestContext(careful.session.context)) as resumed:
        edit = {"old_string": "o", "new_string": "0"}
        assert await code(resumed, "edit_file", path=f"{careful.at}/a", **edit) == "read_required"
        resumed.load(dumped)
        assert await code(resumed, "edit_file", path=f"{careful.at}/a", **edit) is None
        assert await code(resumed, "edit_file", path=f"{careful.at}/b", **edit) == "stale"
    assert await careful.x.read_text("/a") == "0ne\n"
    assert await careful.x.read_text("/b") == "two\n"


@pytest.mark.parametrize("store", ["s3", "gcs"])
async def test_deepagents_1877_1913_on_object_stores_too_nobodys_bytes_are_lost(
    store: str, request: pytest.FixtureRequest
) -> None:
    def client() -> Filesystem:
        if isinstance(server, S3Server):
            return S3Filesystem(bucket, endpoint_url=server.endpoint_url, access_key_id="k", secret_access_key="s")
        return GCSFilesystem(bucket, endpoint_url=server.endpoint_url, token="t")

    server: S3Server | LocalGCSServer = request.getfixturevalue("moto" if store == "s3" else "gcs_server")
    bucket = server.make_bucket()
    async with client() as x, Workspace(mounts={"/s": client()}) as workspace, workspace.session() as session:
        await x.write_text("/f", "one\n")
        assert (await call(session, "read_file", path="/s/f")).ok
        await x.write_text("/f", "theirs\n")
        edit = {"path": "/s/f", "old_string": "one", "new_string": "1"}
        assert await code(session, "edit_file", **edit) == "stale"
        assert await code(session, "write_file", path="/s/f", content="mine\n") == "stale"
        assert await code(session, "write_file", path="/s/f", content="mine\n", overwrite=False) is not None
        assert await x.read_text("/f") == "theirs\n"


async def test_agno_8334_pydantic_deepagents_187_octobot_3515_tenants_share_nothing(tmp_path: Path) -> None:
    """Many at once, on one workspace object, at the same path."""
    names = [f"tenant-{number}" for number in range(12)]

    async with AsyncExitStack() as stack:
        files = {name: await stack.enter_async_context(LocalFilesystem(tmp_path / name)) for name in names}
        workspace = await stack.enter_async_context(
            Workspace(filesystem=lambda context: files[context["tenant"]], tools=READ_FIRST)
        )

        async def work(name: str) -> None:
            context = RequestContext(tenant=name)
            await files[name].write_text("/f", f"{name} has read nothing\n")
            write = {"path": "/f", "content": f"{name}\n"}
            for _ in range(2):  # a session by its context, which the workspace keeps, and one of its own
                refused = await workspace.call_tool("workspace_write_file", write, context)
                assert refused.error is not None
                assert refused.error.code == "read_required"
            async with workspace.session(context) as session:
                assert name in (await call(session, "read_file", path="/f")).text
                assert (await call(session, "write_file", **write)).ok
            found = (await workspace.call_tool("workspace_grep", {"pattern": "tenant", "path": "/"}, context)).text
            assert f"f:1:1: {name}\n" in f"{found}\n"
            assert "1 match" in found

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(work, name)
        for name in names:
            assert await files[name].read_text("/f") == f"{name}\n"
