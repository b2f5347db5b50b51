"""The provider for flat object stores conforms, over the in-memory client in the manner of S3 and of GCS."""

from __future__ import annotations

import pytest

from moorage import Provider, StoragePath
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage.testing import ProviderConformance


class TestObjectStore(ProviderConformance):
    keeps_content_in_process = True

    @pytest.fixture(params=["s3", "gcs"])
    def provider(self, request: pytest.FixtureRequest) -> Provider:
        self.client = MemoryObjectClient(style=request.param, part_size=1 << 17)
        return ObjectStoreProvider(self.client, prefix="some/where")

    async def peek(self, path: StoragePath) -> bytes | None:
        return self.client.peek(f"some/where{path}")

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.client.poke(f"some/where{path}", data)

    async def leftovers(self) -> list[str]:
        return self.client.pending_uploads
