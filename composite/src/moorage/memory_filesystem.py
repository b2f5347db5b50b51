"""A filesystem in memory, ready to hold."""

from __future__ import annotations

from moorage.filesystem import Filesystem, Instructions
from moorage.memory import MemoryProvider
from moorage.models import Labels
from moorage.provider import Provider
from moorage.wrappers import ReadOnly


class MemoryFilesystem(Filesystem):
    """Files in this process, gone with it; a test double and a scratch mount."""

    def __init__(
        self,
        read_only: bool = False,
        *,
        display_name: str | None = None,
        icon: str | None = None,
        description: str | None = None,
        instructions: Instructions | None = None,
    ) -> None:
        provider: Provider = MemoryProvider()
        if read_only:
            provider = ReadOnly(provider)
        super().__init__(provider, labels=Labels(display_name, icon, description), instructions=instructions)
