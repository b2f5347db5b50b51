"""Directories of a flat store: prefixes, markers of both styles, a file and a directory of one name."""

from __future__ import annotations

import pytest
from tests.unit.objects.support import Failing, P, content, shown, store

from moorage import (
    BusyError,
    DirectoryNotEmptyError,
    InexpressibleNameError,
    InvalidPathError,
    Kind,
    MakeDirOptions,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    PermissionDeniedError,
    TransferError,
    UnsupportedError,
    WriteOptions,
)
from moorage.objects import MemoryObjectClient, ObjectStoreProvider, recent, removal
from moorage.objects.recent import LIFETIME, RecentNames

pytestmark = pytest.mark.anyio


@pytest.fixture
def client() -> MemoryObjectClient:
    return MemoryObjectClient()


@pytest.fixture
def provider(client: MemoryObjectClient) -> ObjectStoreProvider:
    return ObjectStoreProvider(client)


@pytest.mark.parametrize("marker", ["d/", "d_$folder$"])
class TestMarkersOfBothStyles:
    async def test_is_a_directory_each_time_it_is_asked(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str
    ) -> None:
        client.poke(marker, b"")
        for _ in range(2):
            assert (await provider.stat(P("/d"))).kind is Kind.DIRECTORY

    async def test_is_in_no_listing(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str
    ) -> None:
        client.poke(marker, b"")
        for recursive in (False, True):
            assert await shown(provider, recursive=recursive) == [("directory", "/d")]
            assert await shown(provider, "/d", recursive=recursive) == []

    async def test_and_with_a_child_it_is_listed_once(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str
    ) -> None:
        client.poke(marker, b"")
        client.poke("d/f", b"")
        assert await shown(provider) == [("directory", "/d")]
        assert await shown(provider, recursive=True) == [("directory", "/d"), ("file", "/d/f")]

    async def test_keeps_the_directory_when_its_last_child_goes(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str
    ) -> None:
        client.poke(marker, b"")
        client.poke("d/f", b"")
        await provider.delete(P("/d/f"))
        assert (await provider.stat(P("/d"))).is_dir

    @pytest.mark.parametrize("recursive", [False, True])
    async def test_is_removed_with_the_directory(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str, recursive: bool
    ) -> None:
        client.poke(marker, b"")
        await provider.remove_dir(P("/d"), recursive=recursive)
        assert client.all_keys() == ()

    async def test_is_no_file(self, client: MemoryObjectClient, provider: ObjectStoreProvider, marker: str) -> None:
        client.poke(marker, b"")
        with pytest.raises(PathIsDirectoryError):
            await content(provider, "/d")
        with pytest.raises(PathIsDirectoryError):
            await provider.delete(P("/d"))
        with pytest.raises(PathExistsError):
            await provider.make_dir(P("/d"), MakeDirOptions(exist_ok=False))
        assert client.all_keys() == (marker,)


