"""Ways to reach a GCS bucket: Moorage and gcsfs. obstore speaks GCS's XML API, which the test server does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, Final

from scripts.benches.stores.ours import calls_of
from scripts.benches.stores.s3_contenders import fsspec_calls
from scripts.benches.stores.works import Calls, Place

from moorage_gcs import GCSFilesystem


@asynccontextmanager
async def ours(place: Place) -> AsyncGenerator[Calls]:
    async with GCSFilesystem(place.bucket, endpoint_url=place.endpoint_url, name_checks=False) as filesystem:
        yield calls_of(filesystem)


@asynccontextmanager
async def ours_checking_names(place: Place) -> AsyncGenerator[Calls]:
    async with GCSFilesystem(place.bucket, endpoint_url=place.endpoint_url) as filesystem:
        yield calls_of(filesystem)


@asynccontextmanager
async def with_gcsfs(place: Place) -> AsyncGenerator[Calls]:
    """By its high-level coroutines, without its caches, and without the look for a bucket's layout, which hangs on
    plain HTTP.
    """
    filesystem: Any = import_module("gcsfs.core").GCSFileSystem(
        endpoint_url=place.endpoint_url,
        token="anon",
        project="bench",
        asynchronous=True,
        skip_instance_cache=True,
        use_listings_cache=False,
    )
    session: Any = await filesystem._set_session()
    try:
        yield fsspec_calls(filesystem, place.bucket)
    finally:
        await session.close()


OPENERS: Final[dict[str, Callable[[Place], AbstractAsyncContextManager[Calls]]]] = {
    "ours": ours,
    "ours, names checked": ours_checking_names,
    "gcsfs": with_gcsfs,
}
