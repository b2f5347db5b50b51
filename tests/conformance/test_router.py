"""The router conforms: one mount seen through its path in the tree, alone and inside another."""

from __future__ import annotations

import pytest

from moorage import CompositeFilesystem, MemoryProvider, Prefix, Provider
from moorage.testing import ProviderConformance


class Renamed(Prefix):
    """Renames without asking the router for a subtree, so that the router translates every path."""

    def __init__(self, inner: Provider, prefix: str) -> None:
        super().__init__(MemoryProvider(), prefix)
        self.inner = inner


class TestRouter(ProviderConformance):
    examples, keys = 15, 500
    keeps_content_in_process = True
    reported_as = "memory"

    @pytest.fixture(params=["alone", "nested"])
    def provider(self, request: pytest.FixtureRequest) -> Provider:
        mounts = {"/deep/m": MemoryProvider()}
        if request.param == "nested":
            mounts |= {"/": MemoryProvider(), "/deep": MemoryProvider(), "/other": MemoryProvider()}
            return Prefix(CompositeFilesystem(mounts, nested=True).provider, "/deep/m")
        return Renamed(CompositeFilesystem(mounts).provider, "/deep/m")
