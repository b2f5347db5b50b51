"""An answer that was lost, a store that is busy: never a false stale, never a second effect."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable

import pytest
from tests.integration.s3.support import PART, opened, probed, provider_of
from tests.servers.faults import Answer, CutUpload, DropRequest, DropResponse, Rule, s3_error, s3_error_in_200
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import ConflictError, MoorageError, PathExistsError, StaleFileError, UnavailableError
from moorage.objects import Matches, PreconditionFailed, PutOptions
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

PUTS = ("put_object", "complete_multipart_upload", "upload_part", "create_multipart_upload")
SIZES = {"empty": 0, "small": 100, "one-part": PART, "parts": 2 * PART + 1}


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy) as fs:
        yield await probed(fs)


async def streamed(body: bytes) -> AsyncIterable[bytes]:
    for start in range(0, max(len(body), 1), 1 << 20):
        yield body[start : start + (1 << 20)]


@pytest.fixture(params=SIZES)
def body(request: pytest.FixtureRequest) -> bytes:
    return b"n" * SIZES[request.param]


@pytest.mark.parametrize("how", [bytes, streamed], ids=["bytes", "stream"])
async def test_a_conditional_write_recognises_its_own_lost_answer(
    fs: S3Filesystem, s3_proxy: Proxy, body: bytes, how: Callable[[bytes], bytes | AsyncIterable[bytes]]
) -> None:
    seen = await fs.write_bytes("/file", b"old")
    rule = s3_proxy.add(Rule(DropResponse(), kind=("put_object", "complete_multipart_upload"), nth=1))
    if how is bytes:
        stat = await fs.write_bytes("/file", body, expected_version=seen.version or "")
    else:
        stat = await fs.write_stream("/file", streamed(body), expected_version=seen.version or "")
    assert rule.fired == 1
    assert await fs.read_bytes("/file") == body
    assert (await fs.stat("/file")).version == stat.version


async def test_a_create_only_write_recognises_its_own_lost_answer(
    fs: S3Filesystem, s3_proxy: Proxy, body: bytes
) -> None:
    rule = s3_proxy.add(Rule(DropResponse(), kind=("put_object", "complete_multipart_upload"), nth=1))
    await fs.write_bytes("/new", body, overwrite=False)
    assert rule.fired == 1
    with pytest.raises(PathExistsError):
        await fs.write_bytes("/new", body, overwrite=False)


async def test_a_write_that_lost_its_answer_and_then_its_object_says_that_it_cannot_tell(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server
) -> None:
    seen = await fs.write_bytes("/file", b"old")
    client = provider_of(fs).client
    key = f"{provider_of(fs)._keys.prefix}file"
    s3_proxy.add(Rule(DropResponse(), kind="put_object", nth=1))
    original = client._do.sender._repeats  # type: ignore[attr-defined]

    async def overtaken(*arguments: object) -> bool:
        seaweedfs.put(key, b"theirs")
        return bool(await original(*arguments))

    client._do.sender._repeats = overtaken  # type: ignore[attr-defined]
    with pytest.raises(PreconditionFailed) as failed:
        await client.put(key, b"ours", PutOptions(Matches(seen.version or "")))
    assert failed.value.retried
    assert seaweedfs.get(key) == b"theirs"


async def test_a_stale_write_is_stale_whatever_was_dropped(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    seen = await fs.write_bytes("/file", b"old")
    await fs.write_bytes("/file", b"theirs")
    s3_proxy.add(Rule(DropRequest(), kind="put_object", nth=1))
    with pytest.raises((StaleFileError, ConflictError)):
        await fs.write_bytes("/file", b"ours", expected_version=seen.version or "")
    assert await fs.read_bytes("/file") == b"theirs"


@pytest.mark.parametrize("code", ["SlowDown", "ServiceUnavailable"])
async def test_a_throttled_stale_write_is_stale(fs: S3Filesystem, s3_proxy: Proxy, code: str) -> None:
    seen = await fs.write_bytes("/file", b"old")
    await fs.write_bytes("/file", b"theirs")
    s3_proxy.add(Rule(s3_error(503, code), kind="put_object", nth=1))
    with pytest.raises(StaleFileError):
        await fs.write_bytes("/file", b"ours", expected_version=seen.version or "")


@pytest.mark.parametrize(
    "fault",
    [
        s3_error(503, "SlowDown"),
        s3_error(429, "TooManyRequests"),
        s3_error(500, "InternalError"),
        s3_error(500, "InternalError", after=True),
        s3_error(502, ""),
        DropRequest(),
        DropResponse(),
        CutUpload(10),
    ],
    ids=lambda fault: f"{type(fault).__name__}-{getattr(fault, 'status', '')}",
)
async def test_everything_goes_on_after_one_fault(fs: S3Filesystem, s3_proxy: Proxy, fault: object) -> None:
    for number in range(3):
        s3_proxy.clear()
        s3_proxy.add(Rule(fault, nth=number + 1))  # type: ignore[arg-type]
        stat = await fs.write_bytes(f"/f{number}", b"x" * 100)
        stat = await fs.write_bytes(f"/f{number}", b"y" * 100, expected_version=stat.version or "")
        assert await fs.read_bytes(f"/f{number}") == b"y" * 100
        await fs.copy(f"/f{number}", f"/g{number}")
        await fs.delete(f"/f{number}", expected_version=stat.version or "")
        assert [entry.name for entry in await fs.list_dir("/") if entry.name.startswith("f")] == []


async def test_a_conflict_is_tried_again(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    seen = await fs.write_bytes("/file", b"old")
    for kind, body in (("put_object", b"x"), ("complete_multipart_upload", bytes(PART + 1))):
        s3_proxy.clear()
        s3_proxy.add(Rule(s3_error(409, "ConditionalRequestConflict"), kind=kind, times=2))
        seen = await fs.write_bytes("/file", body, expected_version=seen.version or "")
        assert await fs.read_bytes("/file") == body


async def test_a_conflict_with_a_stream_is_reported(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    seen = await fs.write_bytes("/file", b"old")
    s3_proxy.add(Rule(s3_error(409, "ConditionalRequestConflict"), kind="put_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.write_stream("/file", streamed(b"new"), expected_version=seen.version or "")
    assert raised.value.retryable
    assert await fs.read_bytes("/file") == b"old"


@pytest.mark.parametrize("after", [False, True])
async def test_an_error_in_an_answer_that_began_well(fs: S3Filesystem, s3_proxy: Proxy, after: bool) -> None:
    await fs.write_bytes("/src", b"x")
    for kind in ("complete_multipart_upload", "copy_object"):
        s3_proxy.clear()
        rule = s3_proxy.add(Rule(s3_error_in_200(after=after), kind=kind, nth=1))
        if kind == "copy_object":
            await fs.copy("/src", "/dst")
            assert await fs.read_bytes("/dst") == b"x"
        else:
            await fs.write_bytes("/large", bytes(PART + 1))
            assert (await fs.stat("/large")).size == PART + 1
        assert rule.fired == 1


async def test_a_conditional_delete_that_lost_its_answer_is_done(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    stat = await fs.write_bytes("/file", b"x")
    s3_proxy.add(Rule(DropResponse(), kind="delete_object", nth=1))
    await fs.delete("/file", expected_version=stat.version or "")
    assert not await fs.exists("/file")


async def test_a_conditional_copy_recognises_its_own_lost_answer(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server
) -> None:
    kept = {"x-amz-meta-owner": "me", "cache-control": "max-age=7", "content-type": "text/x-test"}
    prefix = provider_of(fs)._keys.prefix
    seaweedfs.put(f"{prefix}src", b"new", headers=kept)
    await fs.copy("/src", "/first", overwrite=False)  # asks whether conditions on copies are judged
    seen = await fs.write_bytes("/dst", b"old")
    rule = s3_proxy.add(Rule(DropResponse(), kind="copy_object", times=1))
    stat = await fs.copy("/src", "/dst", expected_version=seen.version or "")
    assert rule.fired == 1
    assert stat == await fs.stat("/dst")
    found = seaweedfs.head(f"{prefix}dst") or {}
    assert {header: found.get(header) for header in kept} == kept
    with pytest.raises(StaleFileError):
        await fs.copy("/src", "/dst", expected_version=seen.version or "")


async def test_a_create_only_copy_recognises_its_own_lost_answer(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/src", b"new")
    await fs.copy("/src", "/first", overwrite=False)  # asks whether conditions on copies are judged
    rule = s3_proxy.add(Rule(DropResponse(), kind="copy_object", times=1))
    await fs.copy("/src", "/dst", overwrite=False)
    assert rule.fired == 1
    assert await fs.read_bytes("/dst") == b"new"
    with pytest.raises(PathExistsError):
        await fs.copy("/src", "/dst", overwrite=False)


async def test_a_copy_without_room_for_a_mark_keeps_its_metadata_and_is_no_false_stale(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server
) -> None:
    headers = {"x-amz-meta-long": "x" * 2030}
    prefix = provider_of(fs)._keys.prefix
    seaweedfs.put(f"{prefix}src", b"new", headers=headers)
    first = await fs.copy("/src", "/dst", overwrite=False)
    sent = seaweedfs.head(f"{prefix}src") or {}
    found = seaweedfs.head(f"{prefix}dst") or {}
    assert {name: found.get(name) for name in headers} == {name: sent.get(name) for name in headers}
    await fs.write_bytes("/dst", b"old", expected_version=first.version or "")
    seen = await fs.stat("/dst")
    s3_proxy.add(Rule(DropResponse(), kind="copy_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.copy("/src", "/dst", expected_version=seen.version or "")
    assert not raised.value.retryable


@pytest.mark.parametrize("body", [b"", b"<html/>", b"<CopyObjectResult/>"])
@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_copy_that_is_answered_badly_is_looked_at(
    fs: S3Filesystem, s3_proxy: Proxy, body: bytes, is_guarded: bool
) -> None:
    await fs.write_bytes("/src", b"new")
    seen = await fs.write_bytes("/dst", b"old")
    await fs.copy("/src", "/first", overwrite=False)  # asks whether conditions on copies are judged
    rule = s3_proxy.add(Rule(Answer(200, {}, body, after=True), kind="copy_object", nth=1))
    if is_guarded:
        await fs.copy("/src", "/dst", expected_version=seen.version or "")
    else:
        await fs.copy("/src", "/dst")
    assert rule.fired == 1
    assert await fs.read_bytes("/dst") == b"new"


async def test_a_delete_is_stale_where_the_version_was_replaced(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    seen = await fs.write_bytes("/file", b"one")
    now = seen
    for body in (b"two", b"three"):
        now = await fs.write_bytes("/file", body, expected_version=now.version or "")
    rule = s3_proxy.add(Rule(DropRequest(), kind="delete_object", nth=1))
    with pytest.raises(StaleFileError):
        await fs.delete("/file", expected_version=seen.version or "")
    assert rule.fired == 1


async def test_whether_a_delete_removed_what_was_made_anew_since_cannot_be_told(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = await fs.write_bytes("/file", b"one")
    deleting = provider_of(fs).client._do.deleting  # type: ignore[attr-defined]
    look = deleting._check_gone

    async def made_anew_first(*args: object) -> object:
        seaweedfs.put(f"{provider_of(fs)._keys.prefix}file", b"theirs")
        return await look(*args)

    monkeypatch.setattr(deleting, "_check_gone", made_anew_first)
    s3_proxy.add(Rule(DropResponse(), kind="delete_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.delete("/file", expected_version=seen.version or "")
    assert not raised.value.retryable
    assert await fs.read_bytes("/file") == b"theirs"


@pytest.mark.parametrize("fault", [s3_error(503, "SlowDown"), s3_error(500, "InternalError"), DropRequest()])
async def test_a_store_that_stays_down_is_unavailable_after_a_few_attempts(
    fs: S3Filesystem, s3_proxy: Proxy, fault: object
) -> None:
    s3_proxy.add(Rule(fault, method="GET"))  # type: ignore[arg-type]
    s3_proxy.reset()
    with pytest.raises(UnavailableError) as raised:
        await fs.read_bytes("/file")
    assert raised.value.retryable
    assert s3_proxy.count("get_object") <= 5


async def test_no_retry_is_hidden_in_the_http_client(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy, retries=0) as fs:
        await fs.write_bytes("/file", b"x")  # a connection that is kept
        s3_proxy.reset()
        s3_proxy.add(Rule(DropRequest(), kind="put_object"))
        with pytest.raises(MoorageError):
            await fs.write_bytes("/file", b"y")
        assert s3_proxy.count("put_object") == 1


@pytest.mark.parametrize("drops", [100, pytest.param(1_000, marks=pytest.mark.slow)])
async def test_no_false_stale_however_many_answers_are_lost(fs: S3Filesystem, s3_proxy: Proxy, drops: int) -> None:
    stat = await fs.write_bytes("/counter", b"0")
    rule = s3_proxy.add(Rule(DropResponse(), kind="put_object", probability=0.5, seed=11))
    count = 0
    while rule.fired < drops:
        count += 1
        stat = await fs.write_bytes("/counter", str(count).encode(), expected_version=stat.version or "")
    s3_proxy.clear()
    assert await fs.read_bytes("/counter") == str(count).encode()
