"""A store whose answers are wrong is not believed: no key outside, no end that is none, nothing but errors of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.integration.s3.support import PART, opened, probed, provider_of
from tests.servers.faults import Answer, Rule
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import MoorageError, StorageError
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

HEAD = {"ETag": '"e"', "Last-Modified": "Mon, 01 Jan 99999999999999999999 00:00:00 +0000"}


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy) as fs:
        yield await probed(fs)


def page(text: str) -> Answer:
    return Answer(200, {}, f"<ListBucketResult>{text}</ListBucketResult>".encode())


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, {}, b"<html><body>log in</body></html>"),
        page("<Contents><Key>elsewhere/file</Key><Size>1</Size></Contents>"),
        page("<CommonPrefixes><Prefix>elsewhere/</Prefix></CommonPrefixes>"),
        page("<IsTruncated>true</IsTruncated>"),
        page("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
    ],
    ids=["a-page-of-html", "a-key-outside", "a-prefix-outside", "no-token", "the-same-token"],
)
async def test_a_listing_that_cannot_be_is_an_error(fs: S3Filesystem, s3_proxy: Proxy, answer: Answer) -> None:
    await fs.write_bytes("/dir/file", b"x")
    s3_proxy.add(Rule(answer, kind="list_objects"))
    s3_proxy.reset()
    with pytest.raises(StorageError):
        await fs.list_dir("/")
    with pytest.raises(StorageError):
        await fs.remove_dir("/dir", recursive=True)
    assert s3_proxy.count("delete_objects") == 0
    assert s3_proxy.count() < 10


async def test_a_batch_is_not_taken_for_done_without_its_answer(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/dir/file", b"x")
    s3_proxy.add(Rule(Answer(200, {}, b"<html/>"), kind="delete_objects"))
    with pytest.raises(StorageError):
        await fs.remove_dir("/dir", recursive=True)
    assert await fs.exists("/dir/file")


async def test_a_sweep_ends_and_takes_any_key(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    uploads = "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType><NextKeyMarker>%FF</NextKeyMarker>"
    answer = Answer(200, {}, f"<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>".encode())
    rule = s3_proxy.add(Rule(answer, target=r"\?.*uploads="))
    with pytest.raises(StorageError):
        await provider_of(fs).sweep_leftovers(0)
    assert rule.fired == 2


@pytest.mark.parametrize("status", [200, 403])
async def test_times_that_no_clock_has_are_no_times(fs: S3Filesystem, s3_proxy: Proxy, status: int) -> None:
    dates = {**HEAD, "Date": HEAD["Last-Modified"]}
    s3_proxy.add(Rule(Answer(status, dates), kind="head_object"))
    client = provider_of(fs).client
    if status == 200:
        assert (await client.head("x")).modified_at is None
    else:
        with pytest.raises(MoorageError):
            await client.head("x")


@pytest.mark.parametrize("body", [b"", b"<html/>", b"<CompleteMultipartUploadResult/>"])
@pytest.mark.parametrize("size", [10, 2 * PART])
async def test_a_write_that_is_answered_badly_is_looked_at(
    fs: S3Filesystem, s3_proxy: Proxy, body: bytes, size: int
) -> None:
    kinds = ("put_object", "complete_multipart_upload")
    rule = s3_proxy.add(Rule(Answer(200, {}, body, after=True), kind=kinds))
    stat = await fs.write_bytes("/file", bytes(size))
    s3_proxy.clear()
    assert rule.fired == 1
    assert (stat.size, stat.version) == (size, (await fs.stat("/file")).version)


@pytest.mark.parametrize("size", [10, 2 * PART])
async def test_the_version_of_somebody_elses_object_is_not_given_for_ones_own(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"{provider_of(fs)._keys.prefix}file"
    settling = provider_of(fs).client._do.uploading.settling  # type: ignore[attr-defined]
    look = settling.stored

    async def replaced_first(*args: object) -> object:
        seaweedfs.put(key, b"theirs")
        return await look(*args)

    monkeypatch.setattr(settling, "stored", replaced_first)
    kinds = ("put_object", "complete_multipart_upload")
    s3_proxy.add(Rule(Answer(200, {}, b"<CompleteMultipartUploadResult/>", after=True), kind=kinds))
    stat = await fs.write_bytes("/file", bytes(size))
    s3_proxy.clear()
    assert stat.version != (await fs.stat("/file")).version


async def test_a_503_of_a_proxy_may_come_after_the_effect(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    stat = await fs.write_bytes("/file", b"x")
    rule = s3_proxy.add(Rule(Answer(503, {}, b"<html>upstream</html>", after=True), kind="delete_object", nth=1))
    await fs.delete("/file", expected_version=stat.version or "")
    assert rule.fired == 1
    assert not await fs.exists("/file")


async def test_marks_of_somebody_elses_making_are_not_sent_on(s3_proxy: Proxy, seaweedfs: S3Server) -> None:
    async with opened(s3_proxy) as fs:
        key = f"{provider_of(fs)._keys.prefix}file"
        await probed(fs)
        await fs.write_bytes("/file", b"x")
        marks = (seaweedfs.head(key) or {})["x-amz-meta-moorage-writes"]
        seaweedfs.put(key, b"y", headers={"x-amz-meta-moorage-writes": f"{marks},{'z' * 1900}"})
        stat = await fs.stat("/file")
        await fs.write_bytes("/file", b"new", expected_version=stat.version or "")
        assert len((seaweedfs.head(key) or {})["x-amz-meta-moorage-writes"]) < 100


async def test_an_honest_store_is_not_taken_for_another_when_a_deletion_comes_between(
    s3_proxy: Proxy, seaweedfs: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(s3_proxy) as fs:
        client = provider_of(fs).client
        await client.probe()
        key = f"{provider_of(fs)._keys.prefix}file"
        sender = client._do.sender  # type: ignore[attr-defined]
        send, puts = sender.send, []

        async def deleted_between(request: object) -> object:
            if getattr(request, "method", "") == "PUT":
                puts.append(request)
                if len(puts) == 2:
                    seaweedfs.delete(key)
            return await send(request)

        monkeypatch.setattr(sender, "send", deleted_between)
        await fs.write_bytes("/file", b"x", overwrite=False)
        assert len(puts) == 3
        assert client.features.conditional_put
        assert seaweedfs.get(key) is None
