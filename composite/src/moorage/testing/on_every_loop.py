"""Run everything on each event loop that anyio knows."""

from __future__ import annotations

import pytest

from moorage.testing.harness import Harness


class OnEveryLoop(Harness):
    """Put it before :class:`ProviderConformance`; every test then runs on asyncio and on trio."""

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)
