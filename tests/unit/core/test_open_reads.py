"""A read that was opened: through the layers above the provider it costs no more, and says as much when it fails."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from moorage import CompositeFilesystem, Filesystem, MemoryProvider, StoragePath, UnavailableError
from moorage.testing import Fault, FaultProvider
from moorage_local import LocalFilesystem

pytestmark = pytest.mark.anyio

MIB = 1 << 20


async def test_reading_all_that_is_left_copies_nothing(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(16 * MIB))
    async with CompositeFilesystem({"/m": LocalFilesystem(tmp_path)}) as tree, tree.open_read("/m/large") as reader:
        tracemalloc.start()
        try:
            content = await reader.read()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert await reader.read() == b""
    assert len(content) == 16 * MIB
    assert peak < 20 * MIB


async def test_what_was_taken_in_chunks_is_not_read_again(tmp_path: Path) -> None:
    content = bytes(range(256)) * (3 * MIB // 256)
    (tmp_path / "large").write_bytes(content)
    async with CompositeFilesystem({"/m": LocalFilesystem(tmp_path)}) as tree:
        async with tree.open_read("/m/large") as reader:
            first = await anext(reader)
            assert first + await reader.read() == content
        assert await reader.read() == b""


async def test_a_read_that_breaks_off_names_the_path_as_it_was_written() -> None:
    provider = MemoryProvider()
    await provider.write(StoragePath("/file"), b"0123456789")
    faulty = Filesystem(FaultProvider(provider, Fault("read", passes=3)))
    async with CompositeFilesystem({"/m": faulty}) as tree, tree.open_read("m/file") as reader:
        with pytest.raises(UnavailableError) as caught:
            await reader.read()
    assert (caught.value.path, caught.value.operation) == ("m/file", "read")
