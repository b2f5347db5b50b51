"""The servers behind ``scripts/demo --s3`` and ``--gcs``: looked at past Moorage, and opened through it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tests.servers.gcs import serving_gcs
from tests.servers.gcs.state import Access
from tests.servers.seaweedfs import running_seaweedfs

from moorage import Filesystem
from moorage_gcs import GCSFilesystem
from moorage_s3 import S3Filesystem

PART: Final = 5 << 20
"""Bytes from which a body is sent in parts: the fewest that S3 takes."""

ADMIN: Final = "admin"
TEAM: Final = "team"
"""Who may do everything, but below ``team/`` only."""


class Raw(Protocol):
    """The bucket, past Moorage."""

    @property
    def port(self) -> int: ...

    def put(self, key: str, body: bytes) -> object: ...

    def get(self, key: str) -> bytes | None: ...

    def keys(self, prefix: str = "") -> list[str]: ...

    def pending_uploads(self) -> list[str]: ...


class Open(Protocol):
    """Makes a filesystem of a prefix of the bucket, with the credentials of ``ADMIN`` or ``TEAM``."""

    def __call__(self, prefix: str, who: str = ADMIN, *, read_only: bool = False) -> Filesystem: ...


@dataclass(frozen=True, slots=True)
class Store:
    """A running server."""

    title: str
    scheme: str
    raw: Raw
    open: Open


@contextmanager
def s3_store() -> Generator[Store]:
    """seaweedfs: it checks signatures, and what each identity may do."""
    with running_seaweedfs() as server:
        identities = {ADMIN: server.admin, TEAM: server.team or server.admin}

        def open_prefix(prefix: str, who: str = ADMIN, *, read_only: bool = False) -> Filesystem:
            return S3Filesystem(
                server.bucket,
                prefix,
                endpoint_url=server.endpoint_url,
                access_key_id=identities[who].access_key_id,
                secret_access_key=identities[who].secret_access_key,
                read_only=read_only,
                part_size=PART,
            )

        yield Store("S3, served by seaweedfs", "s3", server, open_prefix)


@contextmanager
def gcs_store() -> Generator[Store]:
    """The project's own server: it checks tokens, what each allows, and every precondition."""
    with serving_gcs() as server:
        server.state.settings.tokens = {ADMIN: Access(), TEAM: Access(prefix=f"{TEAM}/")}

        def open_prefix(prefix: str, who: str = ADMIN, *, read_only: bool = False) -> Filesystem:
            return GCSFilesystem(
                server.bucket,
                prefix,
                endpoint_url=server.endpoint_url,
                token=who,
                read_only=read_only,
                chunk_size=PART,
            )

        yield Store("GCS, served by the test server", "gcs", replace(server, token=ADMIN), open_prefix)


STORES: Final[dict[str, Callable[[], AbstractContextManager[Store]]]] = {"s3": s3_store, "gcs": gcs_store}
