"""What each wrapper adds; that they pass the conformance suite is shown elsewhere."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from moorage import (
    BusyError,
    CompositeFilesystem,
    Filesystem,
    InvalidArgumentError,
    LimitExceededError,
    Limits,
    MemoryFilesystem,
    MemoryProvider,
    PathEscapeError,
    PathNotDirectoryError,
    PathNotFoundError,
    Prefix,
    Provider,
    ReadOnly,
    ReadOnlyError,
    StoragePath,
    Tracing,
)
from moorage_local import LocalFilesystem, LocalProvider

pytestmark = pytest.mark.anyio


async def test_a_prefix_is_a_root_of_its_own_before_anything_is_there() -> None:
    inner = MemoryProvider()
    async with Filesystem(Prefix(inner, "/tenant/a")) as fs, Filesystem(inner) as whole:
        assert await fs.list_dir("/") == []
        assert (await fs.stat("/")).is_dir
        with pytest.raises(PathNotFoundError) as missing:
            await fs.read_bytes("x//y")
        assert missing.value.path == "x//y"
        await fs.write_text("top", "1", create_parents=False)
        await fs.make_dir("/d", parents=False)
        assert await whole.read_text("/tenant/a/top") == "1"
        assert [str(entry.path) for entry in await fs.list_dir("/", recursive=True)] == ["/d", "/top"]
        for busy in (fs.remove_dir("/", recursive=True), fs.move("/", "/x")):
            with pytest.raises(BusyError):
                await busy


async def test_a_file_in_the_place_of_the_prefix_is_not_named_from_outside() -> None:
    inner = MemoryProvider()
    async with Filesystem(inner) as whole, Filesystem(Prefix(inner, "/a/b")) as fs:
        await whole.write_text("/a", "a file")
        with pytest.raises(PathNotDirectoryError) as raised:
            await fs.write_text("/x", "1")
        assert raised.value.path == "/"


@pytest.mark.parametrize("depth", ["bare", "read-only", "composite"])
async def test_no_link_leads_out_of_a_prefix(tmp_path: Path, depth: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "secret").write_text("secret")
    (tmp_path / "mine" / "out").symlink_to("../others")
    (tmp_path / "mine" / "secret").symlink_to("../others/secret")
    (tmp_path / "mine" / "absolute").symlink_to(tmp_path / "others" / "secret")
    inner: Provider = LocalProvider(tmp_path)
    prefix = "/mine"
    if depth == "read-only":
        inner = ReadOnly(inner)
    elif depth == "composite":
        inner, prefix = CompositeFilesystem({"/m": inner, "/n": MemoryFilesystem()}).provider, "/m/mine"
    async with Filesystem(Prefix(inner, prefix)) as fs:
        for path in ("/secret", "/out/secret", "/absolute"):
            with pytest.raises(PathEscapeError):
                await fs.read_bytes(path)
        if depth == "read-only":
            with pytest.raises(ReadOnlyError):
                await fs.write_text("/out/new", "x")
        else:
            with pytest.raises(PathEscapeError):
                await fs.write_text("/out/new", "x")
        assert sorted(entry.name for entry in await fs.list_dir("/")) == ["absolute", "out", "secret"]
    assert sorted(path.name for path in (tmp_path / "others").iterdir()) == ["secret"]


async def test_a_prefix_of_a_tree_sees_the_mounts_below_it() -> None:
    tree = CompositeFilesystem({"/a/b": MemoryFilesystem(), "/a/c": MemoryFilesystem(), "/z": MemoryFilesystem()})
    async with tree, Filesystem(Prefix(tree.provider, "/a")) as fs:
        await fs.write_text("/b/x", "1")
        assert [str(entry.path) for entry in await fs.list_dir("/", recursive=True)] == ["/b", "/b/x", "/c"]
        assert not await fs.exists("/z")
        assert await tree.read_text("/a/b/x") == "1"
        with pytest.raises(PathNotFoundError):
            Prefix(tree.provider, "/nowhere")


async def test_a_file_over_the_limit_is_refused_before_a_byte_lands() -> None:
    async with Filesystem(Limits(MemoryProvider(), max_file_size=10)) as fs:
        await fs.write_bytes("/f", b"0123456789")
        before = await fs.stat("/f")
        asked = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal asked
            while True:
                asked += 1
                yield b"xxxx"

        for call in (
            fs.write_bytes("/f", b"0123456789A"),
            fs.write_stream("/f", endless()),
            fs.append_bytes("/f", b"A"),
        ):
            with pytest.raises(LimitExceededError) as raised:
                await call
            assert (raised.value.path, raised.value.retryable) == ("/f", False)
        assert asked == 3
        assert await fs.stat("/f") == before
        assert (await fs.capabilities("/f")).max_object_size == 10
        with pytest.raises(LimitExceededError):
            await fs.write_bytes("/new", b"0123456789A")
        assert not await fs.exists("/new")


async def test_a_copy_of_what_is_over_the_limit_is_refused() -> None:
    inner = MemoryProvider()
    async with Filesystem(inner) as whole, Filesystem(Limits(inner, max_file_size=3)) as fs:
        await whole.write_bytes("/big", b"12345")
        with pytest.raises(LimitExceededError):
            await fs.copy("/big", "/copy")
        assert not await whole.exists("/copy")


class Slow(MemoryProvider):
    running = 0
    most = 0

    async def stat(self, path):  # type: ignore[no-untyped-def]
        self.running += 1
        self.most = max(self.most, self.running)
        await anyio.sleep(0.01)
        self.running -= 1
        return await super().stat(path)


async def test_no_more_in_flight_than_allowed_and_a_wait_has_a_limit() -> None:
    inner = Slow()
    async with Filesystem(Limits(inner, max_in_flight=3)) as fs, anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(fs.stat, "/")
    assert inner.most == 3

    async with Filesystem(Limits(Slow(), max_in_flight=1, max_wait=0.001)) as fs:
        refused: list[LimitExceededError] = []

        async def ask() -> None:
            try:
                await fs.stat("/")
            except LimitExceededError as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask)
        assert [error.retryable for error in refused] == [True] * 4


async def test_no_more_a_second_than_allowed() -> None:
    async with Filesystem(Limits(MemoryProvider(), rate=200)) as fs:
        started = time.monotonic()
        for _ in range(240):
            await fs.stat("/")
        assert time.monotonic() - started > 0.19  # 200 at once, and 40 at 200 a second
    async with Filesystem(Limits(MemoryProvider(), rate=1, max_wait=0)) as fs:
        with pytest.raises(LimitExceededError, match="a second"):
            for _ in range(5):
                await fs.stat("/")


@pytest.mark.parametrize("limit", ["max_file_size", "max_in_flight", "rate"])
def test_a_limit_of_nothing_is_a_mistake(limit: str) -> None:
    with pytest.raises(InvalidArgumentError, match=limit):
        Limits(MemoryProvider(), **{limit: 0})


async def test_a_native_path_is_withheld_where_a_restriction_would_not_hold(tmp_path: Path) -> None:
    local = LocalProvider(tmp_path)
    await local.start()
    root = StoragePath("/")
    assert (await local.capabilities(root)).native_path == str(tmp_path)
    assert (await Tracing(local).capabilities(root)).native_path == str(tmp_path)
    assert (await ReadOnly(local).capabilities(root)).native_path is None
    assert (await Limits(local, max_file_size=1).capabilities(root)).native_path is None
    assert str(tmp_path) not in repr(await local.capabilities(root))
    await local.aclose()


async def test_spans_and_counts_say_what_happened_and_not_where() -> None:
    spans = InMemorySpanExporter()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    metrics = InMemoryMetricReader()
    meter_provider = MeterProvider(metric_readers=[metrics])
    provider = Tracing(MemoryProvider(), tracer_provider=tracer_provider, meter_provider=meter_provider)
    async with Filesystem(provider) as fs:
        await fs.write_text("/secret-project/x", "1")
        assert [entry.name for entry in await fs.list_dir("/secret-project")] == ["x"]
        with pytest.raises(PathNotFoundError):
            await fs.read_text("/secret-project/y")
    finished = [(span.name, dict(span.attributes or {})) for span in spans.get_finished_spans()]
    outcomes = [(name, attributes["moorage.outcome"]) for name, attributes in finished]
    assert outcomes == [
        ("moorage.start", "ok"),
        ("moorage.write", "ok"),
        ("moorage.list", "ok"),
        ("moorage.read", "not_found"),
        ("moorage.aclose", "ok"),
    ]
    assert "secret-project" not in "".join(span.to_json() for span in spans.get_finished_spans())
    data = metrics.get_metrics_data()
    assert data is not None
    assert "moorage.operations" in data.to_json()
    assert "secret-project" not in data.to_json()
    meter_provider.shutdown()


async def test_paths_in_spans_only_when_asked_for() -> None:
    spans = InMemorySpanExporter()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    async with Filesystem(Tracing(MemoryProvider(), paths=True, tracer_provider=tracer_provider)) as fs:
        await fs.write_text("/a", "1")
        await fs.copy("/a", "/b")
    copied = spans.get_finished_spans()[2].attributes or {}
    assert (copied["moorage.path"], copied["moorage.target"]) == ("/a", "/b")


async def test_read_only_local_says_so_everywhere(tmp_path: Path) -> None:
    async with LocalFilesystem(tmp_path, read_only=True) as fs:
        assert fs.info().read_only
        assert "read-only" in fs.instructions()
        assert not (await fs.capabilities()).writable
        assert Filesystem(Tracing(fs.provider)).info().read_only


async def test_a_link_in_an_outer_mount_does_not_lead_to_what_an_inner_mount_hides(tmp_path: Path) -> None:
    (tmp_path / "prot").mkdir()
    (tmp_path / "prot" / "kept").write_text("kept")
    (tmp_path / "free").mkdir()
    for name, target in (("l", "prot"), ("m", "prot/kept"), ("n", "free")):
        (tmp_path / name).symlink_to(target)
    mounts = {"/w": LocalFilesystem(tmp_path), "/w/prot": LocalFilesystem(tmp_path / "prot", read_only=True)}
    async with CompositeFilesystem(mounts, nested=True) as tree:
        await tree.write_text("/w/n/f", "through a link to elsewhere")
        assert await tree.read_text("/w/free/f") == "through a link to elsewhere"
        for call in (
            tree.write_text("/w/l/f", "x"),
            tree.write_text("/w/m", "x"),
            tree.append_text("/w/l/kept", "x"),
            tree.delete("/w/l/kept"),
            tree.make_dir("/w/l/d"),
            tree.copy("/w/n/f", "/w/l/f"),
            tree.move("/w/n/f", "/w/l/f"),
            tree.move("/w/l/kept", "/w/f"),
            tree.remove_dir("/w/l/d"),
            tree.read_text("/w/m"),
            tree.stat("/w/l/kept"),
            tree.list_dir("/w/l"),
        ):
            with pytest.raises(PathEscapeError):
                await call
        with pytest.raises(ReadOnlyError):
            await tree.write_text("/w/prot/f", "x")
        await tree.delete("/w/l")
        await tree.delete("/w/m")
    assert [(path.name, path.read_text()) for path in (tmp_path / "prot").iterdir()] == [("kept", "kept")]
