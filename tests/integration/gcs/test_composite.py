"""GCS conforms through a tree and through wrappers, too; and large files pass in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.gcs.support import CHUNK, pending
from tests.servers.gcs import GCSServer, LocalGCSServer, running_gcs

from moorage import CompositeFilesystem, Filesystem, Limits, MemoryProvider, Prefix, Provider, StoragePath, Tracing
from moorage.testing import ProviderConformance, ReadOnlyConformance
from moorage.testing.suite.memory_bound import MemoryBound
from moorage_gcs import GCSFilesystem


class TestMounted(ProviderConformance):
    examples, keys = 5, 1_100
    cancellation_points = 6
    larger = 3 * CHUNK + 1
    keeps_content_in_process = True
    reported_as = "gcs"

    @pytest.fixture
    def provider(self, gcs_server: LocalGCSServer) -> Provider:
        self.server, self.bucket = gcs_server, gcs_server.make_bucket()
        inner = GCSFilesystem(self.bucket, "in", gcs_server.endpoint_url, chunk_size=CHUNK).provider
        wrapped = Prefix(Limits(Tracing(inner), max_file_size=1 << 30, max_in_flight=64), "/it")
        tree = CompositeFilesystem({"/deep/m": Filesystem(wrapped), "/": MemoryProvider()}, nested=True)
        return Prefix(tree.provider, "/deep/m")

    async def peek(self, path: StoragePath) -> bytes | None:
        return self.server.get(f"in/it{path}", bucket=self.bucket)

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.server.put(f"in/it{path}", data, bucket=self.bucket)

    async def leftovers(self) -> list[str]:
        return pending(self.server, self.bucket)


class TestReadOnly(ReadOnlyConformance):
    @pytest.fixture
    def provider(self, gcs_server: LocalGCSServer) -> Provider:
        self.server, self.bucket = gcs_server, gcs_server.make_bucket()
        return GCSFilesystem(self.bucket, "in", gcs_server.endpoint_url, read_only=True).provider

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.server.put(f"in{path}", data, bucket=self.bucket)


@pytest.fixture
def distant_server() -> Iterator[GCSServer]:
    with running_gcs() as server:
        yield server


class TestBoundedMemory(MemoryBound):
    """On a server in another process, since its memory is none of ours."""

    @pytest.fixture
    def provider(self, distant_server: GCSServer) -> Provider:
        return GCSFilesystem(distant_server.bucket, endpoint_url=distant_server.endpoint_url).provider
