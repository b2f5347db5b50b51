"""GCS conforms, on a server that enforces every precondition."""

from __future__ import annotations

import pytest
from tests.servers.gcs import LocalGCSServer

from moorage import Provider, StoragePath
from moorage.testing import ProviderConformance
from moorage_gcs import GCSFilesystem


class TestGCS(ProviderConformance):
    keeps_content_in_process = True  # the server does; bounded memory is shown in tests/integration/gcs
    larger = (1 << 18) * 3 + 1

    @pytest.fixture
    def provider(self, own_gcs_server: LocalGCSServer) -> Provider:
        self.server = own_gcs_server
        return GCSFilesystem(self.server.bucket, "some/where", self.server.endpoint_url, chunk_size=1 << 18).provider

    async def peek(self, path: StoragePath) -> bytes | None:
        return self.server.get(f"some/where{path}")

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.server.put(f"some/where{path}", data)

    async def leftovers(self) -> list[str]:
        return self.server.pending_uploads()
