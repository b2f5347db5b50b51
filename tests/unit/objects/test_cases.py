"""Public bug reports about systems of this kind, reduced to operations; the report is in the test's name."""

from __future__ import annotations

import pytest
from tests.unit.objects.support import IGNORANT, P, shown

from moorage import (
    Filesystem,
    InexpressibleNameError,
    Kind,
    PathIsDirectoryError,
    PathNotFoundError,
    PermissionDeniedError,
    StaleFileError,
    UnavailableError,
    UnsupportedError,
)
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage.objects.memory_client import S3_FEATURES

pytestmark = pytest.mark.anyio


@pytest.fixture
def client() -> MemoryObjectClient:
    return MemoryObjectClient()


@pytest.fixture
def fs(client: MemoryObjectClient) -> Filesystem:
    return Filesystem(ObjectStoreProvider(client))


async def names(fs: Filesystem, path: str = "/", *, recursive: bool = False) -> list[str]:
    return [str(entry.path) for entry in await fs.list_dir(path, recursive=recursive)]


async def test_s3fs_851_a_file_that_another_client_made_is_seen(client: MemoryObjectClient, fs: Filesystem) -> None:
    assert not await fs.exists("/p")
    client.poke("p", b"x")
    assert await fs.exists("/p")
    assert await fs.read_bytes("/p") == b"x"


