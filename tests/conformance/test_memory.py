"""Memory conforms, on asyncio and on trio."""

from __future__ import annotations

import pytest

from moorage import MemoryProvider, Provider
from moorage.testing import OnEveryLoop, ProviderConformance


class TestMemory(OnEveryLoop, ProviderConformance):
    examples = 50
    keeps_content_in_process = True

    @pytest.fixture
    def provider(self) -> Provider:
        return MemoryProvider()
