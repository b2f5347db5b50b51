"""A root on disk, reached on either road: the kernel resolving paths, or the walk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage_local import LocalFilesystem, containment, inline


@pytest.fixture(params=["kernel", "walk"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How paths are resolved: ``walk`` is what happens where there is no openat2."""
    if request.param == "walk":
        monkeypatch.setattr(containment, "openat2", None)
        monkeypatch.setattr(inline, "openat2_inline", None)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    (path / "below").mkdir(parents=True)
    (path / "file").write_bytes(b"secret")
    (path / "secret-name").write_bytes(b"")
    return path


@pytest.fixture
async def fs(root: Path) -> AsyncIterator[LocalFilesystem]:
    async with LocalFilesystem(root) as fs:
        yield fs
