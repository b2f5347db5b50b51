"""The container sandbox conforms: on a stand-in for podman everywhere, and on podman or docker where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.workspace.sandbox.container_image import container_image
from tests.integration.workspace.sandbox.standin import install

from moorage_workspace import Sandbox
from moorage_workspace.sandbox.container import ContainerSandbox
from moorage_workspace.testing import SandboxConformance


@pytest.mark.slow
class TestStandIn(SandboxConformance):
    @pytest.fixture(autouse=True)
    def _stand_in(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(tmp_path, monkeypatch)

    def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
        return ContainerSandbox("any", directory, program="podman", timeout=timeout)


@pytest.mark.slow
class TestContainer(SandboxConformance):
    image: str

    @pytest.fixture(autouse=True)
    def _image(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        with container_image(tmp_path_factory, monkeypatch) as self.image:
            yield

    def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
        return ContainerSandbox(self.image, directory, timeout=timeout)
