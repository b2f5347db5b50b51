"""A directory on a file system in memory, where small writes are made in the event loop."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from moorage_local.handles import Handle
from moorage_local.kernel import IN_MEMORY, OPEN_DIR, file_system

_SHARED_MEMORY: Final = "/dev/shm"


@contextmanager
def directory_in_memory() -> Generator[Path]:
    """A new directory, removed afterwards; the test is skipped on a machine that has no such place."""
    if not _is_in_memory():
        pytest.skip("no file system in memory")
    with tempfile.TemporaryDirectory(prefix="moorage-", dir=_SHARED_MEMORY) as directory:
        yield Path(directory)


def _is_in_memory() -> bool:
    if not os.access(_SHARED_MEMORY, os.W_OK):
        return False
    with Handle(os.open(_SHARED_MEMORY, OPEN_DIR)) as handle:
        return file_system(handle.fd) in IN_MEMORY
