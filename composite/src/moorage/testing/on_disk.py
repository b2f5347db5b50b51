"""The hooks of a store that keeps each file as a plain file below one directory of this machine."""

from __future__ import annotations

from pathlib import Path

from moorage import StoragePath
from moorage.testing.harness import Harness


class OnDisk(Harness):
    """Put it before :class:`ProviderConformance`, and let the fixture ``provider`` set ``self.root``."""

    root: Path

    async def peek(self, path: StoragePath) -> bytes | None:
        file = self.root / path.relative
        return file.read_bytes() if file.is_file() else None

    async def poke(self, path: StoragePath, data: bytes) -> None:
        file = self.root / path.relative
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    async def link(self, path: StoragePath, target: str) -> None:
        (self.root / path.relative).symlink_to(target)
