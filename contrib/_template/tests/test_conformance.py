"""The suite that decides whether the provider is right."""

from pathlib import Path

import pytest

from moorage import Provider
from moorage.objects import ObjectStoreProvider
from moorage.testing import ProviderConformance
from moorage_example.client import ExampleClient


class TestExample(ProviderConformance):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Provider:
        return ObjectStoreProvider(ExampleClient(tmp_path / "data.sqlite"))
