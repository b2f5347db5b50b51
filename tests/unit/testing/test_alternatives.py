"""Where a capability is missing, the suite checks what the contract says instead: such a store conforms, too."""

from __future__ import annotations

import pytest

from moorage import (
    Body,
    Capabilities,
    DeleteOptions,
    MemoryProvider,
    Provider,
    Stat,
    StoragePath,
    UnsupportedError,
    WriteOptions,
)
from moorage.testing import ProviderConformance

WRITE, DELETE = WriteOptions(), DeleteOptions()


def refuse_expectations(path: StoragePath, options: WriteOptions | DeleteOptions) -> None:
    if options.has_expectation:
        raise UnsupportedError("no conditional writes here", path=str(path))


class Unconditional(MemoryProvider):
    """Refuses every expectation, and moves no directories."""

    async def capabilities(self, path: StoragePath) -> Capabilities:
        return Capabilities(conditional_write="none", mtime_resolution=1.0)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        refuse_expectations(path, options)
        return await super().write(path, body, options)

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        refuse_expectations(path, options)
        return await super().append(path, body, options)

    async def delete(self, path: StoragePath, options: DeleteOptions = DELETE) -> None:
        refuse_expectations(path, options)
        await super().delete(path, options)

    async def copy(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        refuse_expectations(dst, options)
        return await super().copy(src, dst, options)

    async def move(self, src: StoragePath, dst: StoragePath, options: WriteOptions = WRITE) -> Stat:
        refuse_expectations(dst, options)
        if (await self.stat(src)).is_dir and src != dst:
            raise UnsupportedError("one file at a time", path=str(src))
        return await super().move(src, dst, options)


class TestUnconditional(ProviderConformance):
    keeps_content_in_process = True
    keys = 200

    @pytest.fixture
    def provider(self) -> Provider:
        return Unconditional()
