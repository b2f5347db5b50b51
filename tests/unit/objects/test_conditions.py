"""Stale writes: refused by the store where it can, refused outright or checked where it cannot, never lost."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.objects.support import Interfering, P, Style, content, race, store

from moorage import (
    Body,
    ConflictError,
    DeleteOptions,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
    StaleFileError,
    UnavailableError,
    WriteOptions,
)
from moorage.objects import MemoryObjectClient, ObjectInfo, ObjectStoreProvider, PreconditionFailed
from moorage.objects.client import PUT, PutOptions
from moorage.objects.memory_client import S3_FEATURES

pytestmark = pytest.mark.anyio

BODIES = {"empty": b"", "small": b"s", "multipart": b"m" * 70}


@pytest.fixture(params=["s3", "gcs"])
def style(request: pytest.FixtureRequest) -> Style:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> bytes:
    return BODIES[request.param]


class TestRaces:
    async def test_20_writers_with_one_expectation_one_wins(self, style: Style, body: bytes) -> None:
        client = MemoryObjectClient(style=style, part_size=20)
        provider = ObjectStoreProvider(client)
        for _ in range(5):
            seen = await provider.write(P("/f"), b"start")
            options = WriteOptions(expected_version=seen.version or "")

            async def write(index: int, options: WriteOptions = options) -> object:
                return await provider.write(P("/f"), body + str(index).encode(), options)

            won, errors = await race(20, write)
            assert won == 1
            assert all(isinstance(error, StaleFileError) and error.path == "/f" for error in errors)
            assert client.pending_uploads == []

    async def test_20_creators_one_wins(self, style: Style, body: bytes) -> None:
        provider = ObjectStoreProvider(MemoryObjectClient(style=style, part_size=20))
        only = WriteOptions(overwrite=False)
        won, errors = await race(20, lambda index: provider.write(P("/d/f"), body + str(index).encode(), only))
        assert won == 1
        assert all(isinstance(error, PathExistsError) for error in errors)

    async def test_20_writers_with_one_time_one_wins(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"start")
        time = (await provider.stat(P("/f"))).modified_at
        assert time is not None
        options = WriteOptions(expected_mtime=time)
        won, errors = await race(20, lambda index: provider.write(P("/f"), str(index).encode(), options))
        assert won >= 1  # S3: a write in the same second, after the winner's, has the same time
        assert all(isinstance(error, StaleFileError) for error in errors)
        assert style == "s3" or won == 1

    async def test_20_deleters_and_20_copies(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"start")
        version = (await provider.stat(P("/f"))).version or ""
        won, errors = await race(20, lambda _: provider.delete(P("/f"), DeleteOptions(expected_version=version)))
        assert won == 1
        assert all(isinstance(error, StaleFileError) for error in errors)
        for index in range(20):
            client.poke(f"source-{index}", str(index).encode())
        only = WriteOptions(overwrite=False)
        won, errors = await race(20, lambda index: provider.copy(P(f"/source-{index}"), P("/one"), only))
        assert won == 1
        assert all(isinstance(error, PathExistsError) and error.path == "/one" for error in errors)

    async def test_a_counter_ends_at_the_number_of_successes(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("counter", b"0")

        async def increment(_: int) -> None:
            for _ in range(10):
                while True:
                    async with await provider.read(P("/counter")) as reader:
                        number = int(await reader.read())
                    try:
                        options = WriteOptions(expected_version=reader.stat.version or "")
                        await provider.write(P("/counter"), str(number + 1).encode(), options)
                        break
                    except StaleFileError:
                        continue

        won, errors = await race(8, increment)
        assert (won, errors) == (8, [])
        assert client.peek("counter") == b"80"

    @pytest.mark.parametrize("exist", [False, True])
    async def test_20_appenders_lose_nothing(self, style: Style, exist: bool) -> None:
        client = MemoryObjectClient(style=style)
        if exist:
            client.poke("log", b"")
        providers = [ObjectStoreProvider(client) for _ in range(4)]  # as if in different processes
        won, errors = await race(20, lambda index: providers[index % 4].append(P("/log"), b"%02d\n" % index))
        assert (won, errors) == (20, [])
        assert sorted((client.peek("log") or b"").split()) == [b"%02d" % index for index in range(20)]

    async def test_appenders_of_one_process_do_not_refuse_each_other(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("log", b"")
        await race(20, lambda index: provider.append(P("/log"), b"%02d" % index))
        assert client.requests == {"get": 20, "put": 20}


class TestRefusals:
    async def test_says_what_was_expected_and_what_is_there(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        old = await provider.stat(P("/f"))
        client.poke("f", b"new")
        new = await provider.stat(P("/f"))
        with pytest.raises(StaleFileError) as caught:
            await provider.write(P("/f"), b"mine", WriteOptions(expected_version=old.version or ""))
        assert (caught.value.expected, caught.value.actual) == (old.version, new.version)
        assert client.peek("f") == b"new"

    @pytest.mark.parametrize("expectation", ["version", "time"])
    async def test_gone_is_stale_and_not_a_create(self, style: Style, expectation: str) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        old = await provider.stat(P("/f"))
        client.poke("f", None)
        expected = (
            WriteOptions(expected_version=old.version or "")
            if expectation == "version"
            else WriteOptions(expected_mtime=old.modified_at or datetime.now(UTC))
        )
        for write in (provider.write, provider.append):
            with pytest.raises(StaleFileError) as caught:
                await write(P("/f"), b"mine", expected)
            assert caught.value.actual is None
        with pytest.raises(StaleFileError):
            await provider.delete(P("/f"), DeleteOptions(expected.expected_mtime, expected.expected_version))
        assert client.all_keys() == ()

    async def test_times_are_compared_at_the_resolution_of_the_store(self) -> None:
        client, provider = store("s3")
        client.poke("f", b"old")
        time = (await provider.stat(P("/f"))).modified_at
        assert time is not None
        assert time.microsecond == 0
        finer = WriteOptions(expected_mtime=time + timedelta(microseconds=999_999))
        await provider.write(P("/f"), b"old", finer)
        for away in (timedelta(seconds=2), timedelta(seconds=-2), timedelta(days=400)):
            with pytest.raises(StaleFileError):
                await provider.write(P("/f"), b"x", WriteOptions(expected_mtime=time + away))

    async def test_a_rewrite_between_the_look_at_the_time_and_the_write_is_seen(self) -> None:
        client, provider = store("s3")
        client.poke("f", b"old")
        time = (await provider.stat(P("/f"))).modified_at
        assert time is not None
        client.before = Interfering("put", lambda: client.poke("f", b"same second, other bytes"))
        with pytest.raises(StaleFileError):
            await provider.write(P("/f"), b"mine", WriteOptions(expected_mtime=time))
        assert client.peek("f") == b"same second, other bytes"

    async def test_expecting_a_file_and_its_absence_is_refused_either_way(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        version = (await provider.stat(P("/f"))).version or ""
        with pytest.raises(PathExistsError):
            await provider.write(P("/f"), b"", WriteOptions(overwrite=False, expected_version=version))
        with pytest.raises(StaleFileError):
            await provider.write(P("/f"), b"", WriteOptions(overwrite=False, expected_version="other"))
        with pytest.raises(StaleFileError):
            await provider.write(P("/g"), b"", WriteOptions(overwrite=False, expected_version=version))
        assert client.all_keys() == ("f",)

    async def test_a_directory_is_named_as_one(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("d/f", b"")
        with pytest.raises(PathIsDirectoryError):
            await provider.write(P("/d"), b"", WriteOptions(expected_version="1"))
        with pytest.raises(PathIsDirectoryError):
            await provider.delete(P("/d"), DeleteOptions(expected_version="1"))

    @pytest.mark.parametrize("path", ["/missing", "/d"])
    async def test_a_copy_of_what_is_no_file(self, style: Style, path: str) -> None:
        client, provider = store(style)
        client.poke("d/f", b"")
        kind = PathIsDirectoryError if path == "/d" else PathNotFoundError
        with pytest.raises(kind) as caught:
            await provider.copy(P(path), P("/x"))
        assert caught.value.path == path
        with pytest.raises(kind) as onto_itself:
            await provider.copy(P(path), P(path))
        assert onto_itself.value.path == path


class TestMoves:
    async def test_a_source_that_changed_meanwhile_stays_and_so_does_the_copy(self) -> None:
        client, provider = store("s3")
        client.poke("a", b"old")
        client.before = Interfering("delete", lambda: client.poke("a", b"new"))
        with pytest.raises(StaleFileError) as caught:
            await provider.move(P("/a"), P("/b"))
        assert caught.value.path == "/a"
        assert (client.peek("a"), client.peek("b")) == (b"new", b"old")

    async def test_a_source_that_changed_before_the_copy_is_moved_as_it_is_now(self) -> None:
        client, provider = store("s3")
        client.poke("a", b"old")
        client.before = Interfering("copy", lambda: client.poke("a", b"newer"))
        stat = await provider.move(P("/a"), P("/b"))
        assert (client.peek("a"), client.peek("b")) == (None, b"newer")
        assert stat.size == 5

    async def test_a_source_that_was_deleted_meanwhile(self) -> None:
        client, provider = store("s3")
        client.poke("a", b"old")
        client.before = Interfering("copy", lambda: client.poke("a", None))
        with pytest.raises(PathNotFoundError):
            await provider.move(P("/a"), P("/b"))
        assert client.all_keys() == ()

    async def test_where_deletes_ignore_conditions_the_source_is_looked_at_first(self) -> None:
        client = MemoryObjectClient(features=replace(S3_FEATURES, conditional_delete=False))
        provider = ObjectStoreProvider(client)
        client.poke("a", b"old")
        client.after = Interfering("copy", lambda: client.poke("a", b"new"))
        with pytest.raises(StaleFileError):
            await provider.move(P("/a"), P("/b"))
        assert (client.peek("a"), client.peek("b")) == (b"new", b"old")

    async def test_onto_itself_nothing_happens(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("a", b"kept")
        await provider.move(P("/a"), P("/a"))
        await provider.copy(P("/a"), P("/a"), WriteOptions(overwrite=False))
        assert client.peek("a") == b"kept"
        assert set(client.requests) <= {"head", "list"}

    async def test_the_destination_keeps_media_type_and_expectations(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("a", b"new", "text/plain")
        client.poke("b", b"old")
        seen = await provider.stat(P("/b"))
        for method in (provider.copy, provider.move):
            with pytest.raises(StaleFileError):
                await method(P("/a"), P("/b"), WriteOptions(expected_version="other"))
            with pytest.raises(PathExistsError):
                await method(P("/a"), P("/b"), WriteOptions(overwrite=False))
        stat = await provider.move(P("/a"), P("/b"), WriteOptions(expected_version=seen.version or ""))
        assert (stat.size, stat.media_type) == (3, "text/plain")
        assert (await provider.stat(P("/b"))).media_type == "text/plain"


class LostAndFollowed(MemoryObjectClient):
    """Lost the answer to its put, repeated it, met somebody else's content, and cannot tell what became of it."""

    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        raise PreconditionFailed(key, retried=True)


