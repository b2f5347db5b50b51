"""The plug-in of this package."""

from __future__ import annotations

from moorage import ProviderSpec, hookimpl


@hookimpl
def moorage_providers() -> list[ProviderSpec]:
    return [ProviderSpec("local", "A directory of this machine", "moorage_local.options:LocalOptions")]
