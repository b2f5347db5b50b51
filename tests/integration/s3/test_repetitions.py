"""What is sent again after a lost answer undoes nothing that others did since, and what was learnt once is not lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.integration.s3.support import PART, opened, probed, provider_of
from tests.servers.faults import Answer, DropRequest, DropResponse, Rule, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import ConflictError, PathExistsError, UnavailableError
from moorage.objects import PUT
from moorage_s3 import S3Filesystem
from moorage_s3.precedence import Precedence

pytestmark = pytest.mark.anyio

Act = Callable[[], Awaitable[object]]


@pytest.fixture
async def fs(s3_proxy: Proxy) -> AsyncIterator[S3Filesystem]:
    async with opened(s3_proxy, name_checks=False) as fs:
        yield await probed(fs)


@pytest.fixture
async def theirs(fs: S3Filesystem, seaweedfs: S3Server) -> AsyncIterator[S3Filesystem]:
    """Somebody else's view of the same files, past the proxy."""
    async with opened(seaweedfs, provider_of(fs)._keys.prefix.rstrip("/"), name_checks=False) as theirs:
        yield await probed_already(theirs)


async def probed_already(fs: S3Filesystem) -> S3Filesystem:
    await fs.write_bytes("/.theirs", b"", overwrite=False)
    return fs


@pytest.fixture
def meanwhile(fs: S3Filesystem, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has something happen between the first failed attempt and the first look, and something after that look."""
    sender = provider_of(fs).client._do.sender  # type: ignore[attr-defined]

    def arrange(before_look: Act | None = None, after_look: Act | None = None) -> None:
        repeats, send = sender._repeats, sender.send
        acts = [before_look, after_look]

        async def act(number: int) -> None:
            due, acts[number] = acts[number], None
            if due is not None:
                await due()

        async def failed(*arguments: object) -> bool:
            await act(0)
            return bool(await repeats(*arguments))

        async def sent(request: object) -> object:
            answer = await send(request)
            if acts[0] is None and getattr(request, "method", "") == "HEAD":
                await act(1)
            return answer

        monkeypatch.setattr(sender, "_repeats", failed)
        monkeypatch.setattr(sender, "send", sent)

    return arrange


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's clock says that what is there was there before."""
    monkeypatch.setattr(Precedence, "is_certain", lambda *_: True)


async def listed_version(fs: S3Filesystem, name: str) -> str:
    return next(entry.stat.version or "" for entry in await fs.list_dir("/") if entry.name == name)


async def test_a_write_that_is_known_to_have_succeeded_succeeds_though_its_object_is_gone_since(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None]
) -> None:
    seen = await fs.write_bytes("/file", b"old")

    async def replaced() -> None:
        await theirs.write_bytes("/file", b"theirs", expected_version=(await theirs.stat("/file")).version or "")

    meanwhile(replaced, lambda: theirs.delete("/file"))
    s3_proxy.add(Rule(DropResponse(), kind="put_object", nth=1))
    s3_proxy.reset()
    stat = await fs.write_bytes("/file", b"ours", expected_version=seen.version or "")
    assert stat.size == 4
    assert s3_proxy.count("put_object") == 1
    assert not await fs.exists("/file")


async def test_a_create_only_write_that_is_known_to_have_come_late_is_refused_though_the_object_is_gone_since(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None]
) -> None:
    meanwhile(lambda: theirs.write_bytes("/new", b"theirs", overwrite=False), lambda: theirs.delete("/new"))
    s3_proxy.add(Rule(DropRequest(), kind="put_object", nth=1))
    with pytest.raises(PathExistsError):
        await fs.write_bytes("/new", b"ours", overwrite=False)


@pytest.mark.parametrize("size", [10, 2 * PART])
async def test_a_write_without_an_expectation_does_not_undo_what_was_made_of_it(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None], size: int
) -> None:
    await fs.write_bytes("/file", b"old")

    async def made_of_it() -> None:
        version = await listed_version(theirs, "file")
        await theirs.write_bytes("/file", b"theirs", expected_version=version)

    meanwhile(made_of_it)
    rule = s3_proxy.add(Rule(DropResponse(), kind=("put_object", "complete_multipart_upload"), times=1))
    with pytest.raises(ConflictError) as raised:
        await fs.write_bytes("/file", bytes(size))
    assert not raised.value.retryable
    assert rule.fired == 1
    assert await fs.read_bytes("/file") == b"theirs"


