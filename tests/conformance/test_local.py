"""Local disk conforms, on asyncio and on trio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.local.memory import directory_in_memory

from moorage import Provider
from moorage.testing import OnDisk, OnEveryLoop, ProviderConformance
from moorage_local import LocalProvider


class TestLocal(OnEveryLoop, OnDisk, ProviderConformance):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Provider:
        self.root = tmp_path / "root"
        return LocalProvider(self.root)

    async def leftovers(self) -> list[str]:
        return [found.name for found in self.root.rglob(".moorage-tmp-*")]


class TestLocalInMemory(TestLocal):
    """Small writes in the event loop itself."""

    @pytest.fixture
    def provider(self) -> Iterator[Provider]:
        with directory_in_memory() as directory:
            self.root = directory / "root"
            yield LocalProvider(self.root)
