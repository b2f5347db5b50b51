"""How many requests each call makes on a real server: every row of the specification's table, by a counting proxy."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.integration.s3.support import PART, opened, probed
from tests.servers.proxy import Proxy

from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

FILE = "/d/e/file.txt"


@pytest.fixture(params=[True, False], ids=["names-checked", "names-not-checked"])
async def fs(s3_proxy: Proxy, request: pytest.FixtureRequest) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy, name_checks=request.param) as fs:
        await probed(fs)
        await fs.write_bytes(FILE, b"content")
        fs.provider._recent.forget_all()  # type: ignore[attr-defined]
        yield fs


async def requests(proxy: Proxy, call: Callable[[], Awaitable[object]]) -> dict[str, int]:
    proxy.reset()
    await call()
    return dict(Counter(proxy.kinds()))


def is_checked(fs: S3Filesystem) -> bool:
    return bool(fs.provider._name_checks)  # type: ignore[attr-defined]


async def test_opening_is_one(s3_proxy: Proxy) -> None:
    async def open_and_close() -> None:
        async with opened(s3_proxy):
            pass

    assert await requests(s3_proxy, open_and_close) == {"list_objects": 1}


async def test_stat_of_a_file(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    assert await requests(s3_proxy, lambda: fs.stat(FILE)) == {"head_object": 1}


async def test_stat_of_a_directory_and_of_nothing(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    for call in (lambda: fs.stat("/d/e"), lambda: fs.exists("/nothing"), lambda: fs.is_dir("/d")):
        assert sum((await requests(s3_proxy, call)).values()) <= 2


async def test_reads_are_one(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    async def read_open() -> None:
        async with fs.open_read(FILE) as reader:
            assert reader.stat.size == 7
            assert await reader.read() == b"content"

    for call in (lambda: fs.read_bytes(FILE), lambda: fs.read_bytes(FILE, 2, 4), read_open):
        assert await requests(s3_proxy, call) == {"get_object": 1}


async def test_a_write_with_the_version_is_one(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    version = (await fs.stat(FILE)).version or ""
    write = await requests(s3_proxy, lambda: fs.write_bytes(FILE, b"new", expected_version=version))
    assert write == {"put_object": 1}


async def test_a_write_without_it_adds_a_round_of_checks(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    checks = {"list_objects": 1, "head_object": 2} if is_checked(fs) else {}
    assert await requests(s3_proxy, lambda: fs.write_bytes(FILE, b"new")) == {"put_object": 1, **checks}
    once_more = await requests(s3_proxy, lambda: fs.write_bytes(FILE, b"newer"))
    assert once_more == {"put_object": 1}


async def test_a_create_only_write_is_one_but_for_its_checks(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    checks = {"list_objects": 1} if is_checked(fs) else {}
    write = await requests(s3_proxy, lambda: fs.write_bytes("/other.txt", b"new", overwrite=False))
    assert write == {"put_object": 1, **checks}


async def test_a_write_with_the_time_is_two(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    time = (await fs.stat(FILE)).modified_at
    assert time is not None
    write = await requests(s3_proxy, lambda: fs.write_bytes(FILE, b"new", expected_mtime=time))
    assert write == {"head_object": 1, "put_object": 1}


async def test_a_small_append_is_two(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    assert await requests(s3_proxy, lambda: fs.append_bytes(FILE, b"more")) == {"get_object": 1, "put_object": 1}
    assert await fs.read_bytes(FILE) == b"contentmore"


async def test_a_delete_is_two_where_the_star_is_not_enforced_for_directories(
    fs: S3Filesystem, s3_proxy: Proxy
) -> None:
    assert await requests(s3_proxy, lambda: fs.delete(FILE)) == {"head_object": 1, "delete_object": 1}


async def test_a_large_write_is_two_more_than_its_parts(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/large", b"")
    write = await requests(s3_proxy, lambda: fs.write_bytes("/large", bytes(2 * PART + 1)))
    assert write == {"create_multipart_upload": 1, "upload_part": 3, "complete_multipart_upload": 1}


async def test_listings_are_a_request_a_page(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    assert await requests(s3_proxy, lambda: fs.list_dir("/d/e")) == {"list_objects": 1}
    assert await requests(s3_proxy, lambda: fs.list_dir("/", recursive=True)) == {"list_objects": 1}
    await fs.make_dir("/empty")
    assert (await requests(s3_proxy, lambda: fs.list_dir("/empty")))["list_objects"] <= 2


async def test_a_copy_is_one_and_a_check(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    checks = {"list_objects": 1} if is_checked(fs) else {}
    copy = await requests(s3_proxy, lambda: fs.copy(FILE, "/copied.txt"))
    assert copy == {"copy_object": 1, "head_object": 1, **checks}


async def test_a_move_is_two_and_a_check(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    checks = {"list_objects": 1} if is_checked(fs) else {}
    move = await requests(s3_proxy, lambda: fs.move(FILE, "/moved.txt"))
    assert move == {"copy_object": 1, "delete_object": 1, "head_object": 1, **checks}


async def test_removing_a_tree_is_two_a_page(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    for name in "abc":
        await fs.write_bytes(f"/tree/{name}", b"x")
    remove = await requests(s3_proxy, lambda: fs.remove_dir("/tree", recursive=True))
    assert remove == {"list_objects": 1, "delete_objects": 1}