async def test_the_foreign_marker_is_reached_under_no_name(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    client.poke("d_$folder$", b"")
    path = P("/d_$folder$")
    for call in (provider.stat(path), content(provider, str(path)), provider.delete(path)):
        with pytest.raises(PathNotFoundError):
            await call
    with pytest.raises(InvalidPathError):
        await provider.write(path, b"")
    client.poke("d_$folder$", b"data")
    assert await content(provider, str(path)) == b"data"
    assert await shown(provider) == [("file", "/d_$folder$")]


async def test_make_dir_writes_one_empty_marker(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    await provider.make_dir(P("/a/b"))
    await provider.make_dir(P("/a/b"))
    assert client.all_keys() == ("a/b/",)
    assert client.peek("a/b/") == b""
    assert (await provider.stat(P("/a"))).is_dir
    with pytest.raises(PathExistsError):
        await provider.make_dir(P("/a/b"), MakeDirOptions(exist_ok=False))


async def test_make_dir_of_an_implied_directory_makes_it_last(
    client: MemoryObjectClient, provider: ObjectStoreProvider
) -> None:
    await provider.write(P("/d/f"), b"")
    await provider.make_dir(P("/d"))
    await provider.delete(P("/d/f"))
    assert (await provider.stat(P("/d"))).is_dir


async def test_without_a_marker_the_parent_goes_with_its_last_child(provider: ObjectStoreProvider) -> None:
    await provider.write(P("/d/f"), b"")
    await provider.delete(P("/d/f"))
    with pytest.raises(PathNotFoundError):
        await provider.stat(P("/d"))


async def test_make_dir_refusals(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    client.poke("f", b"")
    with pytest.raises(PathExistsError) as exists:
        await provider.make_dir(P("/f"))
    assert exists.value.path == "/f"
    with pytest.raises(PathNotDirectoryError) as below:
        await provider.make_dir(P("/f/d"))
    assert below.value.path == "/f"
    with pytest.raises(PathNotFoundError) as parent:
        await provider.make_dir(P("/no/d"), MakeDirOptions(parents=False))
    assert parent.value.path == "/no"
    with pytest.raises(PathNotDirectoryError):
        await provider.make_dir(P("/f/d"), MakeDirOptions(parents=False))
    await provider.make_dir(P("/"))
    with pytest.raises(PathExistsError):
        await provider.make_dir(P("/"), MakeDirOptions(exist_ok=False))


async def test_the_root_always_exists_and_cannot_go(provider: ObjectStoreProvider) -> None:
    assert (await provider.stat(P("/"))).is_dir
    assert await shown(provider) == []
    for recursive in (False, True):
        with pytest.raises(BusyError):
            await provider.remove_dir(P("/"), recursive=recursive)


async def test_a_prefix_is_a_root(client: MemoryObjectClient) -> None:
    provider = ObjectStoreProvider(client, prefix="/tenant/one/")
    for key in ("tenant/one/", "tenant/one/f", "tenant/one-more/g", "tenant/two"):
        client.poke(key, b"x" if not key.endswith("/") else b"")
    assert await shown(provider, recursive=True) == [("file", "/f")]
    await provider.write(P("/d/g"), b"")
    assert "tenant/one/d/g" in client.all_keys()
    assert await provider.lineage(P("/f")) == await ObjectStoreProvider(client).lineage(P("/tenant/one/f"))


class TestFileAndDirectoryOfOneName:
    @pytest.fixture(autouse=True)
    def pair(self, client: MemoryObjectClient) -> None:
        client.poke("a", b"file")
        client.poke("a/b", b"child")

    async def test_the_same_answers_every_time(self, provider: ObjectStoreProvider) -> None:
        for _ in range(3):
            assert (await provider.stat(P("/a"))).is_file
            assert await content(provider, "/a") == b"file"
            assert await content(provider, "/a/b") == b"child"
            assert await shown(provider) == [("directory", "/a"), ("file", "/a")]
            assert await shown(provider, "/a") == [("file", "/a/b")]
            assert await shown(provider, recursive=True) == [("directory", "/a"), ("file", "/a"), ("file", "/a/b")]

    async def test_delete_takes_the_file_alone(self, client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
        await provider.delete(P("/a"))
        assert client.all_keys() == ("a/b",)
        assert (await provider.stat(P("/a"))).is_dir

    async def test_remove_dir_takes_the_directory_alone(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        await provider.remove_dir(P("/a"), recursive=True)
        assert client.all_keys() == ("a",)


async def test_making_such_a_pair_is_refused(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    client.poke("file", b"")
    client.poke("dir/x", b"")
    with pytest.raises(PathIsDirectoryError) as directory:
        await provider.write(P("/dir"), b"")
    assert directory.value.path == "/dir"
    for path in ("/file/x", "/file/x/y/z"):
        with pytest.raises(PathNotDirectoryError) as file:
            await provider.write(P(path), b"")
        assert file.value.path == "/file"
    for method in (provider.copy, provider.move):
        with pytest.raises(PathIsDirectoryError):
            await method(P("/file"), P("/dir"))
        with pytest.raises(PathNotDirectoryError):
            await method(P("/dir/x"), P("/file/x"))
    with pytest.raises(PathNotDirectoryError):
        await provider.append(P("/file/x"), b"")
    assert client.all_keys() == ("dir/x", "file")


async def test_own_knowledge_never_hides_a_file_in_the_way(provider: ObjectStoreProvider) -> None:
    await provider.write(P("/a/b"), b"")
    await provider.delete(P("/a/b"))
    await provider.write(P("/a"), b"")
    with pytest.raises(PathNotDirectoryError):
        await provider.write(P("/a/b"), b"")
    await provider.delete(P("/a"))
    await provider.write(P("/a/b"), b"")
    with pytest.raises(PathIsDirectoryError):
        await provider.write(P("/a"), b"")


async def test_own_knowledge_ends_with_the_file(client: MemoryObjectClient, provider: ObjectStoreProvider) -> None:
    await provider.write(P("/a"), b"")
    await provider.delete(P("/a"))
    client.poke("a/b", b"")
    with pytest.raises(PathIsDirectoryError):
        await provider.write(P("/a"), b"")


async def test_own_knowledge_ends_with_time_and_stays_small(
    client: MemoryObjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    names = RecentNames(clock=lambda: now)
    names.wrote(P("/d/f"))
    assert (names.kind(P("/d")), names.kind(P("/d/f"))) == (Kind.DIRECTORY, Kind.FILE)
    now = LIFETIME + 0.1
    assert names.kind(P("/d")) is names.kind(P("/d/f")) is None
    monkeypatch.setattr(recent, "CAPACITY", 10)
    for index in range(100):
        names.wrote(P(f"/{index}"))
    assert sum(names.kind(P(f"/{index}")) is not None for index in range(100)) == 10


async def test_a_missing_parent_is_refused_where_asked(provider: ObjectStoreProvider) -> None:
    strict = WriteOptions(create_parents=False)
    with pytest.raises(PathNotFoundError) as caught:
        await provider.write(P("/no/f"), b"", strict)
    assert caught.value.path == "/no"
    await provider.write(P("/f"), b"", strict)
    with pytest.raises(PathNotDirectoryError):
        await provider.write(P("/f/g"), b"", strict)
    await provider.make_dir(P("/d"))
    await provider.write(P("/d/f"), b"", strict)


class TestRemoving:
    async def test_a_directory_with_anything_in_it_stays(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        for inside in ("d/f", "d/e/", "d//x", "d/e_$folder$"):
            client.poke("d/", b"")
            client.poke(inside, b"")
            with pytest.raises(DirectoryNotEmptyError):
                await provider.remove_dir(P("/d"))
            assert client.all_keys() == ("d/", inside)
            client.poke(inside, None)

    async def test_a_marker_with_content_is_not_thrown_away(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        client.poke("d/", b"precious")
        assert await shown(provider, "/d") == [("file", "b'd/'")]
        with pytest.raises(DirectoryNotEmptyError):
            await provider.remove_dir(P("/d"))
        with pytest.raises(InexpressibleNameError):
            await provider.remove_dir(P("/d"), recursive=True)
        await provider.make_dir(P("/d"))
        assert client.peek("d/") == b"precious"

    @pytest.mark.parametrize("recursive", [False, True])
    async def test_what_is_no_directory(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, recursive: bool
    ) -> None:
        client.poke("f", b"")
        with pytest.raises(PathNotDirectoryError):
            await provider.remove_dir(P("/f"), recursive=recursive)
        with pytest.raises(PathNotFoundError):
            await provider.remove_dir(P("/missing"), recursive=recursive)

    @pytest.mark.parametrize("odd", ["d//x", "d/./x", "d/e/../x", "d/x\n"])
    async def test_an_odd_key_anywhere_below_stops_it_before_it_starts(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, odd: str
    ) -> None:
        for index in range(1500):
            client.poke(f"d/{index}", b"")
        client.poke(odd, b"")
        with pytest.raises(InexpressibleNameError) as caught:
            await provider.remove_dir(P("/d"), recursive=True)
        assert caught.value.path == "/d"
        assert len(client.all_keys()) == 1501

    async def test_names_with_the_same_beginning_stay(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        for key in ("d-x", "d.x", "d/x", "d0", "dd/x"):
            client.poke(key, b"")
        await provider.remove_dir(P("/d"), recursive=True)
        assert client.all_keys() == ("d-x", "d.x", "d0", "dd/x")

    async def test_every_key_that_could_not_be_deleted_is_named(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        for index in range(1200):
            client.poke(f"d/{index:04}", b"")
        client.before = Failing("delete_one", lambda: PermissionDeniedError("no"), 1, 700, 1200)
        with pytest.raises(TransferError) as caught:
            await provider.remove_dir(P("/d"), recursive=True)
        assert len(caught.value.failed) == len(client.all_keys()) == 3
        assert {path for path, _ in caught.value.failed} == {f"/{key}" for key in client.all_keys()}
        assert all(isinstance(error, PermissionDeniedError) for _, error in caught.value.failed)

    async def test_a_tree_too_large_to_remember_is_listed_twice(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(removal, "REMEMBERED", 1000)
        client.poke("d_$folder$", b"")
        for index in range(2500):
            client.poke(f"d/{index}", b"")
        await provider.remove_dir(P("/d"), recursive=True)
        assert client.requests["list"] == 6
        assert client.all_keys() == ()

    async def test_the_foreign_marker_goes_also_when_it_needs_a_request_of_its_own(
        self, client: MemoryObjectClient, provider: ObjectStoreProvider
    ) -> None:
        client.poke("d_$folder$", b"")
        for index in range(1000):
            client.poke(f"d/{index}", b"")
        await shown(provider)
        await provider.remove_dir(P("/d"), recursive=True)
        assert client.all_keys() == ()


async def test_directories_are_not_moved_or_copied_as_one(provider: ObjectStoreProvider) -> None:
    await provider.write(P("/d/f"), b"")
    with pytest.raises(UnsupportedError):
        await provider.move(P("/d"), P("/e"))
    with pytest.raises(PathIsDirectoryError) as caught:
        await provider.copy(P("/d"), P("/e"))
    assert caught.value.path == "/d"
    for native in (True, False):
        _, other = store("gcs" if native else "s3")
        await other.write(P("/d/f"), b"")
        with pytest.raises(UnsupportedError):
            await other.move(P("/d"), P("/d/f/x"))
