"""Ways to reach an S3 bucket: Moorage, s3fs, aiobotocore and obstore, each with 64 connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, Final

from scripts.benches.contenders import drive
from scripts.benches.stores.ours import calls_of
from scripts.benches.stores.works import Calls, Place

from moorage_s3 import S3Filesystem

REGION: Final = "us-east-1"
_CONNECTIONS: Final = 64
_BATCH: Final = 1000
_AT_ONCE: Final = 32


@asynccontextmanager
async def ours(place: Place) -> AsyncGenerator[Calls]:
    async with _opened(place, name_checks=False) as filesystem:
        yield calls_of(filesystem)


@asynccontextmanager
async def ours_checking_names(place: Place) -> AsyncGenerator[Calls]:
    async with _opened(place, name_checks=True) as filesystem:
        yield calls_of(filesystem)


def _opened(place: Place, *, name_checks: bool) -> S3Filesystem:
    return S3Filesystem(
        place.bucket,
        endpoint_url=place.endpoint_url,
        access_key_id=place.key,
        secret_access_key=place.secret,
        region=REGION,
        max_connections=_CONNECTIONS,
        name_checks=name_checks,
    )


@asynccontextmanager
async def with_s3fs(place: Place) -> AsyncGenerator[Calls]:
    """By its high-level coroutines, without its caches."""
    filesystem: Any = import_module("s3fs").S3FileSystem(
        key=place.key,
        secret=place.secret,
        endpoint_url=place.endpoint_url,
        client_kwargs={"region_name": REGION},
        config_kwargs={"max_pool_connections": _CONNECTIONS},
        asynchronous=True,
        skip_instance_cache=True,
        use_listings_cache=False,
    )
    session: Any = await filesystem.set_session()
    try:
        yield fsspec_calls(filesystem, place.bucket)
    finally:
        await session.close()


def fsspec_calls(filesystem: Any, bucket: str) -> Calls:
    """The calls of s3fs and gcsfs alike."""

    async def put(key: str, content: bytes) -> int:
        await filesystem._pipe_file(f"{bucket}/{key}", content)
        return 1

    async def get(key: str) -> int:
        return len(await filesystem._cat_file(f"{bucket}/{key}"))

    async def head(key: str) -> int:
        return int((await filesystem._info(f"{bucket}/{key}"))["size"])

    async def list_tree(prefix: str) -> int:
        return len(await filesystem._find(f"{bucket}/{prefix}"))

    async def delete_tree(prefix: str) -> int:
        await filesystem._rm(f"{bucket}/{prefix}", recursive=True)
        return 0

    async def copy_tree(source: str, destination: str) -> int:
        await filesystem._copy(f"{bucket}/{source}", f"{bucket}/{destination}", recursive=True)
        return 0

    return Calls(put, get, head, list_tree, delete_tree, copy_tree)


@asynccontextmanager
async def with_aiobotocore(place: Place) -> AsyncGenerator[Calls]:
    """Bare, its session shared by all clients of this process."""
    config: Any = import_module("aiobotocore.config").AioConfig(max_pool_connections=_CONNECTIONS)
    async with _session().create_client(
        "s3",
        endpoint_url=place.endpoint_url,
        region_name=REGION,
        aws_access_key_id=place.key,
        aws_secret_access_key=place.secret,
        config=config,
    ) as client:
        yield _botocore_calls(client, place.bucket)


_sessions: Final[list[Any]] = []


def _session() -> Any:
    if not _sessions:
        _sessions.append(import_module("aiobotocore.session").get_session())
    return _sessions[0]


def _botocore_calls(client: Any, bucket: str) -> Calls:
    async def put(key: str, content: bytes) -> int:
        await client.put_object(Bucket=bucket, Key=key, Body=content)
        return 1

    async def get(key: str) -> int:
        answer = await client.get_object(Bucket=bucket, Key=key)
        async with answer["Body"] as stream:
            return len(await stream.read())

    async def head(key: str) -> int:
        return int((await client.head_object(Bucket=bucket, Key=key))["ContentLength"])

    async def keys_below(prefix: str) -> list[str]:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        return [item["Key"] async for page in pages for item in page.get("Contents", [])]

    async def list_tree(prefix: str) -> int:
        return len(await keys_below(prefix))

    async def delete_tree(prefix: str) -> int:
        keys = await keys_below(prefix)
        for start in range(0, len(keys), _BATCH):
            batch = [{"Key": key} for key in keys[start : start + _BATCH]]
            await client.delete_objects(Bucket=bucket, Delete={"Objects": batch, "Quiet": True})
        return 0

    async def copy_tree(source: str, destination: str) -> int:
        async def copy(key: str) -> None:
            target = f"{destination}{key.removeprefix(source)}"
            await client.copy_object(Bucket=bucket, Key=target, CopySource={"Bucket": bucket, "Key": key})

        await drive(copy, await keys_below(source), _AT_ONCE)
        return 0

    return Calls(put, get, head, list_tree, delete_tree, copy_tree)


@asynccontextmanager
async def with_obstore(place: Place) -> AsyncGenerator[Calls]:
    """Bare."""
    store: Any = import_module("obstore.store").S3Store(
        place.bucket,
        endpoint=place.endpoint_url,
        access_key_id=place.key,
        secret_access_key=place.secret,
        region=REGION,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )
    yield _obstore_calls(import_module("obstore"), store)


def _obstore_calls(obstore: Any, store: Any) -> Calls:
    async def put(key: str, content: bytes) -> int:
        await obstore.put_async(store, key, content)
        return 1

    async def get(key: str) -> int:
        return len(await (await obstore.get_async(store, key)).bytes_async())

    async def head(key: str) -> int:
        return int((await obstore.head_async(store, key))["size"])

    async def keys_below(prefix: str) -> list[str]:
        return [item["path"] async for batch in obstore.list(store, prefix) for item in batch]

    async def list_tree(prefix: str) -> int:
        return len(await keys_below(prefix))

    async def delete_tree(prefix: str) -> int:
        await obstore.delete_async(store, await keys_below(prefix))
        return 0

    async def copy_tree(source: str, destination: str) -> int:
        async def copy(key: str) -> None:
            await obstore.copy_async(store, key, f"{destination}{key.removeprefix(source)}")

        await drive(copy, await keys_below(source), _AT_ONCE)
        return 0

    return Calls(put, get, head, list_tree, delete_tree, copy_tree)


OPENERS: Final[dict[str, Callable[[Place], AbstractAsyncContextManager[Calls]]]] = {
    "ours": ours,
    "ours, names checked": ours_checking_names,
    "s3fs": with_s3fs,
    "aiobotocore": with_aiobotocore,
    "obstore": with_obstore,
}
