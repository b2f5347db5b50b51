"""``provider = "memory"`` and ``memory://``."""

from __future__ import annotations

from moorage.config import ProviderOptions
from moorage.memory_filesystem import MemoryFilesystem


class MemoryOptions(ProviderOptions):
    """An empty storage in this process; it has no options of its own."""

    def build(self) -> MemoryFilesystem:
        return MemoryFilesystem(
            self.read_only, display_name=self.display_name, icon=self.icon, description=self.description
        )
