"""The servers as pytest fixtures. See :mod:`tests.servers`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.servers.gcs import LocalGCSServer, serving_gcs
from tests.servers.moto import running_moto
from tests.servers.proxy import Proxy, running_proxy
from tests.servers.s3_server import S3Server
from tests.servers.seaweedfs import running_seaweedfs


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[S3Server]:
    """A real S3 server."""
    with running_seaweedfs() as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[S3Server]:
    """An S3 server that takes every key."""
    with running_moto() as server:
        yield server


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[LocalGCSServer]:
    """A GCS server with every precondition."""
    with serving_gcs() as server:
        yield server


@pytest.fixture
def own_gcs_server() -> Iterator[LocalGCSServer]:
    """A GCS server of the test's own, whose settings it may change."""
    with serving_gcs() as server:
        yield server


@pytest.fixture
def s3_proxy(seaweedfs: S3Server) -> Iterator[Proxy]:
    """A proxy before ``seaweedfs``."""
    with running_proxy(seaweedfs.port, seaweedfs.identities) as proxy:
        yield proxy


@pytest.fixture
def moto_proxy(moto: S3Server) -> Iterator[Proxy]:
    """A proxy before ``moto``."""
    with running_proxy(moto.port, moto.identities) as proxy:
        yield proxy


@pytest.fixture
def gcs_proxy(gcs_server: LocalGCSServer) -> Iterator[Proxy]:
    """A proxy before ``gcs_server``."""
    with running_proxy(gcs_server.port) as proxy:
        yield proxy