async def test_s3fs_657_a_second_file_of_another_client_is_found(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("d/1", b"1")
    assert await names(fs, "/d", recursive=True) == ["/d/1"]
    client.poke("d/2", b"2")
    assert await names(fs, "/d", recursive=True) == ["/d/1", "/d/2"]
    assert await fs.read_bytes("/d/2") == b"2"


async def test_s3fs_492_two_instances_do_not_disturb_each_other(client: MemoryObjectClient, fs: Filesystem) -> None:
    other = Filesystem(ObjectStoreProvider(client))
    for index in range(5):
        client.poke(f"d/{index}", b"")
    before = await names(other, "/d")
    assert len(await names(fs, "/", recursive=True)) == 6
    assert await names(other, "/d") == before


async def test_gcsfs_138_647_listings_are_not_cached(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("d/1", b"")
    await names(fs, "/d")
    client.poke("d/2", b"")
    assert await names(fs, "/d") == ["/d/1", "/d/2"]


async def test_gcsfs_562_a_copy_is_a_file(client: MemoryObjectClient, fs: Filesystem) -> None:
    await fs.write_bytes("/s/f", b"x")
    await fs.copy("/s/f", "/t/f")
    assert await fs.is_file("/t/f")


async def test_mirage_18_own_writes_are_read(fs: Filesystem) -> None:
    await fs.write_bytes("/p", b"old")
    assert await fs.read_bytes("/p") == b"old"
    await fs.write_bytes("/p", b"new")
    assert await fs.read_bytes("/p") == b"new"


async def test_s3fs_999_universal_pathlib_524_goofys_412_598_a_pair_answers_the_same_each_time(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("d", b"file")
    client.poke("d/f", b"child")
    for _ in range(3):
        assert (await fs.is_file("/d/"), await fs.is_dir("/d/")) == (True, False)
        assert [(entry.name, entry.kind) for entry in await fs.list_dir("/")] in (
            [("d", Kind.FILE), ("d", Kind.DIRECTORY)],
            [("d", Kind.DIRECTORY), ("d", Kind.FILE)],
        )
        assert await fs.read_bytes("/d") == b"file"
        assert await fs.read_bytes("/d/f") == b"child"


async def test_gcsfs_312_349_574_a_marker_is_a_directory_first_and_second(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("d/", b"")
    assert [await fs.is_dir("/d"), await fs.is_dir("/d")] == [True, True]


async def test_s3fs_317_688_a_removed_marker_is_gone(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("d/", b"")
    await fs.remove_dir("/d/")
    assert client.all_keys() == ()


async def test_opendal_2086_3199_a_missing_directory_does_not_exist(fs: Filesystem) -> None:
    assert not await fs.exists("nope/")
    assert not await fs.is_dir("nope/")


async def test_mastra_21167_a_new_directory_is_in_its_parent(fs: Filesystem) -> None:
    await fs.make_dir("/parent/d")
    assert await names(fs, "/parent") == ["/parent/d"]
    assert await names(fs, "/parent/d") == []


async def test_rclone_9383_5063_5858_a_tree_with_an_odd_key_is_copied_whole_or_refused(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("t/a", b"1")
    client.poke("t/a//b", b"2")
    with pytest.raises(InexpressibleNameError):
        await fs.copy("/t", "/u", recursive=True)
    with pytest.raises(InexpressibleNameError):
        await fs.move("/t", "/u")
    with pytest.raises(InexpressibleNameError):
        await fs.remove_dir("/t", recursive=True)
    assert client.all_keys() == ("t/a", "t/a//b")


async def test_s3path_200_slashes_in_a_key_are_not_merged(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("a///b", b"odd")
    assert not await fs.exists("/a/b")
    await fs.write_bytes("a///b", b"even")
    assert (client.peek("a///b"), client.peek("a/b")) == (b"odd", b"even")


async def test_filesystem_spec_390_a_name_that_looks_like_a_pattern(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("{2}(a)+/f", b"")
    client.poke("2a/f", b"")
    assert sorted([str(entry.path) async for entry in fs.glob("/*/f")]) == ["/2a/f", "/{2}(a)+/f"]
    assert [str(entry.path) async for entry in fs.glob("/{2}(a)+")] == ["/{2}(a)+"]
    assert await names(fs, "/{2}(a)+") == ["/{2}(a)+/f"]


async def test_universal_pathlib_76_a_plus_in_a_name(fs: Filesystem) -> None:
    await fs.write_bytes("/a+b/c+d", b"x")
    assert await names(fs, "/a+b") == ["/a+b/c+d"]


async def test_rclone_1472_4228_aws_cli_1639_unicode_twins_stay_two(client: MemoryObjectClient, fs: Filesystem) -> None:
    await fs.write_bytes("/é", b"1")
    await fs.write_bytes("/e\u0301", b"2")
    assert len(client.all_keys()) == 2
    assert len(await names(fs)) == 2


async def test_s3fs_394_a_moved_directory_is_complete_and_gone(client: MemoryObjectClient, fs: Filesystem) -> None:
    for key in ("d/a", "d/e/b", "d/empty/"):
        client.poke(key, key.encode() if not key.endswith("/") else b"")
    await fs.move("/d", "/n")
    assert not await fs.exists("/d")
    assert await fs.read_bytes("/n/e/b") == b"d/e/b"
    assert await fs.is_dir("/n/empty")


async def test_filesystem_spec_1232_a_directory_is_not_copied_unless_asked(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("d/f", b"")
    with pytest.raises(PathIsDirectoryError):
        await fs.copy("/d", "/e")
    assert client.all_keys() == ("d/f",)


async def test_cloudpathlib_277_64_onto_itself(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("p", b"kept")
    client.poke("d/f", b"kept")
    await fs.move("/p", "/p")
    await fs.move("/d", "/d")
    assert (client.peek("p"), client.peek("d/f")) == (b"kept", b"kept")


@pytest.mark.parametrize("error", [PermissionDeniedError, UnavailableError])
async def test_s3fs_750_757_gcsfs_314_a_refusal_is_no_absence(
    client: MemoryObjectClient, fs: Filesystem, error: type[PermissionDeniedError | UnavailableError]
) -> None:
    async def refuse(kind: str, key: str) -> None:
        raise error("403")

    client.before = refuse
    for call in (fs.exists("/p"), fs.is_dir("/d"), fs.list_dir("/d"), fs.stat("/p.txt")):
        with pytest.raises(error):
            await call
    with pytest.raises(error):
        [entry async for entry in fs.glob("/*")]


async def test_aws_sdk_js_3717_chartmuseum_33_times_of_listing_and_stat_are_equal(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("f", b"")
    assert (await fs.list_dir("/"))[0].stat.modified_at == (await fs.stat("/f")).modified_at


async def test_hermes_agent_4390_own_writes_do_not_make_oneself_stale(fs: Filesystem) -> None:
    stat = await fs.write_bytes("/f", b"0")
    for text in (b"1", b"2"):
        stat = await fs.write_bytes("/f", text, expected_version=stat.version or "")


async def test_qwen_code_3839_opencode_35409_a_stale_write_leaves_the_others_bytes(
    client: MemoryObjectClient, fs: Filesystem
) -> None:
    client.poke("f", b"seen")
    seen = await fs.stat("/f")
    client.poke("f", b"theirs")
    with pytest.raises(StaleFileError):
        await fs.write_bytes("/f", b"mine", expected_version=seen.version or "")
    assert client.peek("f") == b"theirs"


async def test_mastra_14354_deleted_since_it_was_read_is_stale(client: MemoryObjectClient, fs: Filesystem) -> None:
    client.poke("f", b"seen")
    seen = await fs.stat("/f")
    client.poke("f", None)
    with pytest.raises(StaleFileError):
        await fs.write_bytes("/f", b"mine", expected_version=seen.version or "")
    assert client.all_keys() == ()


async def test_mountx_19_s3_orchestrator_1479_a_store_that_ignores_conditions_is_not_believed() -> None:
    client = MemoryObjectClient(features=IGNORANT)
    fs = Filesystem(ObjectStoreProvider(client))
    stat = await fs.write_bytes("/f", b"1")
    assert (await fs.capabilities("/f")).conditional_write == "none"
    with pytest.raises(UnsupportedError):
        await fs.write_bytes("/f", b"2", expected_version=stat.version or "")


@pytest.mark.parametrize("size", [0, 1, 100])
async def test_s3fs_multipart_and_empty_bodies_keep_their_conditions(size: int) -> None:
    client = MemoryObjectClient(features=S3_FEATURES, part_size=10)
    fs = Filesystem(ObjectStoreProvider(client))
    client.poke("f", b"theirs")
    with pytest.raises(StaleFileError):
        await fs.write_bytes("/f", b"x" * size, expected_version="stale")
    with pytest.raises(FileExistsError):
        await fs.write_bytes("/f", b"x" * size, overwrite=False)
    assert client.peek("f") == b"theirs"
    assert client.pending_uploads == []


async def test_mastra_17027_17034_a_missing_file_is_a_missing_file(fs: Filesystem) -> None:
    for call in (fs.read_bytes("/no"), fs.stat("/no"), fs.delete("/no"), fs.list_dir("/no"), fs.copy("/no", "/x")):
        with pytest.raises(FileNotFoundError) as caught:
            await call
        assert isinstance(caught.value, PathNotFoundError)
        assert caught.value.path == "/no"


async def test_mastra_13133_15664_15147_the_prefix_is_honoured_by_every_call(client: MemoryObjectClient) -> None:
    client.poke("f", b"outside")
    client.poke("base/f", b"inside")
    provider = ObjectStoreProvider(client, prefix="base")
    fs = Filesystem(provider)
    assert await fs.read_bytes("/f") == b"inside"
    assert await shown(provider, recursive=True) == [("file", "/f")]
    await fs.copy("/f", "/g")
    await fs.move("/g", "/h")
    await fs.append_bytes("/h", b"!")
    await fs.make_dir("/d")
    assert client.all_keys() == ("base/d/", "base/f", "base/h", "f")
    await fs.delete("/f")
    assert client.peek("f") == b"outside"
    assert (await provider.stat(P("/h"))).size == 7
