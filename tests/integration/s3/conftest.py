"""Retries without the pauses between them."""

from __future__ import annotations

import pytest

from moorage_s3 import sending


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses are spread randomly over seconds; a test would wait for them."""
    monkeypatch.setattr(sending, "_FIRST_PAUSE", 0.005)
