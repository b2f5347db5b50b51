"""A large file passes through in bounded memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager

from moorage import Filesystem
from moorage.testing.bodies import Chunks, blocks
from moorage.testing.harness import Harness

MIB = 1 << 20


class MemoryBound(Harness):
    async def test_a_large_file_is_written_read_and_copied_in_bounded_memory(self, fs: Filesystem) -> None:
        size = self.stream_blocks * MIB
        with self._bounded():
            stat = await fs.write_stream("/large", Chunks(blocks(self.stream_blocks)))
        assert stat.size == size
        with self._bounded():
            await self._check_stream(fs, "/large")
        with self._bounded():
            await fs.copy("/large", "/copied")
        assert (await fs.stat("/copied")).size == size
        await fs.delete("/large")
        with self._bounded():
            await fs.move("/copied", "/moved")
            await self._check_stream(fs, "/moved")

    async def test_a_large_file_can_be_left_after_its_first_bytes(self, fs: Filesystem) -> None:
        await fs.write_stream("/large", Chunks(blocks(self.stream_blocks)))
        with self._bounded():
            async with fs.open_read("/large") as reader:
                assert (await anext(reader))[:1] == b"\0"
            assert await fs.read_bytes("/large", 5 * MIB - 1, 5 * MIB + 1) == b"\4\5"

    async def _check_stream(self, fs: Filesystem, path: str) -> None:
        """Every byte is the one that was written."""
        position = 0
        async with fs.open_read(path) as reader:
            async for chunk in reader:
                for start in range(position - position % MIB, position + len(chunk), MIB):
                    part = chunk[max(start - position, 0) : start + MIB - position]
                    assert part.count(bytes([start // MIB % 251])) == len(part), f"wrong bytes near {start}"
                position += len(chunk)
        assert position == self.stream_blocks * MIB

    @contextmanager
    def _bounded(self) -> Generator[None]:
        if self.keeps_content_in_process:
            yield
            return
        gc.collect()
        tracemalloc.start()
        try:
            yield
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < self.memory_bound, f"{peak / MIB:.0f} MiB held at once"
