"""Run everything on each event loop that anyio knows."""

from __future__ import annotations

import pytest

from moorage_workspace.testing.harness import SandboxHarness


class SandboxOnEveryLoop(SandboxHarness):
    """Put it before :class:`SandboxConformance`; every test then runs on asyncio and on trio."""

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)
