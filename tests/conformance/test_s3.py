"""S3 conforms, on a server that takes every key; tests/integration/s3 runs the suite on another kind, too."""

from __future__ import annotations

import pytest
from tests.servers.s3_server import S3Server

from moorage import Provider, StoragePath
from moorage.testing import ProviderConformance
from moorage_s3 import S3Filesystem


class TestS3(ProviderConformance):
    keys, examples, steps, cancellation_points = 1_050, 4, 12, 6

    @pytest.fixture
    def provider(self, moto: S3Server) -> Provider:
        self.server, self.bucket = moto, moto.make_bucket()
        return S3Filesystem(self.bucket, "in", None, moto.endpoint_url, "k", "s", part_size=5 << 20).provider

    async def peek(self, path: StoragePath) -> bytes | None:
        return self.server.get(f"in{path}", bucket=self.bucket)

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.server.put(f"in{path}", data, bucket=self.bucket)

    async def leftovers(self) -> list[str]:
        return self.server.pending_uploads(bucket=self.bucket)
