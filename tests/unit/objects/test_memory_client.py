"""The in-memory client keeps the promises of the port, so that what passes on it means something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.unit.objects.support import Failing, Style

from moorage import ConflictError, LimitExceededError, PathNotFoundError, PermissionDeniedError, UnsupportedError
from moorage.objects import (
    ABSENT,
    EXISTS,
    Condition,
    CopyOptions,
    GetOptions,
    KeyDeleteOptions,
    ListOptions,
    Matches,
    MemoryObjectClient,
    PreconditionFailed,
    PutOptions,
)
from moorage.objects.memory_client import GCS_FEATURES, S3_FEATURES

pytestmark = pytest.mark.anyio

Call = Callable[[MemoryObjectClient, Condition], Awaitable[object]]

CONDITIONAL: dict[str, Call] = {
    "put": lambda client, condition: client.put("k", b"new", PutOptions(condition)),
    "multipart": lambda client, condition: client.put("k", b"new" * 20, PutOptions(condition)),
    "append": lambda client, condition: client.append("k", b"new", PutOptions(condition)),
    "copy": lambda client, condition: client.copy("src", "k", CopyOptions(condition)),
    "move": lambda client, condition: client.move("src", "k", CopyOptions(condition)),
}


def bucket(style: Style = "s3") -> MemoryObjectClient:
    features = replace(S3_FEATURES, native_move=True, native_append_from=0)
    client = MemoryObjectClient(style=style, features=features, part_size=20)
    client.poke("src", b"source")
    return client


@pytest.mark.parametrize("name", CONDITIONAL)
async def test_every_condition_is_judged(name: str) -> None:
    call = CONDITIONAL[name]
    for condition in (EXISTS, Matches("1")):
        client = bucket()
        with pytest.raises(PreconditionFailed):
            await call(client, condition)
        assert client.peek("k") is None
        await call(client, ABSENT)
        assert client.peek("k") is not None
    client = bucket()
    client.poke("k", b"old")
    for condition in (ABSENT, Matches("other")):
        with pytest.raises(PreconditionFailed):
            await call(client, condition)
        assert client.peek("k") == b"old"
    await call(client, Matches((await client.head("k")).version))
    assert client.peek("k") != b"old"
    assert client.pending_uploads == []


async def test_deletes() -> None:
    client = bucket()
    await client.delete("missing")
    with pytest.raises(PathNotFoundError):
        await client.delete("missing", KeyDeleteOptions(EXISTS))
    for condition in (Matches("other"), Matches((await client.head("src")).version)):
        with pytest.raises(PreconditionFailed):
            await client.delete("missing", KeyDeleteOptions(condition))
    with pytest.raises(PreconditionFailed):
        await client.delete("src", KeyDeleteOptions(Matches("other")))
    await client.delete("src", KeyDeleteOptions(EXISTS))
    assert client.all_keys() == ()


async def test_a_batch_reports_each_failure() -> None:
    client = bucket()
    client.before = Failing("delete_one", lambda: PermissionDeniedError("no"), 2)
    failures = await client.delete_many(["missing", "src"])
    assert [failure.key for failure in failures] == ["src"]
    with pytest.raises(LimitExceededError):
        await client.delete_many(["k"] * 1001)


async def test_sources_and_reads_are_pinned_to_a_version() -> None:
    client = bucket()
    old = (await client.head("src")).version
    await client.copy("src", "k", CopyOptions(source_version=old))
    client.poke("src", b"changed")
    with pytest.raises(PreconditionFailed):
        await client.copy("src", "k2", CopyOptions(source_version=old))
    with pytest.raises(PreconditionFailed):
        await client.get("src", GetOptions(version=old))
    for call in (client.head("no"), client.get("no"), client.copy("no", "k"), client.move("no", "k")):
        with pytest.raises(PathNotFoundError):
            await call


async def test_versions_and_times_in_the_two_styles() -> None:
    s3, gcs = MemoryObjectClient(style="s3"), MemoryObjectClient(style="gcs")
    first, second = await s3.put("k", b"same"), await s3.put("k", b"same")
    assert first.version == second.version
    assert first.modified_at is None
    time = (await s3.head("k")).modified_at
    assert time is not None
    assert time.microsecond == 0
    first, second = await gcs.put("k", b"same"), await gcs.put("k", b"same")
    assert first.version != second.version
    assert first.modified_at is not None
    assert second.modified_at is not None
    assert second.modified_at > first.modified_at


async def test_listings_page_fold_start_and_stop() -> None:
    client = MemoryObjectClient(features=replace(S3_FEATURES, page_size=3))
    for key in ("a", "a-b", "a.c", "a/1", "a/2", "a0", "b"):
        client.poke(key, b"")

    async def listed(prefix: str, options: ListOptions) -> list[list[str]]:
        pages = [page async for page in client.list(prefix, options)]
        assert [page.more for page in pages[:-1]] == [True] * (len(pages) - 1)
        return [[*(info.key for info in page.objects), *page.prefixes] for page in pages]

    assert await listed("a", ListOptions()) == [["a", "a-b", "a.c"], ["a/1", "a/2", "a0"]]
    assert await listed("a", ListOptions(delimiter="/")) == [["a", "a-b", "a.c"], ["a0", "a/"]]
    assert await listed("a/", ListOptions(delimiter="/")) == [["a/1", "a/2"]]
    assert await listed("", ListOptions(start_after="a/1")) == [["a/2", "a0", "b"]]
    assert await listed("", ListOptions(limit=2)) == [["a", "a-b"]]
    assert await listed("none", ListOptions()) == [[]]
    assert client.requests == {"list": 8}


async def test_what_the_features_rule_out() -> None:
    client = MemoryObjectClient(features=replace(GCS_FEATURES, max_object_size=10, native_move=False))
    for size in (11, 30):
        with pytest.raises(LimitExceededError):
            await client.put("k", b"x" * size)
    with pytest.raises(UnsupportedError):
        await client.move("a", "b")
    with pytest.raises(UnsupportedError):
        await client.append("a", b"")
    assert client.all_keys() == ()


async def test_hooks_fail_the_nth_request_and_lose_answers() -> None:
    client = bucket()
    client.before = Failing("put", lambda: ConflictError("409"), 2)
    await client.put("k", b"1")
    with pytest.raises(ConflictError):
        await client.put("k", b"2")
    client.before, client.after = None, Failing("put", lambda: ConflictError("lost"), 1)
    with pytest.raises(ConflictError):
        await client.put("k", b"3")
    assert client.peek("k") == b"3"
