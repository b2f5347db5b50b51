"""Every wrapper conforms, the suite's own included."""

from __future__ import annotations

import pytest

from moorage import Limits, MemoryProvider, Prefix, Provider, ReadOnly, StoragePath, Tracing
from moorage.testing import FaultProvider, LatencyProvider, ProviderConformance, ReadOnlyConformance


class TestWrapped(ProviderConformance):
    examples, keys = 10, 500
    keeps_content_in_process = True

    @pytest.fixture(params=["prefix", "limits", "tracing", "faults", "latency"])
    def provider(self, request: pytest.FixtureRequest) -> Provider:
        inner, wanted = MemoryProvider(), request.param
        prefix, limits = Prefix(inner, "/some/where"), Limits(inner, max_file_size=1 << 30, max_in_flight=64)
        wrappers = {"prefix": prefix, "limits": limits, "tracing": Tracing(inner)}
        return {**wrappers, "faults": FaultProvider(inner), "latency": LatencyProvider(inner, most=1e-3)}[wanted]


class TestReadOnly(ReadOnlyConformance):
    async def poke(self, path: StoragePath, data: bytes) -> None:
        await self.inner.write(path, data)

    @pytest.fixture
    def provider(self) -> Provider:
        self.inner = MemoryProvider()
        return ReadOnly(self.inner)