async def test_a_write_without_an_expectation_does_not_undo_what_came_before_its_repetition(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None]
) -> None:
    await fs.write_bytes("/file", b"old")
    version = (await theirs.stat("/file")).version or ""
    meanwhile(after_look=lambda: theirs.write_bytes("/file", b"theirs", expected_version=version))
    sent = provider_of(fs).client._do.uploading  # type: ignore[attr-defined]
    s3_proxy.add(Rule(DropRequest(), kind="put_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await sent.put(f"{provider_of(fs)._keys.prefix}file", b"ours", PUT)
    assert raised.value.retryable is not False
    assert await fs.read_bytes("/file") == b"theirs"
    await fs.write_bytes("/file", b"ours")
    assert await fs.read_bytes("/file") == b"ours"


@pytest.mark.parametrize("fault", [DropRequest(), DropResponse(), s3_error(500, "InternalError", after=True)])
@pytest.mark.parametrize("there", ["nothing", "ours", "old"])
async def test_a_write_without_an_expectation_is_made_again_where_nothing_came_in_between(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server, there: str, fault: object, request: pytest.FixtureRequest
) -> None:
    if there == "ours":
        await fs.write_bytes("/file", b"old")
    elif there == "old":
        seaweedfs.put(f"{provider_of(fs)._keys.prefix}file", b"old")
        request.getfixturevalue("long_ago")
    rule = s3_proxy.add(Rule(fault, kind="put_object", times=3))  # type: ignore[arg-type]
    stat = await fs.write_bytes("/file", b"new")
    assert rule.fired >= 1
    assert await fs.read_bytes("/file") == b"new"
    assert (await fs.stat("/file")).version == stat.version


async def test_a_write_without_an_expectation_is_made_again_where_the_store_knows_no_conditions(
    fs: S3Filesystem, s3_proxy: Proxy
) -> None:
    await fs.write_bytes("/file", b"old")
    s3_proxy.add(Rule(DropRequest(), kind="put_object", nth=1))
    s3_proxy.add(Rule(s3_error(501, "NotImplemented"), kind="put_object", nth=1))
    await fs.write_bytes("/file", b"new")
    assert await fs.read_bytes("/file") == b"new"


async def test_a_write_is_not_made_again_unseen(fs: S3Filesystem, s3_proxy: Proxy) -> None:
    await fs.write_bytes("/file", b"old")
    s3_proxy.add(Rule(DropRequest(), kind="put_object", nth=1))
    s3_proxy.add(Rule(s3_error(503, "SlowDown"), kind="head_object"))
    s3_proxy.reset()
    with pytest.raises(UnavailableError):
        await fs.write_bytes("/file", b"new")
    assert s3_proxy.count("put_object") == 1


async def test_a_delete_does_not_remove_what_was_made_after_it(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None]
) -> None:
    await fs.write_bytes("/file", b"old")
    meanwhile(lambda: theirs.write_bytes("/file", b"theirs", overwrite=False))
    s3_proxy.add(Rule(DropResponse(), kind="delete_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.delete("/file")
    assert not raised.value.retryable
    assert await fs.read_bytes("/file") == b"theirs"


@pytest.mark.parametrize("fault", [DropRequest(), DropResponse()])
async def test_a_delete_that_nothing_came_between_is_done(fs: S3Filesystem, s3_proxy: Proxy, fault: object) -> None:
    await fs.write_bytes("/file", b"old")
    rule = s3_proxy.add(Rule(fault, kind="delete_object", nth=1))  # type: ignore[arg-type]
    await fs.delete("/file")
    assert rule.fired == 1
    assert not await fs.exists("/file")


async def test_a_copy_without_an_expectation_does_not_undo_what_was_made_of_it(
    fs: S3Filesystem, theirs: S3Filesystem, s3_proxy: Proxy, meanwhile: Callable[..., None]
) -> None:
    await fs.write_bytes("/src", b"new")
    await fs.copy("/src", "/first", overwrite=False)  # asks whether conditions on copies are judged
    await fs.write_bytes("/dst", b"old")

    async def made_of_it() -> None:
        await theirs.write_bytes("/dst", b"theirs", expected_version=(await theirs.stat("/dst")).version or "")

    meanwhile(made_of_it)
    s3_proxy.add(Rule(DropResponse(), kind="copy_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.copy("/src", "/dst")
    assert not raised.value.retryable
    assert await fs.read_bytes("/dst") == b"theirs"


@pytest.mark.parametrize("fault", [DropRequest(), DropResponse(), Answer(200, {}, b"<html/>", after=True)])
async def test_a_copy_without_an_expectation_is_made_where_nothing_came_in_between(
    fs: S3Filesystem, s3_proxy: Proxy, fault: object
) -> None:
    await fs.write_bytes("/src", b"new")
    await fs.copy("/src", "/first", overwrite=False)
    await fs.write_bytes("/dst", b"old")
    rule = s3_proxy.add(Rule(fault, kind="copy_object", nth=1))  # type: ignore[arg-type]
    await fs.copy("/src", "/dst")
    assert rule.fired == 1
    assert await fs.read_bytes("/dst") == b"new"


async def test_a_copy_without_a_mark_that_is_answered_badly_is_no_stale_one(
    fs: S3Filesystem, s3_proxy: Proxy, seaweedfs: S3Server
) -> None:
    seaweedfs.put(f"{provider_of(fs)._keys.prefix}src", b"new", headers={"x-amz-meta-long": "x" * 2030})
    await fs.copy("/src", "/first", overwrite=False)
    seen = await fs.write_bytes("/dst", b"old")
    s3_proxy.add(Rule(Answer(200, {}, b"<html/>", after=True), kind="copy_object", nth=1))
    with pytest.raises(ConflictError) as raised:
        await fs.copy("/src", "/dst", expected_version=seen.version or "")
    assert not raised.value.retryable
