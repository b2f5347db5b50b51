"""The groups ``s3`` and ``gcs``: servers of their own, and everyone who can reach them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from scripts.benches.rows import Aim, Setting
from scripts.benches.stores import gcs_contenders, s3_contenders, tenants
from scripts.benches.stores.comparing import Aims, Comparison
from scripts.benches.stores.reference import PACKAGES, find_node, running_reference, version_of
from scripts.benches.stores.works import Contender, InProcess, Operation, Place
from tests.servers.gcs import running_gcs
from tests.servers.seaweedfs import running_seaweedfs

_HOT: Final[tuple[Operation, ...]] = ("get", "head", "put", "list")


def _aims(factors: Mapping[Operation, float], contender: str) -> Aims:
    return {(operation, contender): Aim("ratio", "≥", factor) for operation, factor in factors.items()}


_S3: Final = {
    **_aims({"get": 5, "head": 5, "put": 3, "list": 4}, "s3fs"),
    **_aims(dict.fromkeys(_HOT, 0.75), "obstore"),
    **_aims(dict.fromkeys(_HOT, 2.0), PACKAGES["s3"]),
}
_GCS: Final = {**_aims(dict.fromkeys(_HOT, 1.0), "gcsfs"), **_aims(dict.fromkeys(_HOT, 2.0), PACKAGES["gcs"])}


async def measure_s3(setting: Setting) -> None:
    """On seaweedfs."""
    with running_seaweedfs() as server:
        place = Place(server.endpoint_url, server.bucket, server.access_key_id, server.secret_access_key)
        await tenants.measure(setting, "s3", ("s3fs", "aiobotocore", "obstore"), place)
        async with _field("s3", place, setting.reference) as field:
            await Comparison(setting, field, _S3).run()


async def measure_gcs(setting: Setting) -> None:
    """On the project's own server, which lets gcsfs upload, too."""
    with running_gcs(bare_line_feeds=True) as server:
        place = Place(server.endpoint_url, server.bucket)
        await tenants.measure(setting, "gcs", ("gcsfs",), place)
        async with _field("gcs", place, setting.reference) as field:
            await Comparison(setting, field, _GCS).run()


def reference_state(kind: str, modules: Path | None) -> str:
    """What the header says of the reference system."""
    if modules is None:
        return "not measured: --reference names no directory"
    version, node = version_of(modules, PACKAGES[kind]), find_node(modules)
    if version is None or node is None:
        return "not measured: Node or the package is not there"
    return version


@asynccontextmanager
async def _field(kind: str, place: Place, modules: Path | None) -> AsyncGenerator[list[Contender]]:
    """Ours without and with name checks, then the others."""
    openers = {"s3": s3_contenders.OPENERS, "gcs": gcs_contenders.OPENERS}[kind]
    async with AsyncExitStack() as stack:
        field: list[Contender] = []
        for name, opener in openers.items():
            field.append(InProcess(name, await stack.enter_async_context(opener(place))))
        reference = _reference(kind, place, modules)
        if reference is not None:
            field.append(await stack.enter_async_context(reference))
        yield field


def _reference(kind: str, place: Place, modules: Path | None) -> AbstractAsyncContextManager[Contender] | None:
    node = None if modules is None else find_node(modules)
    if modules is None or node is None or version_of(modules, PACKAGES[kind]) is None:
        return None
    return running_reference(node, modules.resolve(), kind, place)
