"""Reads: exactly the range, of one version, resumed where the connection breaks, in parallel when large."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.integration.s3.support import opened, provider_of
from tests.servers.faults import Answer, CutBody, DropRequest, Rule, StripRange, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import MoorageError, PathNotFoundError, StorageError, UnavailableError
from moorage_s3 import S3Filesystem
from moorage_s3.downloading import Downloading

pytestmark = pytest.mark.anyio

BODY = os.urandom(1_500_000)


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy) as fs:
        await fs.write_bytes("/file", BODY)
        yield fs


def in_parts(fs: S3Filesystem, part: int, concurrency: int = 3) -> None:
    """Download in parallel from two parts on."""
    do = provider_of(fs).client._do  # type: ignore[attr-defined]
    dialect = replace(do.downloading._dialect, part_size=part, parallel_from=2 * part, concurrency=concurrency)
    do.downloading = Downloading(do.sender, dialect, do.write_marks)


async def test_a_part_that_is_shorter_than_it_says_is_fetched_again(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    in_parts(fs, len(BODY) // 2)
    stat = await fs.stat("/file")
    half = {"Content-Range": f"bytes {len(BODY) // 2}-{len(BODY) - 1}/{len(BODY)}", "ETag": f'"{stat.version}"'}
    rule = s3_proxy.add(Rule(Answer(206, half, b"short"), kind="get_object", nth=2))
    assert await fs.read_bytes("/file") == BODY
    assert rule.fired == 1


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, None),
        (0, 10),
        (5, 5),
        (7, 6),
        (1, 1_400_000),
        (1_499_999, None),
        (1_500_000, None),
        (9_000_000, None),
        (3, 1 << 40),
    ],
)
@pytest.mark.parametrize("part", [None, 100_000])
async def test_any_range_is_served(fs: S3Filesystem, start: int, end: int | None, part: int | None) -> None:
    if part is not None:
        in_parts(fs, part)
    async with fs.open_read("/file", start, end) as reader:
        assert reader.stat.size == len(BODY)
        assert b"".join([chunk async for chunk in reader]) == BODY[start:end]


async def test_nothing_of_an_empty_file(fs: S3Filesystem) -> None:
    await fs.write_bytes("/empty", b"")
    assert await fs.read_bytes("/empty") == b""
    assert await fs.read_bytes("/empty", 0, 10) == b""
    assert await fs.read_bytes("/empty", 5) == b""


async def test_the_whole_is_not_taken_for_a_range(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(StripRange()))
    for start, end in ((1, 2), (5, None), (0, 10)):
        with pytest.raises(StorageError, match="range"):
            await fs.read_bytes("/file", start, end)
    assert await fs.read_bytes("/file", 0, len(BODY)) == BODY


@pytest.mark.parametrize("keep", [0, 1, 100_000, 1_400_000])
@pytest.mark.parametrize("part", [None, 300_000])
async def test_a_cut_body_is_read_on(fs: S3Filesystem, s3_proxy: Proxy, keep: int, part: int | None) -> None:
    if part is not None:
        in_parts(fs, part)
    rule = s3_proxy.add(Rule(CutBody(keep), kind="get_object", times=2))
    assert await fs.read_bytes("/file") == BODY
    assert rule.fired == 2


async def test_a_small_cut_body_is_read_again(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/small", BODY[:1000])
    s3_proxy.add(Rule(CutBody(10), kind="get_object", times=1))
    assert await fs.read_bytes("/small") == BODY[:1000]


@pytest.mark.parametrize("part", [None, 300_000])
async def test_a_replacement_is_never_mixed_in(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server, part: int | None
) -> None:
    if part is not None:
        in_parts(fs, part)
    s3_proxy.add(Rule(CutBody(200_000), kind="get_object", times=1))
    received = b""
    with pytest.raises(UnavailableError, match="replaced"):
        async with fs.open_read("/file") as reader:
            seaweedfs.put(f"{provider_of(fs)._keys.prefix}file", bytes(len(BODY)))
            async for chunk in reader:
                received += chunk
    assert BODY.startswith(received)


async def test_a_body_that_is_always_cut_fails(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(CutBody(0), kind="get_object"))
    for path in ("/file",):
        with pytest.raises(UnavailableError):
            await fs.read_bytes(path)


async def test_a_file_that_goes_between_parts_fails(fs: S3Filesystem, seaweedfs: S3Server) -> None:
    in_parts(fs, 300_000, concurrency=2)
    with pytest.raises(MoorageError):
        async with fs.open_read("/file") as reader:
            await anext(reader)
            seaweedfs.delete(f"{provider_of(fs)._keys.prefix}file")
            async for _ in reader:
                pass


async def test_leaving_a_large_read_early_frees_its_connections(fs: S3Filesystem) -> None:
    in_parts(fs, 100_000, concurrency=4)
    for _ in range(5):
        async with fs.open_read("/file") as reader:
            assert BODY.startswith(await anext(reader))
    session = await provider_of(fs).client._connections.session()  # type: ignore[attr-defined]
    assert not session.connector._acquired


async def test_a_missing_file_is_missing(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    with pytest.raises(PathNotFoundError):
        await fs.read_bytes("/missing")
    s3_proxy.add(Rule(DropRequest(), kind="get_object", times=1))
    assert await fs.read_bytes("/file") == BODY


async def test_checksums_are_sent_and_looked_at(moto: S3Server, moto_proxy: Proxy) -> None:
    async with opened(moto_proxy, checksums="crc32") as fs:
        await fs.write_bytes("/file", b"x" * 1000)
        assert await fs.read_bytes("/file") == b"x" * 1000
        await fs.write_bytes("/large", bytes(6 << 20))
        assert (await fs.read_bytes("/large")) == bytes(6 << 20)


@pytest.mark.parametrize(("start", "end"), [(0, None), (20, None), (20, 25)])
async def test_a_range_that_is_denied_although_it_exists_is_asked_for_again(
    fs: S3Filesystem, s3_proxy: Proxy, start: int, end: int | None
) -> None:
    rule = s3_proxy.add(Rule(s3_error(416, "InvalidRange"), kind="get_object", times=1))
    assert await fs.read_bytes("/file", start, end) == BODY[start:end]
    assert rule.fired == 1
    s3_proxy.clear()
    s3_proxy.add(Rule(s3_error(416, "InvalidRange"), kind="get_object"))
    with pytest.raises(StorageError):
        await fs.read_bytes("/file", start, end)


@pytest.mark.parametrize("status", [201, 202, 203, 204])
async def test_only_an_answer_with_content_is_content(fs: S3Filesystem, s3_proxy: Proxy, status: int) -> None:
    headers = {"ETag": '"e"', "Content-Length": "0"}
    s3_proxy.add(Rule(Answer(status, headers, b""), kind="get_object"))
    with pytest.raises(StorageError):
        await fs.read_bytes("/file")


@pytest.mark.parametrize("part", [None, 100_000])
async def test_more_than_the_range_is_not_read(fs: S3Filesystem, s3_proxy: Proxy, part: int | None) -> None:
    stat = await fs.stat("/file")
    if part is not None:
        in_parts(fs, part)
    start, end = (10, 20) if part is None else (part, 2 * part)
    range_ = {"Content-Range": f"bytes {start}-{end - 1}/{len(BODY)}", "ETag": f'"{stat.version}"'}
    rule = s3_proxy.add(Rule(Answer(206, range_, bytes(1 << 20)), kind="get_object", nth=1 if part is None else 2))
    with pytest.raises(StorageError, match="more than it said"):
        await (fs.read_bytes("/file", start, end) if part is None else fs.read_bytes("/file"))
    assert rule.fired == 1
