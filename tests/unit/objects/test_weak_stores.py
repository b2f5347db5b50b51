"""Stores that ignore conditions, and stores that ask to try again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.objects.support import IGNORANT, Failing, P, Style, chunks, content, race, store

from moorage import (
    ConflictError,
    DeleteOptions,
    PathExistsError,
    PathNotFoundError,
    StaleFileError,
    UnsupportedError,
    WriteOptions,
)
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage.objects.memory_client import S3_FEATURES

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["s3", "gcs"])
def style(request: pytest.FixtureRequest) -> Style:
    return request.param  # type: ignore[no-any-return]


class TestStoresThatIgnoreConditions:
    async def test_expectations_are_refused_and_nothing_is_written(self) -> None:
        client = MemoryObjectClient(features=IGNORANT)
        provider = ObjectStoreProvider(client)
        client.poke("f", b"old")
        version = (await provider.stat(P("/f"))).version or ""
        assert (await provider.capabilities(P("/f"))).conditional_write == "none"
        matching, absent = WriteOptions(expected_version=version), WriteOptions(overwrite=False)
        for call in (
            provider.write(P("/f"), b"new", matching),
            provider.write(P("/g"), b"new", absent),
            provider.append(P("/f"), b"new"),
            provider.copy(P("/f"), P("/g"), absent),
            provider.delete(P("/f"), DeleteOptions(expected_version=version)),
        ):
            with pytest.raises(UnsupportedError, match="guarded"):
                await call
        assert client.all_keys() == ("f",)
        assert client.peek("f") == b"old"

    async def test_what_expects_nothing_works(self) -> None:
        client = MemoryObjectClient(features=IGNORANT)
        provider = ObjectStoreProvider(client)
        await provider.write(P("/a"), b"1")
        await provider.copy(P("/a"), P("/b"))
        await provider.move(P("/b"), P("/c"))
        await provider.delete(P("/a"))
        await provider.make_dir(P("/d"))
        with pytest.raises(PathNotFoundError):
            await provider.delete(P("/a"))
        assert client.all_keys() == ("c", "d/")

    async def test_opting_in_checks_first(self) -> None:
        client = MemoryObjectClient(features=IGNORANT)
        provider = ObjectStoreProvider(client, check_then_write=True)
        assert (await provider.capabilities(P("/"))).conditional_write == "guarded"
        seen = await provider.write(P("/f"), b"one", WriteOptions(overwrite=False))
        with pytest.raises(PathExistsError):
            await provider.write(P("/f"), b"two", WriteOptions(overwrite=False))
        await provider.write(P("/f"), b"two", WriteOptions(expected_version=seen.version or ""))
        for call in (
            provider.write(P("/f"), b"three", WriteOptions(expected_version=seen.version or "")),
            provider.copy(P("/f"), P("/f2"), WriteOptions(expected_version="x")),
            provider.delete(P("/f"), DeleteOptions(expected_version=seen.version or "")),
        ):
            with pytest.raises(StaleFileError):
                await call
        assert await content(provider, "/f") == b"two"

    async def test_opting_in_is_exact_within_the_process(self) -> None:
        client = MemoryObjectClient(features=IGNORANT)
        provider = ObjectStoreProvider(client, check_then_write=True)
        seen = await provider.write(P("/f"), b"start")
        options = WriteOptions(expected_version=seen.version or "")
        won, errors = await race(20, lambda index: provider.write(P("/f"), str(index).encode(), options))
        assert won == 1
        assert all(isinstance(error, StaleFileError) for error in errors)
        won, _ = await race(20, lambda index: provider.append(P("/log"), b"%02d " % index))
        assert won == 20
        assert len((client.peek("log") or b"").split()) == 20
        await race(10, lambda index: provider.move(P("/f" if index % 2 else "/g"), P("/g" if index % 2 else "/f")))
        assert len([key for key in client.all_keys() if key in "fg"]) == 1

    async def test_copies_that_ignore_conditions_go_through_a_put_that_does_not(self) -> None:
        client = MemoryObjectClient(features=replace(S3_FEATURES, conditional_copy=False, conditional_source=False))
        provider = ObjectStoreProvider(client)
        client.poke("a", b"new" * 40_000, "text/plain")
        client.poke("b", b"old")
        seen = await provider.stat(P("/b"))
        with pytest.raises(PathExistsError):
            await provider.copy(P("/a"), P("/b"), WriteOptions(overwrite=False))
        with pytest.raises(StaleFileError):
            await provider.copy(P("/a"), P("/b"), WriteOptions(expected_version="other"))
        assert client.peek("b") == b"old"
        assert client.requests["copy"] == 0
        stat = await provider.copy(P("/a"), P("/b"), WriteOptions(expected_version=seen.version or ""))
        assert (stat.size, stat.media_type) == (120_000, "text/plain")
        client.poke("b", None)
        await provider.copy(P("/a"), P("/b"))
        assert client.requests["copy"] == 1
        with pytest.raises(PathNotFoundError):
            await provider.copy(P("/missing"), P("/c"), WriteOptions(overwrite=False))


class TestConflicts:
    """A 409 is no answer yet: the store asks to try again."""

    async def test_bytes_are_sent_again(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        version = (await provider.stat(P("/f"))).version or ""
        client.before = Failing("put", lambda: ConflictError("409"), 1, 2)
        await provider.write(P("/f"), b"new", WriteOptions(expected_version=version))
        assert client.peek("f") == b"new"

    @pytest.mark.parametrize("options", [WriteOptions(expected_version="v"), WriteOptions(overwrite=False)])
    async def test_a_change_meanwhile_is_stale(self, style: Style, options: WriteOptions) -> None:
        client, provider = store(style)
        client.poke("f", b"others")
        client.before = Failing("put", lambda: ConflictError("409"), 1)
        with pytest.raises(PathExistsError if not options.overwrite else StaleFileError):
            await provider.write(P("/f"), b"new", options)
        assert client.requests["put"] == 1

    async def test_chunks_are_not_sent_again(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        version = (await provider.stat(P("/f"))).version or ""
        client.before = Failing("put", lambda: ConflictError("409"), 1)
        with pytest.raises(ConflictError) as caught:
            await provider.write(P("/f"), chunks(b"new"), WriteOptions(expected_version=version))
        assert caught.value.retryable
        assert caught.value.path == "/f"

    async def test_what_must_not_be_repeated_is_not(self, style: Style) -> None:
        client, provider = store(style)
        client.before = Failing("put", lambda: ConflictError("who knows", retryable=False), 1)
        with pytest.raises(ConflictError, match="who knows"):
            await provider.write(P("/f"), b"new", WriteOptions(overwrite=False))
        assert client.requests["put"] == 1

    async def test_it_ends(self, style: Style) -> None:
        client, provider = store(style)
        client.before = Failing("put", lambda: ConflictError("409"), *range(1, 100))
        with pytest.raises(ConflictError):
            await provider.write(P("/f"), b"new")
        assert 1 < client.requests["put"] < 20

    async def test_deletes_and_copies_too(self, style: Style) -> None:
        client, provider = store(style)
        client.poke("f", b"old")
        for kind in ("copy", "delete"):
            client.before = Failing(kind, lambda: ConflictError("409"), 1)
            await (provider.copy(P("/f"), P("/g")) if kind == "copy" else provider.delete(P("/f")))
        assert client.all_keys() == ("g",)