async def test_what_cannot_be_told_is_not_called_stale() -> None:
    provider = ObjectStoreProvider(LostAndFollowed())
    for call in (
        provider.write(P("/f"), b"x", WriteOptions(expected_version="1")),
        provider.write(P("/f"), b"x", WriteOptions(overwrite=False)),
        provider.append(P("/f"), b"x"),
    ):
        with pytest.raises(ConflictError) as caught:
            await call
        assert not caught.value.retryable


async def test_errors_of_the_store_carry_the_path(style: Style) -> None:
    client, provider = store(style)
    client.poke("d/f", b"x")

    async def down(kind: str, key: str) -> None:
        raise UnavailableError("down")

    client.before = down
    for call in (
        provider.stat(P("/d/f")),
        content(provider, "/d/f"),
        provider.write(P("/d/f"), b""),
        provider.append(P("/d/f"), b""),
        provider.delete(P("/d/f")),
        provider.make_dir(P("/d/f")),
        provider.remove_dir(P("/d/f")),
        provider.copy(P("/d/f"), P("/d/f2")),
    ):
        with pytest.raises(UnavailableError) as caught:
            await call
        assert caught.value.path in ("/d/f", "/d/f2", "/d")


def test_the_signal_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(PreconditionFailed("k", retried=True)))
    assert (copy.key, copy.retried) == ("k", True)
