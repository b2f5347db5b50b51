"""Appends: composed by the store where the object is large, and nothing of them seen beside it."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import anyio.to_thread
import pytest
from tests.integration.gcs.support import opened
from tests.servers.faults import Rule, Stall, gcs_error
from tests.servers.gcs import LocalGCSServer
from tests.servers.proxy import Proxy

from moorage import Filesystem, InvalidPathError, StaleFileError
from moorage_gcs import GCSProvider
from moorage_gcs.appending import FROM_SIZE, RESERVED
from moorage_gcs.probing import PROBE_NAME

pytestmark = pytest.mark.anyio

LARGE = b"o" * FROM_SIZE


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    bucket = gcs_server.make_bucket()
    gcs_server.put("log", LARGE, bucket=bucket, content_type="text/plain")
    return bucket


async def test_a_large_file_is_not_sent_again(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    async with opened(gcs_proxy, bucket) as fs:
        stat = await fs.stat("/log")
        for index in range(3):
            gcs_proxy.reset()
            stat = await fs.append_bytes("/log", b"line %d\n" % index)
            assert gcs_proxy.count("compose") == 1
            assert sum(int(seen.head.headers.get("content-length", "0")) for seen in gcs_proxy.requests) < 5000
        assert stat == await fs.stat("/log")
        assert stat.media_type == "text/plain"
        assert await fs.read_bytes("/log", FROM_SIZE) == b"line 0\nline 1\nline 2\n"
    assert gcs_server.keys(bucket=bucket) == ["log"]


async def test_concurrent_appends_lose_nothing(gcs_server: LocalGCSServer, bucket: str) -> None:
    async with opened(gcs_server, bucket) as one, opened(gcs_server, bucket) as two:
        async with anyio.create_task_group() as group:
            for index in range(12):
                fs: Filesystem = (one, two)[index % 2]
                group.start_soon(fs.append_bytes, "/log", b"%02d\n" % index)
        assert sorted((await one.read_bytes("/log", FROM_SIZE)).split()) == [b"%02d" % index for index in range(12)]
    assert gcs_server.keys(bucket=bucket) == ["log"]


async def test_an_expected_time_that_this_client_has_not_seen_itself(gcs_server: LocalGCSServer, bucket: str) -> None:
    gcs_server.put("small", b"1", bucket=bucket)
    for path in ("/log", "/small"):
        async with opened(gcs_server, bucket) as other:
            time = (await other.stat(path)).modified_at
        assert time is not None
        async with opened(gcs_server, bucket) as fs:
            with pytest.raises(StaleFileError):
                await fs.append_bytes(path, b"2", expected_mtime=time - timedelta(seconds=1))
        async with opened(gcs_server, bucket) as fs:
            await fs.append_bytes(path, b"2", expected_mtime=time)
    async with opened(gcs_server, bucket) as fs:
        with pytest.raises(StaleFileError):
            await fs.append_bytes("/missing", b"2", expected_mtime=datetime.now(UTC))


async def test_what_a_killed_append_left_is_never_listed_and_is_swept(gcs_server: LocalGCSServer, bucket: str) -> None:
    left = f"{RESERVED}0123"
    gcs_server.put(left, b"left", bucket=bucket)
    async with opened(gcs_server, bucket) as fs:
        for recursive in (False, True):
            assert [entry.name for entry in await fs.list_dir("/", recursive=recursive)] == ["log"]
        assert isinstance(fs.provider, GCSProvider)
        assert await fs.provider.sweep_leftovers(3600) == 0
        stored = gcs_server.state.buckets[bucket].objects[left]
        object.__setattr__(stored, "created", datetime.now(UTC) - timedelta(hours=2))
        await fs.append_bytes("/log", b"x")
        assert gcs_server.keys(bucket=bucket) == ["log"]
        assert await fs.provider.sweep_leftovers(0) == 0


async def test_names_for_a_moment_are_nobodys_files(gcs_server: LocalGCSServer, bucket: str) -> None:
    """They are never listed, and swept: a file there would get lost."""
    async with opened(gcs_server, bucket, name_checks=False) as fs:
        for path in (f"/{RESERVED}mine", f"/{PROBE_NAME}mine"):
            calls: list[Callable[[], Awaitable[object]]] = [
                partial(fs.write_bytes, path, b"x"),
                partial(fs.append_bytes, path, b"x"),
                partial(fs.copy, "/log", path),
                partial(fs.move, "/log", path),
            ]
            for call in calls:
                with pytest.raises(InvalidPathError, match="kept for"):
                    await call()
        with pytest.raises(InvalidPathError, match="kept for"):
            await fs.make_dir(f"/{RESERVED}")
    assert gcs_server.keys(bucket=bucket) == ["log"]


async def test_two_may_sweep_at_once(gcs_proxy: Proxy, gcs_server: LocalGCSServer, bucket: str) -> None:
    gcs_server.put(f"{RESERVED}old", b"x", bucket=bucket)
    gcs_proxy.add(Rule(gcs_error(412, "conditionNotMet"), kind="delete", times=1))
    async with opened(gcs_proxy, bucket) as fs:
        assert isinstance(fs.provider, GCSProvider)
        assert await fs.provider.sweep_leftovers(-60) == 0
        assert await fs.provider.sweep_leftovers(-60) == 1


async def test_what_is_composed_has_one_storage_class(gcs_server: LocalGCSServer, bucket: str) -> None:
    objects = gcs_server.state.buckets[bucket].objects
    objects["log"] = replace(objects["log"], fields={"storageClass": "NEARLINE"})
    async with opened(gcs_server, bucket, storage_class="COLDLINE") as fs:
        await fs.append_bytes("/log", b"x")
    assert objects["log"].fields["storageClass"] == "NEARLINE"
    assert gcs_server.get("log", bucket=bucket) == LARGE + b"x"


async def test_a_lost_append_is_not_made_twice(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    """Somebody else's append came on top before anybody could look."""
    release = threading.Event()
    gcs_proxy.add(Rule(gcs_error(503, after=True), kind="compose", times=1))
    gcs_proxy.add(Rule(Stall(release=release), kind="get_metadata", nth=2))  # the first is about what is there

    async def other(fs: Filesystem) -> None:
        await anyio.to_thread.run_sync(gcs_proxy.wait_for, "get_metadata", 2)
        await fs.append_bytes("/log", b"other")
        release.set()

    async with opened(gcs_proxy, bucket) as fs, opened(gcs_server, bucket) as others:
        async with anyio.create_task_group() as group:
            group.start_soon(other, others)
            stat = await fs.append_bytes("/log", b"own ")
        assert stat.size == len(LARGE) + 4
        assert stat.version != (await fs.stat("/log")).version
    assert gcs_server.get("log", bucket=bucket) == LARGE + b"own other"
