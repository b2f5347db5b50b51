"""Copies within the store: of any size, with their metadata, of the version that was looked at."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.integration.s3.support import PART, opened, probed, provider_of
from tests.servers.faults import DropResponse, Rule, StripConditions, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import (
    LimitExceededError,
    PathExistsError,
    PathNotFoundError,
    PermissionDeniedError,
    StaleFileError,
    UnsupportedError,
)
from moorage.objects import CopyOptions, Matches
from moorage_s3 import S3Filesystem
from moorage_s3.copying import Copying

pytestmark = pytest.mark.anyio

BODY = os.urandom(2 * PART + 1)


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    """Copies what is larger than one part in parts."""
    async with opened(s3_proxy) as fs:
        await probed(fs)
        do = provider_of(fs).client._do  # type: ignore[attr-defined]
        dialect = replace(do.copying._dialect, multipart_copy_from=PART, copy_part_size=PART)
        do.copying = Copying(do.sender, dialect, do.uploading, do.write_marks)
        yield fs


def prefix(fs: S3Filesystem) -> str:
    return provider_of(fs)._keys.prefix


async def test_a_large_copy_is_made_of_parts(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    source = await fs.write_bytes("/src", BODY, media_type="text/x-test")
    s3_proxy.reset()
    stat = await fs.copy("/src", "/dst")
    made = Counter(s3_proxy.kinds())
    assert made["upload_part_copy"] == 3
    assert made["copy_object"] == 0
    assert await fs.read_bytes("/dst") == BODY
    assert (stat.size, stat.media_type) == (source.size, "text/x-test")
    assert (await fs.stat("/dst")).version == stat.version


async def test_a_large_copy_obeys_its_conditions(fs: S3Filesystem, seaweedfs: S3Server) -> None:
    await fs.write_bytes("/src", BODY)
    old = await fs.write_bytes("/dst", b"old")
    with pytest.raises(PathExistsError):
        await fs.copy("/src", "/dst", overwrite=False)
    new = await fs.copy("/src", "/dst", expected_version=old.version or "")
    with pytest.raises(StaleFileError):
        await fs.copy("/src", "/dst", expected_version=old.version or "")
    assert (await fs.stat("/dst")).version == new.version
    assert seaweedfs.pending_uploads() == []


async def test_a_large_copy_keeps_its_condition_where_completions_do_not(s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(StripConditions(), kind="complete_multipart_upload"))
    async with opened(s3_proxy) as fs:
        await probed(fs)
        do = provider_of(fs).client._do  # type: ignore[attr-defined]
        dialect = replace(do.copying._dialect, multipart_copy_from=PART, copy_part_size=PART)
        do.copying = Copying(do.sender, dialect, do.uploading, do.write_marks)
        await fs.write_bytes("/src", BODY)
        old = await fs.write_bytes("/dst", b"old")
        await fs.write_bytes("/dst", b"new", expected_version=old.version or "")
        with pytest.raises(StaleFileError):
            await fs.copy("/src", "/dst", expected_version=old.version or "")
        assert await fs.read_bytes("/dst") == b"new"
        do.copying = Copying(do.sender, replace(dialect, largest_put=PART), do.uploading, do.write_marks)
        with pytest.raises(LimitExceededError):
            await fs.copy("/src", "/free", overwrite=False)
        assert not await fs.exists("/free")


async def test_a_large_copy_that_fails_is_aborted(fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server) -> None:
    await fs.write_bytes("/src", BODY)
    s3_proxy.add(Rule(s3_error(403, "AccessDenied"), kind="upload_part_copy", nth=2))
    with pytest.raises(PermissionDeniedError):
        await fs.copy("/src", "/dst")
    assert seaweedfs.pending_uploads() == []
    assert not await fs.exists("/dst")


async def test_a_large_copy_recognises_its_own_lost_answer(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/src", BODY)
    s3_proxy.add(Rule(DropResponse(), kind="complete_multipart_upload", nth=1))
    await fs.copy("/src", "/dst", overwrite=False)
    assert await fs.read_bytes("/dst") == BODY


async def test_a_large_move_takes_its_source_along(fs: S3Filesystem) -> None:
    await fs.write_bytes("/src", BODY)
    await fs.move("/src", "/dst")
    assert await fs.read_bytes("/dst") == BODY
    assert not await fs.exists("/src")


async def test_metadata_comes_along(fs: S3Filesystem, seaweedfs: S3Server) -> None:
    kept = {"x-amz-meta-owner": "me", "cache-control": "max-age=7", "content-type": "text/x-test"}
    for name, body in (("small", b"x"), ("large", BODY)):
        seaweedfs.put(f"{prefix(fs)}{name}", body, headers=kept)
        await fs.copy(f"/{name}", f"/{name}-copy")
        found = seaweedfs.head(f"{prefix(fs)}{name}-copy")
        assert found is not None
        assert {header: found.get(header) for header in kept} == kept


async def test_a_missing_source_is_missing_whatever_is_expected_of_the_destination(fs: S3Filesystem) -> None:
    old = await fs.write_bytes("/dst", b"old")
    for options in ({}, {"overwrite": False}, {"expected_version": old.version}):
        with pytest.raises(PathNotFoundError):
            await fs.copy("/missing", "/dst", **options)
    assert await fs.read_bytes("/dst") == b"old"


@pytest.mark.parametrize("expects", ["nothing there", "a version"])
async def test_metadata_come_along_where_the_store_judges_no_condition_on_a_copy(moto: S3Server, expects: str) -> None:
    kept = {
        "x-amz-meta-owner": "me",
        "cache-control": "max-age=7",
        "content-disposition": 'attachment; filename="a b.txt"',
        "content-encoding": "gzip",
        "content-language": "de",
        "expires": "Wed, 21 Oct 2035 07:28:00 GMT",
        "content-type": "text/x-test",
    }
    async with opened(moto) as fs:
        for name in ("first", "second"):
            moto.put(f"{prefix(fs)}src", name.encode(), headers=kept)
            old = await fs.write_bytes(f"/{name}", b"old") if expects == "a version" else None
            condition = {"overwrite": False} if old is None else {"expected_version": old.version}
            stat = await fs.copy("/src", f"/{name}", **condition)
            found = moto.head(f"{prefix(fs)}{name}") or {}
            assert {header: found.get(header) for header in kept} == kept
            assert await fs.read_bytes(f"/{name}") == name.encode()
            assert stat.media_type == kept["content-type"]


async def test_metadata_that_cannot_be_repeated_are_not_dropped(moto: S3Server) -> None:
    async with opened(moto) as fs:
        moto.put(f"{prefix(fs)}src", b"new", headers={"x-amz-meta-owner": "\u00e9"})
        with pytest.raises(UnsupportedError):
            await fs.copy("/src", "/dst", overwrite=False)
        assert not await fs.exists("/dst")


@pytest.mark.parametrize("body", [b"x", BODY], ids=["small", "large"])
@pytest.mark.parametrize("long", [1500, 2030])
async def test_a_mark_leaves_room_for_the_metadata(
    fs: S3Filesystem, seaweedfs: S3Server, body: bytes, long: int
) -> None:
    seaweedfs.put(f"{prefix(fs)}src", body, headers={"x-amz-meta-long": "x" * long})
    await fs.copy("/src", "/first", overwrite=False)
    seen = await fs.write_bytes("/dst", b"old")
    for number in range(96):
        seen = await fs.write_bytes("/dst", b"%d" % number, expected_version=seen.version or "")
    client = provider_of(fs).client
    source = await client.head(f"{prefix(fs)}src")
    how = CopyOptions(Matches(seen.version or ""), source.version, source.size, "text/x-test")
    await client.copy(f"{prefix(fs)}src", f"{prefix(fs)}dst", how)
    found = seaweedfs.head(f"{prefix(fs)}dst") or {}
    sent = {name.removeprefix("x-amz-meta-"): value for name, value in found.items() if name.startswith("x-amz-meta-")}
    assert sent["long"] == "x" * long
    assert ("moorage-writes" in sent) is (long == 1500)
    assert sum(len(name) + len(value) for name, value in sent.items()) <= 2048
    assert found["content-type"] == "text/x-test"


async def test_a_condition_on_a_copy_is_never_left_to_a_store_that_is_not_trusted_with_one(s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(StripConditions()))
    async with opened(s3_proxy, conditional_write="none") as fs:
        await fs.write_bytes("/src", b"new")
        old = await fs.write_bytes("/dst", b"old")
        await fs.write_bytes("/dst", b"theirs")
        for options in ({"overwrite": False}, {"expected_version": old.version}):
            with pytest.raises(UnsupportedError):
                await fs.copy("/src", "/dst", **options)
        assert await fs.read_bytes("/dst") == b"theirs"
