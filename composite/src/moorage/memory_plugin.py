"""Core's own plug-in: storage in memory."""

from __future__ import annotations

from moorage.hookspecs import ProviderSpec, hookimpl


@hookimpl
def moorage_providers() -> list[ProviderSpec]:
    return [ProviderSpec("memory", "Files in this process, gone with it", "moorage.memory_options:MemoryOptions")]
