"""Whether a store enforces conditions is asked, not believed; asking leaves nothing behind."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from tests.integration.s3.support import PART, opened, probed, provider_of
from tests.servers.faults import Rule, StripConditions, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import PathExistsError, PermissionDeniedError, StaleFileError, UnsupportedError
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

HONEST_CHANGES = {"upload_part", "abort_multipart_upload", "create_multipart_upload"}


async def ask(fs: S3Filesystem) -> None:
    await provider_of(fs).client.probe()


async def test_an_honest_store_is_asked_once_and_nothing_is_written(s3_proxy: Proxy, seaweedfs: S3Server) -> None:
    async with opened(s3_proxy, "probe-honest") as fs:
        stat = await fs.write_bytes("/file", b"x")
        before = seaweedfs.keys("probe-honest")
        s3_proxy.reset()
        await fs.write_bytes("/file", b"y", expected_version=stat.version or "")
        assert s3_proxy.count() <= 11
        assert s3_proxy.count("put_object") == 2  # the question, which is refused, and the write
        assert seaweedfs.keys("probe-honest") == before
        assert not [key for key in seaweedfs.pending_uploads() if key.startswith("probe-honest")]
        assert fs.provider.client.features.conditional_put  # type: ignore[attr-defined]
        s3_proxy.reset()
        await ask(fs)
        assert s3_proxy.count() == 0


async def test_the_answer_is_kept_for_the_same_identity_alone(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy) as fs:
        await ask(fs)
        again = S3Filesystem("bucket1", "else", None, s3_proxy.endpoint_url, "testkey", "testsecret")
        async with again:
            s3_proxy.reset()
            await ask(again)
            assert s3_proxy.count() == 0
        other = S3Filesystem("bucket1", "else", None, s3_proxy.endpoint_url, "reader", "wrong", retries=0)
        assert provider_of(other).client._findings is None  # type: ignore[attr-defined]


async def test_the_questions_say_what_a_bucket_may_demand_of_every_new_object(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy, sse="AES256") as fs:
        await fs.write_bytes("/file", b"x")
        s3_proxy.reset()
        await ask(fs)
        made = [
            seen for seen in s3_proxy.requests if seen.kind in {"put_object", "copy_object", "create_multipart_upload"}
        ]
        assert len(made) >= 4
        assert {seen.head.headers.get("x-amz-server-side-encryption") for seen in made} == {"AES256"}


@pytest.mark.parametrize("kind", ["put_object", None])
async def test_a_store_that_ignores_conditions_is_found_out(
    moto_proxy: Proxy, moto: S3Server, kind: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    moto_proxy.add(Rule(StripConditions(), kind=kind))
    async with opened(moto_proxy, "liar") as fs:
        stat = await fs.write_bytes("/file", b"old")
        with caplog.at_level(logging.WARNING), pytest.raises(UnsupportedError):
            await fs.write_bytes("/file", b"new", expected_version=stat.version or "")
        assert "does not refuse stale writes" in caplog.text
        assert (await fs.capabilities("/file")).conditional_write == "none"
        with pytest.raises(UnsupportedError):
            await fs.write_bytes("/other", b"new", overwrite=False)
        assert await fs.read_bytes("/file") == b"old"
        await fs.make_dir("/dir")
        assert moto.keys("liar/") == ["liar/dir/", "liar/file"]
        await fs.remove_dir("/dir")
        await fs.delete("/file")


async def test_checking_before_writing_is_opted_into(moto_proxy: Proxy) -> None:
    moto_proxy.add(Rule(StripConditions()))
    async with opened(moto_proxy, conditional_write="guarded") as fs:
        stat = await fs.write_bytes("/file", b"old")
        await fs.write_bytes("/file", b"new", expected_version=stat.version or "")
        assert (await fs.capabilities("/file")).conditional_write == "guarded"
        with pytest.raises(StaleFileError):
            await fs.write_bytes("/file", b"newer", expected_version=stat.version or "")
        with pytest.raises(PathExistsError):
            await fs.write_bytes("/file", b"newer", overwrite=False)


async def test_a_store_that_replaces_in_spite_of_create_only_is_found_out(moto_proxy: Proxy, moto: S3Server) -> None:
    async with opened(moto_proxy, "half") as fs:
        await ask(fs)
        moto_proxy.add(Rule(StripConditions()))
        moto.put("half/file", b"theirs")
        with pytest.raises(PathExistsError):
            await fs.write_bytes("/file", b"ours", overwrite=False)
        assert moto.get("half/file") == b"theirs"
        with pytest.raises(UnsupportedError):
            await fs.write_bytes("/new", b"ours", overwrite=False)
        assert moto.keys("half/") == ["half/file"]
        assert (await fs.capabilities("/file")).conditional_write == "none"


@pytest.mark.parametrize("judges_deletes", [True, False])
async def test_what_is_taken_back_from_such_a_store_is_ones_own(
    moto_proxy: Proxy, moto: S3Server, monkeypatch: pytest.MonkeyPatch, judges_deletes: bool
) -> None:
    async with opened(moto_proxy) as fs:
        key = f"{provider_of(fs)._keys.prefix}new"
        client = provider_of(fs).client
        if not judges_deletes:
            moto_proxy.add(Rule(StripConditions(), kind="delete_object"))
        await ask(fs)
        moto_proxy.add(Rule(StripConditions()))
        if judges_deletes:
            moto_proxy.clear()
            moto_proxy.add(Rule(StripConditions(), kind="put_object"))
        saw = client._saw_absent  # type: ignore[attr-defined]

        async def replaced_first(enforced: bool) -> None:
            moto.put(key, b"theirs")
            await saw(enforced)

        monkeypatch.setattr(client, "_saw_absent", replaced_first)
        with pytest.raises(UnsupportedError):
            await fs.write_bytes("/new", b"ours", overwrite=False)
        assert moto.get(key) == b"theirs"


async def test_large_bodies_go_in_one_request_where_completions_are_not_judged(
    moto_proxy: Proxy, moto: S3Server
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield bytes(PART)

    async with opened(moto_proxy, "one") as fs:
        stat = await fs.write_bytes("/file", b"old")
        stale, stat = stat, await fs.write_bytes("/file", bytes(PART + 1), expected_version=stat.version or "")
        moto_proxy.reset()
        await fs.write_stream("/file", chunks(), expected_version=stat.version or "")
        assert Counter(moto_proxy.kinds()) == {"put_object": 1}
        assert (await fs.stat("/file")).size == 3 * PART
        with pytest.raises(StaleFileError):
            await fs.write_bytes("/file", bytes(PART + 1), expected_version=stale.version or "")
        with pytest.raises(StaleFileError):
            await fs.write_stream("/file", chunks(), expected_version=stale.version or "")
        assert (await fs.stat("/file")).size == 3 * PART


@pytest.mark.parametrize("chosen", ["atomic", "none"])
async def test_a_choice_is_not_asked_about(s3_proxy: Proxy, chosen: str) -> None:
    async with opened(s3_proxy, conditional_write=chosen) as fs:
        s3_proxy.reset()
        await ask(fs)
        assert s3_proxy.count() == 0
        assert (await fs.capabilities("/x")).conditional_write == chosen
        if chosen == "none":
            with pytest.raises(UnsupportedError):
                await fs.write_bytes("/x", b"", overwrite=False)


async def test_it_can_be_asked_when_opening(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy, probe_at_start=True) as fs:
        assert s3_proxy.count("put_object") == 1
        s3_proxy.reset()
        await ask(fs)
        assert s3_proxy.count() == 0


async def test_a_question_that_is_forbidden_says_what_was_asked(s3_proxy: Proxy) -> None:
    async with opened(s3_proxy) as fs:
        stat = await fs.write_bytes("/file", b"x")
        s3_proxy.add(Rule(s3_error(403, "AccessDenied"), target="moorage-probe"))
        with pytest.raises(PermissionDeniedError, match="asking whether the store enforces conditions"):
            await fs.write_bytes("/file", b"y", expected_version=stat.version or "")
        s3_proxy.clear()
        await fs.write_bytes("/file", b"y", expected_version=stat.version or "")


async def test_a_store_that_ignores_conditions_on_copies_copies_through_us(s3_proxy: Proxy) -> None:
    s3_proxy.add(Rule(StripConditions(), kind="copy_object"))
    async with opened(s3_proxy) as fs:
        await probed(fs)
        await fs.write_bytes("/src", b"new", media_type="text/x-test")
        old = await fs.write_bytes("/dst", b"old")
        await fs.write_bytes("/dst", b"theirs")
        for _ in range(2):
            with pytest.raises(StaleFileError):
                await fs.copy("/src", "/dst", expected_version=old.version or "")
            with pytest.raises(PathExistsError):
                await fs.copy("/src", "/dst", overwrite=False)
        await fs.copy("/src", "/free", overwrite=False)
        assert (await fs.stat("/free")).media_type == "text/x-test"
        assert sorted(entry.name for entry in await fs.list_dir("/")) == [".probed", "dst", "free", "src"]
