"""Sandboxes of both kinds that run here, and processes that can be told from all others."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest

from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.testing.sleepers import Sleepers, processes_of_this_machine


@pytest.fixture
def directory() -> Iterator[Path]:
    """The working directory; its path holds a word that is nowhere else, so that it is known again in any output."""
    with tempfile.TemporaryDirectory(prefix="host-side-") as path:
        yield Path(path).resolve()


@pytest.fixture(params=["none", "bwrap"])
def isolation(request: pytest.FixtureRequest) -> Literal["none", "bwrap"]:
    return "none" if request.param == "none" else "bwrap"


@pytest.fixture
async def sandbox(directory: Path, isolation: Literal["none", "bwrap"]) -> AsyncIterator[LocalSandbox]:
    sandbox = LocalSandbox(directory, isolation=isolation, timeout=120)
    yield sandbox
    await sandbox.destroy()


@pytest.fixture
async def isolated(directory: Path) -> AsyncIterator[LocalSandbox]:
    sandbox = LocalSandbox(directory, isolation="bwrap", timeout=120)
    yield sandbox
    await sandbox.destroy()


@pytest.fixture
async def unsandboxed(directory: Path) -> AsyncIterator[LocalSandbox]:
    sandbox = LocalSandbox(directory, timeout=120)
    yield sandbox
    await sandbox.destroy()


@pytest.fixture
def sleepers() -> Sleepers:
    return Sleepers(processes_of_this_machine)
