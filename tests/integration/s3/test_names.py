"""Names: every one that a path can express round-trips; the others are listed as such and never reached by accident."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from tests.integration.s3.support import opened, provider_of
from tests.servers.faults import Rule, s3_error
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import InexpressibleNameError, InvalidPathError, PathIsDirectoryError, PathNotFoundError, TransferError
from moorage.objects import ListOptions, MemoryObjectClient
from moorage_s3 import S3Filesystem

pytestmark = pytest.mark.anyio

EXPRESSIBLE = [
    "k?versionId=1", "a#b", "%20", "a%2Fb", "%41", "a+b", "a b", " a ", "[br]", "*", "{x}", "a\\b", "a&b=c;d", "~'!()",
    "ä", "a\u0308", "日本語", "😀", "A", "a", "-", "...", "a..b", "x" * 200 + "/" + "y" * 200, "<tag>&amp;", '"',
    "@:,$", "\u2028", "\x80",
]  # fmt: skip
INEXPRESSIBLE = ["a//b", "/lead", "./here", "a/./b", "a/../b", "..", "a/..", "//", "ctl\x01", "tab\tname", "t/\x7f"]


@pytest.fixture
async def fs(moto: S3Server) -> AsyncIterator[S3Filesystem]:
    self_made = moto.make_bucket()
    async with opened(moto, "", self_made) as fs:
        yield fs


def bucket(fs: S3Filesystem) -> str:
    return provider_of(fs).client._settings.bucket  # type: ignore[attr-defined,no-any-return]


async def test_every_name_round_trips(fs: S3Filesystem, moto: S3Server) -> None:
    for name in EXPRESSIBLE:
        await fs.write_bytes(f"/{name}", name.encode())
    assert {str(entry.path)[1:] for entry in await fs.list_dir("/", recursive=True) if entry.is_file} == {*EXPRESSIBLE}
    for name in EXPRESSIBLE:
        assert await fs.read_bytes(f"/{name}") == name.encode()
        assert moto.get(name, bucket=bucket(fs)) == name.encode()
        await fs.copy(f"/{name}", f"/copies/{name}")
        await fs.delete(f"/{name}")
        assert await fs.read_bytes(f"/copies/{name}") == name.encode()
    await fs.remove_dir("/copies", recursive=True)
    assert moto.keys(bucket=bucket(fs)) == []


async def test_odd_keys_are_listed_and_out_of_reach(fs: S3Filesystem) -> None:
    client = provider_of(fs).client
    for key in INEXPRESSIBLE:
        await client.put(key, key.encode())
    for key in INEXPRESSIBLE:
        body = await client.get(key)
        assert body.chunks == key.encode(), key
        with suppress(PathNotFoundError, InvalidPathError, PathIsDirectoryError):
            assert await fs.read_bytes(f"/{key}") != key.encode()
    listed = [entry async for entry in fs.scan_dir("/", recursive=True)]
    assert {entry.raw_name for entry in listed if entry.path is None} == {key.encode() for key in INEXPRESSIBLE}
    assert [entry for entry in listed if entry.is_file and entry.path is not None] == []
    with pytest.raises(InexpressibleNameError):
        await fs.remove_dir("/t", recursive=True)


async def test_a_batch_deletes_keys_that_xml_cannot_hold(fs: S3Filesystem, moto: S3Server) -> None:
    client = provider_of(fs).client
    keys = [*INEXPRESSIBLE, *EXPRESSIBLE]
    for key in keys:
        await client.put(key, b"x")
    assert await client.delete_many([*keys, "never/there"]) == ()
    assert moto.keys(bucket=bucket(fs)) == []


async def test_every_failure_in_a_batch_is_reported(fs: S3Filesystem, moto_proxy: Proxy) -> None:
    failures = "".join(
        f"<Error><Key>d/{name}</Key><Code>{code}</Code></Error>" for name, code in (("a", "AccessDenied"), ("b", "Odd"))
    )
    answer = s3_error(200, "")
    body = f"<DeleteResult>{failures}</DeleteResult>".encode()
    moto_proxy.add(Rule(type(answer)(200, answer.headers, body), kind="delete_objects"))
    async with opened(moto_proxy, "", bucket(fs)) as through:
        for name in "abc":
            await through.write_bytes(f"/d/{name}", b"x")
        with pytest.raises(TransferError) as raised:
            await through.remove_dir("/d", recursive=True)
    assert [(path, type(error).__name__) for path, error in raised.value.failed] == [
        ("/d/a", "PermissionDeniedError"),
        ("/d/b", "StorageError"),
    ]


async def test_a_store_without_batches_is_served_one_by_one(fs: S3Filesystem, moto_proxy: Proxy) -> None:
    moto_proxy.add(Rule(s3_error(501, "NotImplemented"), kind="delete_objects"))
    async with opened(moto_proxy, "", bucket(fs)) as through:
        for name in "abc":
            await through.write_bytes(f"/d/{name}", b"x")
        await through.remove_dir("/d", recursive=True)
        assert moto_proxy.count("delete_object") >= 3
        assert not await through.exists("/d")


async def test_listings_agree_with_the_client_in_memory(fs: S3Filesystem) -> None:
    ours, model = provider_of(fs).client, MemoryObjectClient()
    for key in (*EXPRESSIBLE, "a/b", "a/c/d", "a-", "a.", "z/"):
        await ours.put(key, b"x")
        model.poke(key, b"x")
    for prefix in ("", "a", "a/", "x", "nothing"):
        for options in (ListOptions(), ListOptions(delimiter="/"), ListOptions(delimiter="/", start_after="a")):
            found: list[set[str]] = []
            for client in (ours, model):
                names: set[str] = set()
                async for page in client.list(prefix, options):
                    names |= {info.key for info in page.objects} | {f"{name} (prefix)" for name in page.prefixes}
                found.append(names)
            assert found[0] == found[1]
